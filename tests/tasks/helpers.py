"""What several task tests share: seeded generators and tests of fit."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import torch
from scipy import stats

#: below this a test of fit fails; seeds are fixed, so a pass stays a pass
SMALLEST_P = 1e-3


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fit(values: Iterable[Hashable], shares: Mapping[Hashable, float]) -> float:
    """The p-value of a chi-square test of independent values against exact shares; 0 for impossible values."""
    counts = Counter(values)
    total = sum(counts.values())
    assert abs(sum(shares.values()) - 1) < 1e-9, "the shares must be a distribution"
    if any(shares.get(value, 0.0) == 0.0 for value in counts):
        return 0.0
    observed, expected, rare_observed, rare_expected = [], [], 0.0, 0.0
    for value, share in shares.items():
        if share * total >= 5:
            observed.append(float(counts[value]))
            expected.append(share * total)
        else:  # too rare for a cell of its own
            rare_observed += counts[value]
            rare_expected += share * total
    if rare_expected > 0:
        observed.append(rare_observed)
        expected.append(rare_expected)
    assert len(observed) > 1, "one cell tests nothing"
    return float(stats.chisquare(observed, expected, sum_check=False).pvalue)


def uniform(values: Iterable[Hashable]) -> dict[Hashable, float]:
    cells = list(values)
    return dict.fromkeys(cells, 1 / len(cells))


def same_categories(first: Iterable[Hashable], second: Iterable[Hashable]) -> float:
    """The p-value of a chi-square test that two samples of categories share a distribution."""
    left, right = Counter(first), Counter(second)
    common = [value for value in left | right if left[value] + right[value] >= 10]
    rest = [sum(counts.values()) - sum(counts[value] for value in common) for counts in (left, right)]
    table = [[left[value], right[value]] for value in common]
    if sum(rest) > 0:
        table.append(rest)
    return float(stats.chi2_contingency(table).pvalue)  # 1 for a single category
