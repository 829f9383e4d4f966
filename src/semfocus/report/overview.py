"""What the study says over all tasks: one comparison a task, a score for every arm, and the forest plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semfocus.report.forest_figure import Heading, Row
from semfocus.report.palette import Ink
from semfocus.report.texts import listed, shortened
from semfocus.studies.sentence import is_ahead, is_behind
from semfocus.studies.wording import bounded

if TYPE_CHECKING:
    from semfocus.studies.analysis import ArmSummary, TaskSummary
    from semfocus.studies.statistics.speedup import Speedup


@dataclass(frozen=True)
class Score:
    """On how many tasks the interval of an arm's speedup lies above 1, includes 1, lies below 1."""

    label: str
    group: str
    faster: list[str]
    unclear: list[str]
    slower: list[str]
    span: str


def primary(summaries: Sequence["TaskSummary"]) -> list["TaskSummary"]:
    """For every task the comparison with the most runs; of equal ones that with all else equal, then the nearest to the paper's setting."""
    best: dict[str, TaskSummary] = {}
    for summary in summaries:
        known = best.get(summary.comparison.task)
        if known is None or _weight(summary) > _weight(known):
            best[summary.comparison.task] = summary
    return list(best.values())


def _weight(summary: "TaskSummary") -> tuple[int, bool, int]:
    comparison = summary.comparison
    return sum(map(len, comparison.arms.values())), not comparison.arm_settings, -len(comparison.setting)


def arm_groups(summaries: Sequence["TaskSummary"]) -> dict[str, str]:
    """Every arm with its group, in the order of groups and then of first appearance."""
    from semfocus.studies.arms import GROUPS

    found = {label: group for each in summaries for label, group in each.comparison.groups.items()}
    order = {group: place for place, group in enumerate(GROUPS)}
    return dict(sorted(found.items(), key=lambda item: order.get(item[1], len(order))))


def side(speedup: "Speedup | None") -> str | None:
    """`faster`, `slower` or `unclear`, by the 95 % interval; None without one."""
    if speedup is None or speedup.num_pairs < 2:
        return None
    return "faster" if is_ahead(speedup) else "slower" if is_behind(speedup) else "unclear"


def scores(summaries: Sequence["TaskSummary"]) -> list[Score]:
    """One for every arm that was compared with the baseline."""
    found = []
    for label, group in arm_groups(summaries).items():
        pairs = [
            (each.comparison.task, arm.speedup)
            for each in summaries
            for arm in each.arms
            if arm.label == label
        ]
        judged = [(task, side(speedup), speedup) for task, speedup in pairs]
        if any(verdict for _, verdict, _ in judged):
            names = {
                kind: [task for task, verdict, _ in judged if verdict == kind]
                for kind in ("faster", "unclear", "slower")
            }
            wanted = "faster" if names["faster"] else None  # the range over the tasks it won, else over all
            known = [each for _, verdict, each in judged if each and each.ratio and wanted in (None, verdict)]
            found.append(
                Score(label, group, names["faster"], names["unclear"], names["slower"], _span(known))
            )
    return found


def headline(found: Sequence[Score], num_tasks: int) -> list[str]:
    """What a hurried reader should take home from several tasks: who was faster, on how many, and who was not."""
    ahead = sorted((score for score in found if score.faster), key=lambda score: -len(score.faster))
    behind = [score.label for score in found if not score.faster]
    sentences = []
    if ahead:
        parts = [f"{shortened(score.label)} on {_on(score, num_tasks)}" for score in ahead]
        sentences.append(f"Learned in fewer epochs than full attention: {'; '.join(parts)}.")
    if behind:
        sentences.append(f"On no task clearly faster: {', '.join(map(shortened, behind))}.")
    return sentences


def how_judged(found: Sequence[Score]) -> str:
    """By what "faster" was decided, and of how many comparisons some would come out so by chance."""
    num = sum(len(score.faster) + len(score.unclear) + len(score.slower) for score in found)
    return f"by 95 % intervals, not corrected for {num} comparison{'' if num == 1 else 's'}"


def _on(score: Score, num_tasks: int) -> str:
    """`7 of 8 tasks (1.8x to 3.8x; not parity)`; long lists of exceptions stay in the table."""
    exceptions = [*score.unclear, *score.slower]
    but = f"; not {listed(map(shortened, exceptions))}" if 0 < len(exceptions) <= 3 else ""
    return f"{len(score.faster)} of {num_tasks} tasks ({score.span}{but})"


def _span(speedups: Sequence["Speedup"]) -> str:
    """`1.8x to at least 5x`: a bound stays one."""
    if not speedups:
        return ""
    ordered = sorted(speedups, key=lambda each: each.ratio or 0.0)
    low, high = bounded(ordered[0]), bounded(ordered[-1])
    return low if low == high else f"{low} to {high}"


def forest_lines(summaries: Sequence["TaskSummary"], inks: Mapping[str, Ink]) -> list[Heading | Row]:
    """Groups, in them arms, in them tasks; with a single task an arm is one row."""
    from semfocus.studies.arms import GROUPS

    lines: list[Heading | Row] = []
    groups = arm_groups(summaries)
    for group in GROUPS:
        labels = [label for label, kind in groups.items() if kind == group and group != "baseline"]
        own: list[Heading | Row] = []
        for label in labels:
            found = [
                (each, arm) for each in summaries for arm in each.arms if arm.label == label and arm.speedup
            ]
            if not found:
                continue
            ink = inks[label].css_class
            if len(summaries) == 1:
                own += [_row(label, ink, arm) for _, arm in found]
            else:
                own.append(Heading(label, ink))
                own += [_row(each.comparison.task, ink, arm) for each, arm in found]
        lines += [Heading(group, "group"), *own] if own else []
    return lines


def _row(label: str, ink: str, arm: "ArmSummary") -> Row:
    return Row(label, ink, arm.speedup)
