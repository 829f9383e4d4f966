"""Is a measured dispersion ratio small, or only as small as noise would make it?

The paper's measurements (75 % quantiles, k = 5) beside the same quantiles of Gaussian noise of the same length.

    python examples/learn/null.py
"""

import numpy as np
from picture import Picture

from semfocus import theory
from semfocus.theory.published_table import PUBLISHED_K, PUBLISHED_TABLE

QUANTILE, ROWS = 75, 4000


def null_ratio(length: int) -> float:
    """Quantile of top-k's dispersion over that of full attention, for scores that know nothing."""
    scores = np.random.default_rng(0).standard_normal((ROWS, length))
    full = theory.row_stats(scores, np.full(scores.shape, True))["dispersion"]
    topk = theory.row_stats(scores, theory.topk_support(scores, PUBLISHED_K))["dispersion"]
    return float(np.percentile(topk, QUANTILE) / np.percentile(full, QUANTILE))


def main() -> None:
    cells = [cell for cell in PUBLISHED_TABLE if cell.quantile == QUANTILE]
    picture = Picture("The paper's own ratios are not smaller than those of noise")
    panel = picture.panel(
        f"δ of top_k({PUBLISHED_K}) / δ of full attention ({QUANTILE} % quantiles)",
        x=(0.5, 4.5), y=(0, 0.62), x_ticks=(),
    )  # fmt: skip
    for place, cell in enumerate(cells, 1):
        measured, null = cell.dispersion_topk / cell.dispersion_full, null_ratio(cell.length)
        panel.bar(place - 0.16, measured, "top_k", width=0.3)
        panel.bar(place + 0.16, null, "faint", width=0.3, hollow=True)
        panel.label(place - 0.16, measured + 0.025, f"{measured:.2f}", "top_k", anchor="middle")
        panel.label(place + 0.16, null + 0.025, f"{null:.2f}", anchor="middle")
        panel.label(place, -0.05, f"{cell.task}, length {cell.length}", anchor="middle")
        print(f"{cell.task}: published {measured:.2f}, noise {null:.2f}")
    panel.label(0.55, 0.58, "solid: two trained models of the paper", "top_k")
    panel.label(0.55, 0.53, "dashed: Gaussian noise, nothing learned")
    picture.save("null")


if __name__ == "__main__":
    main()
