"""Do stable masks go with fast learning?"""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from semfocus.report.palette import Ink
from semfocus.report.scatter_figure import Axis, Dot, scatter_figure
from semfocus.report.why.block import Block, Table, arms_in, correlation_text
from semfocus.studies.mechanism_tests.looked import LookedTask
from semfocus.studies.mechanism_tests.masks import MaskTest, kept, mask_tests
from semfocus.studies.statistics.rank import RankCorrelation

_WHEN = {"start": "untrained", "end": "trained"}


def block(tasks: Sequence[LookedTask], inks: Mapping[str, Ink]) -> Block | None:
    """None with fewer than two arms of top-k, at other k or another temperature."""
    tests = mask_tests(tasks)
    labels = {run.label for test in tests for run, _ in test.points}
    if len(labels) < 2:
        return None
    figures = [figure for test in tests if (figure := _figure(test, inks)) is not None]
    return Block(
        "masks",
        "Do masks that survive small perturbations go with fast learning?",
        "One dot a run of top-k attention: to the right, more of its kept keys stay kept under noise of 1 % of the embeddings, or its kept and masked scores are farther apart; "
        "upwards, more epochs to the target (a triangle: not by the last one). If separation helps, the rank correlation is near -1. It is computed over k within one task, seed and temperature, and over "
        "temperatures within one task, seed and k.",
        figures,
        [_sentence(test) for test in tests if test.when == "end"],
        "k changes the separation and the expressivity together: an order over k alone does not tell which of them matters. A larger temperature scales the separation by itself; the share of kept keys that stay is not scaled.",
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


def _figure(test: MaskTest, inks: Mapping[str, Ink]) -> Markup | None:
    dots = [
        Dot(
            value,
            max(run.time.value, 1.0),
            inks[run.label].css_class,
            inks[run.label].number,
            f"{run.label}, {run.task}, seed {run.seed}, k {kept(run)}: {value:.3g}, epoch {'' if run.time.reached else '> '}{run.time.value:g}",
            0 if run.time.reached else 1,
        )
        for run, value in test.points
    ]
    is_share = test.quantity == "mask_agreement_0.01"
    across = Axis(_WHEN[test.when], logarithmic=not is_share, zoomed=is_share)
    return scatter_figure(test.words, dots, across, Axis("epochs", logarithmic=True))


def _sentence(test: MaskTest) -> str:
    return (
        f"{test.words[0].upper()}{test.words[1:]}, {_WHEN[test.when]}, and epochs to target: rank correlation over k {_short(test.over_k)}, "
        f"over temperature {_short(test.over_temperature)}."
    )


def _short(found: RankCorrelation) -> str:
    if found.value is None:
        return "unknown"
    return f"{found.value:+.2f}" + ("" if found.low is None else f" ({found.low:+.2f} to {found.high:+.2f})")
