"""What comparisons show, as values: the words for them are in tests/golden/sentences.txt."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

import pytest

from semfocus.analysis.contrasts import analyse
from semfocus.analysis.findings import findings_of
from semfocus.analysis.summaries import TaskSummary
from tests.analysis.records import CASES, TEN, arm

#: case -> arm -> verdict, ratio, pairs of seeds
SHOWN: dict[str, dict[str, tuple[str, float | None, int]]] = {
    "five seeds": {"top_k(5)": ("faster", 5.56, 5)},
    "three seeds": {"top_k(5)": ("undecided", 5.71, 3), "banded(5)": ("undecided", 0.78, 3)},
    # ratios that happen to agree make a narrow interval, and are no verdict
    "two seeds that agree": {"banded(5)": ("undecided", 1.12, 2), "full ×4": ("undecided", 1.74, 2)},
    "one seed": {"top_k(5)": ("undecided", 5.71, 1)},
    "an arm with too few seeds": {
        "top_k(5)": ("faster", 8.0, 5),
        "top_k(9)": ("undecided", 20.25, 2),
        "banded(5)": ("slower", 0.71, 5),
    },
    "the largest estimate is unsure": {"full ×4": ("faster", 2.08, 5), "full ×10": ("undecided", 16.67, 5)},
    "full never arrives": {"top_k(5)": ("faster", 8.57, 5)},
    "nothing but a slower arm": {"banded(5)": ("slower", 0.26, 5)},
    "full alone arrives": {"top_k(5)": ("slower", 0.18, 5)},
    "full alone arrives, one seed": {"top_k(5)": ("undecided", 0.17, 1)},
    "nobody arrives": {"top_k(5)": ("undecided", None, 3)},
    "no baseline": {},
    "nothing but the baseline": {},
    "no seed in common": {},
    "runs that diverged": {"top_k(5)": ("undecided", 8.57, 3)},
    # looked at for 10 epochs, full needs at least 0.25 times the 40 of top_k: that may be 0.3 or 30
    "ended too early": {"top_k(5)": ("undecided", 0.24, 3)},
}


def summary_of(*arms: list[dict]) -> TaskSummary:
    (summary,) = analyse([each for records in arms for each in records])
    return summary


@pytest.mark.parametrize("case", SHOWN)
def test_who_was_faster_by_how_much_and_on_how_many_seeds(case: str) -> None:
    found = findings_of([summary_of(*CASES[case])])
    assert {each.contrast.arm: (each.verdict, each.num_pairs) for each in found} == {
        label: (verdict, num) for label, (verdict, _, num) in SHOWN[case].items()
    }
    for each in found:
        expected = SHOWN[case][each.contrast.arm][1]
        assert each.ratio == (None if expected is None else pytest.approx(expected, abs=0.006))


def test_no_word_of_significance_where_it_cannot_be_had() -> None:
    for num in (2, 3, 4, 5):
        assert "significant" not in summary_of(arm("full", TEN[:num]), arm("top_k(5)", [2] * num)).sentence
    # Six seeds are too few once four arms are tested: the smallest corrected p is 0.125. Running ones have no verdict.
    for case in ("never significant with six seeds and four arms", "still running, six seeds"):
        assert "significant" not in summary_of(*CASES[case]).sentence
    assert "significant" in summary_of(*CASES["significant"]).sentence
