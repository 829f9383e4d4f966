"""Does a pattern that shrinks the dispersion more learn faster?"""

from collections.abc import Mapping, Sequence

from semfocus.analysis.tables import speedup_text
from semfocus.analysis.why.focus_layers import HOW_CARRIED
from semfocus.analysis.why.measured_runs import MeasuredTask, middle
from semfocus.analysis.why.ratio import RatioTest, less_than_of_noise, ratio_tests
from semfocus.report.figures import FIGURES
from semfocus.report.palette import Ink
from semfocus.report.why.block import Table, WhyBlock, arms_in, carrying_lines, correlation_text, shown
from semfocus.words import count_of, span

_WHEN = {"start": "untrained", "end": "after training"}


def block(tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink]) -> WhyBlock | None:
    """None if no arm with a pattern was measured beside full attention."""
    tests = ratio_tests(tasks)
    if not tests:
        return None
    labels = {test.label for test in tests}
    return WhyBlock(
        "dispersion-and-speedup",
        "Does a pattern that shrinks the dispersion more learn faster?",
        "One dot per task: to the left, the pattern shrinks the 75 % quantile of the dispersion more; upwards, it learns faster. If smaller dispersion were the cause, dots would fall "
        "from the upper left to the lower right (a rank correlation near -1). A triangle points to where the speedup lies when runs ended before their target. "
        f"{HOW_CARRIED}",
        [FIGURES["dispersion-and-speedup"].of(tests, inks=inks)],
        [*_sentences(tests), *carrying_lines(tasks, ["full", *sorted(labels)])],
        f"{_how_many(len(tasks))}, and tasks are not a sample of all tasks. "
        "A correlation over tasks does not show that dispersion is the cause. An order that censoring leaves open counts neither way.",
        [
            Table(
                "Rank correlation of the ratio of dispersions and the speedup, over tasks",
                ["attention", "models", "dispersion smaller than full's on", "rank correlation"],
                _correlations(tests),
                is_open=True,
            ),
            Table(
                "Every task",
                [
                    "attention",
                    "source",
                    "task",
                    "ratio of dispersions by seed",
                    "share left, mean",
                    "of noise",
                    "speedup",
                ],
                _cells(tests),
            ),
        ],
        [(label, ink) for label, ink in arms_in(tasks, inks) if label in labels],
    )


def _how_many(num_tasks: int) -> str:
    if num_tasks == 1:
        return "There is 1 task, and a relation over tasks takes several"
    return f"There are {num_tasks} tasks, so even a strong relation has a wide interval"


def _sentences(tests: Sequence[RatioTest]) -> list[str]:
    """One an arm: where it shrinks the dispersion more than noise would, and whether that goes with speed."""
    found = []
    for label in dict.fromkeys(test.label for test in tests):
        trained = [test for test in tests if test.label == label and test.when == "end"]
        words = [f"{_where(test)} on {_smaller(test)}{_than_noise(test)}" for test in trained]
        known = [
            test.correlation.value
            for test in tests
            if test.label == label and test.correlation.value is not None
        ]
        found.append(
            f"{label} has a smaller dispersion than full after training: {', '.join(words)}{_order(known)}."
        )
    return found


def _order(known: Sequence[float]) -> str:
    """Of all sources and times together."""
    if not known:
        return ""
    noun = "correlation" if len(known) == 1 else "correlations"
    return f"; rank {noun} with the speedup {span(f'{min(known):+.2f}', f'{max(known):+.2f}')}"


def _where(test: RatioTest) -> str:
    return "same scores" if test.same_scores else "own models"


def _smaller(test: RatioTest) -> str:
    num = sum(point.ratio < 1 for point in test.points)
    return f"{num} of {count_of(len(test.points), 'task')}"


def _than_noise(test: RatioTest) -> str:
    noise = [point.left for point in test.points if point.left]
    if not noise:
        return ""
    return f" (query by query, it leaves a smaller share than of noise on {sum(map(less_than_of_noise, noise))} of {len(noise)})"


def _correlations(tests: Sequence[RatioTest]) -> list[list[str]]:
    return [
        [
            test.label,
            f"{_where(test)}, {_WHEN[test.when]}",
            _smaller(test),
            correlation_text(test.correlation),
        ]
        for test in tests
    ]


def _cells(tests: Sequence[RatioTest]) -> list[list[str]]:
    return [
        [
            test.label,
            f"{_where(test)}, {_WHEN[test.when]}",
            point.task,
            ", ".join(f"{each:.2f}" for each in point.ratios.values()),
            shown(middle(each.share for each in point.left.values()), ".2f"),
            shown(middle(each.null for each in point.left.values()), ".2f"),
            speedup_text(point.speedup),
        ]
        for test in tests
        for point in test.points
    ]
