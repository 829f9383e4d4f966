"""Do stable masks go with fast learning?"""

from collections.abc import Mapping, Sequence

from semfocus.analysis.statistics.rank import RankCorrelation
from semfocus.analysis.why.focus_layers import HOW_CARRIED
from semfocus.analysis.why.masks import MaskTest, mask_tests
from semfocus.analysis.why.measured_runs import MeasuredTask
from semfocus.report.figures import FIGURES
from semfocus.report.palette import Ink
from semfocus.report.why.block import Table, WhyBlock, arms_in, carrying_lines, correlation_text

_WHEN = {"start": "untrained", "end": "trained"}


def block(tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink]) -> WhyBlock | None:
    """None with fewer than two arms of top-k, at other k or another temperature."""
    tests = mask_tests(tasks)
    labels = {run.label for test in tests for run, _ in test.points}
    if len(labels) < 2:
        return None
    return WhyBlock(
        "masks",
        "Do masks that survive small perturbations go with fast learning?",
        "One dot per run of top-k attention: to the right, more of its kept keys stay kept under noise of 1 % of the embeddings, or its kept and masked scores are farther apart; "
        "upwards, more epochs to the target (a triangle: not by the last one). If separation helps, the rank correlation is near -1. It is computed over k within one task, seed and temperature, and over "
        f"temperatures within one task, seed and k. {HOW_CARRIED}",
        [FIGURES["masks"].of(tests, inks=inks)],
        [*(_sentence(test) for test in tests if test.when == "end"), *carrying_lines(tasks, sorted(labels))],
        "k changes the separation and the expressivity together: an order over k alone does not show which of them matters. A larger temperature scales the separation by itself; the share of kept keys that stay is not scaled.",
        [
            Table(
                "Rank correlations with epochs to target",
                ["quantity", "model", "over k", "over temperature"],
                [
                    [
                        test.words,
                        _WHEN[test.when],
                        correlation_text(test.over_k),
                        correlation_text(test.over_temperature),
                    ]
                    for test in tests
                ],
                is_open=True,
            )
        ],
        [(label, ink) for label, ink in arms_in(tasks, inks) if label in labels],
    )


def _sentence(test: MaskTest) -> str:
    return (
        f"{test.words[0].upper()}{test.words[1:]}, {_WHEN[test.when]}, and epochs to target: rank correlation over k {_short(test.over_k)}, "
        f"over temperature {_short(test.over_temperature)}."
    )


def _short(found: RankCorrelation) -> str:
    if found.value is None:
        return "unknown"
    return f"{found.value:+.2f}" + ("" if found.low is None else f" ({found.low:+.2f} to {found.high:+.2f})")
