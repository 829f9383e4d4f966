"""What the study says over all tasks: one comparison a task, a score for every arm, and the forest plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semfocus.counts import count_of, span
from semfocus.report.forest_figure import Heading, Row
from semfocus.report.palette import Ink
from semfocus.report.texts import listed, shortened
from semfocus.studies.verdict import FEWEST_PAIRS, estimate_order, estimated_above_one, pairs_text, side
from semfocus.studies.wording import bounded

if TYPE_CHECKING:
    from semfocus.studies.analysis import ArmSummary, TaskSummary
    from semfocus.studies.statistics.speedup import Speedup


#: the columns of the count over tasks
KINDS = ("faster", "unclear", "slower", "too few seeds")


@dataclass(frozen=True)
class Score:
    """The speedups of an arm by task: those whose interval lies above 1, includes 1, lies below 1, and those of too few seeds."""

    label: str
    group: str
    tasks: Mapping[str, Mapping[str, "Speedup"]]

    def on(self, kind: str) -> list[str]:
        return list(self.tasks[kind])

    def span(self, *kinds: str) -> str:
        """`1.8x to at least 5x` over the tasks of these kinds, or of all."""
        return _span([each for kind in kinds or KINDS for each in self.tasks[kind].values()])


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


def learned(summaries: Sequence["TaskSummary"]) -> list["TaskSummary"]:
    """The comparisons in which some run reached the training target: elsewhere there is nothing to be faster at."""
    return [each for each in summaries if any(arm.reached for arm in each.arms)]


def scores(summaries: Sequence["TaskSummary"]) -> list[Score]:
    """One for every arm that was compared with the baseline, over the tasks that somebody learned."""
    found = []
    for label, group in arm_groups(summaries).items():
        tasks: dict[str, dict[str, Speedup]] = {kind: {} for kind in KINDS}
        for each in learned(summaries):
            for arm in each.arms:
                kind = side(arm.speedup) if arm.label == label else None
                if kind is not None and arm.speedup is not None:
                    tasks[kind][each.comparison.title] = arm.speedup
        if any(tasks.values()):
            found.append(Score(label, group, tasks))
    return found


def headline(summaries: Sequence["TaskSummary"]) -> list[str]:
    """What a hurried reader should take home from several tasks: who was faster, on how many, who was not, how sure."""
    found, num_tasks = scores(summaries), len(learned(summaries))
    judged = [score for score in found if any(score.tasks[kind] for kind in KINDS[:3])]
    sentences = []
    for kind, words in (
        ("faster", "Learned in fewer epochs than full attention"),
        ("slower", "In more epochs"),
    ):
        own = sorted(
            (score for score in judged if score.tasks[kind]), key=lambda score: -len(score.tasks[kind])
        )
        parts = [f"{shortened(score.label)} on {_on(score, kind, num_tasks)}" for score in own]
        sentences += [f"{words}: {'; '.join(parts)}."] if parts else []
    neither = [score.label for score in judged if not score.tasks["faster"] and not score.tasks["slower"]]
    if neither:
        sentences.append(f"Clearly neither on any task: {', '.join(map(shortened, neither))}.")
    return [*sentences, *_by_estimate(summaries), *_not_learned(summaries)]


def how_judged(found: Sequence[Score]) -> str:
    """By what "faster" was decided, and of how many comparisons some would come out so by chance."""
    num = sum(len(score.tasks[kind]) for score in found for kind in KINDS[:3])
    if not num:
        return f"Nobody is judged faster or slower: that takes {FEWEST_PAIRS} pairs of seeds."
    return f"Judged by 95 % intervals, not corrected for {count_of(num, 'comparison')}."


def _on(score: Score, kind: str, num_tasks: int) -> str:
    """`7 of 8 tasks (1.8x to 3.8x; not parity)`; long lists stay in the table."""
    own = score.on(kind)
    others = [task for each in KINDS if each != kind for task in score.on(each)]
    if len(own) <= 2:
        where = f"{listed(map(shortened, own))}: "
        but = ""
    else:
        where, but = "", f"; not {listed(map(shortened, others))}" if 0 < len(others) <= 3 else ""
    return f"{len(own)} of {count_of(num_tasks, 'task')} ({where}{score.span(kind)}{but})"


def _by_estimate(summaries: Sequence["TaskSummary"]) -> list[str]:
    """Of the tasks with too few seeds for a verdict on anybody: whose estimate is the largest, and whose are below 1."""
    largest: dict[str, list[Speedup]] = {}
    below: dict[str, list[Speedup]] = {}
    seen: list[Speedup] = []
    num = 0
    for summary in learned(summaries):
        raced = [(arm.label, arm.speedup) for arm in summary.arms if arm.speedup and arm.speedup.pairs]
        if not raced or any(side(speedup) != "too few seeds" for _, speedup in raced):
            continue
        num += 1
        seen += [speedup for _, speedup in raced]
        label, speedup = max(raced, key=lambda each: estimate_order(each[1]))
        if estimated_above_one(speedup):
            largest.setdefault(label, []).append(speedup)
        for label, speedup in raced:
            if estimated_above_one(speedup) is False:
                below.setdefault(label, []).append(speedup)
    if not num:
        return []
    lead = f"No verdict: {pairs_text(seen)}, {FEWEST_PAIRS} are needed."
    first = [f"By estimate the fastest in epochs: {_counted(largest, num)}."] if largest else []
    last = [f"Slower than full attention by estimate: {_counted(below, num)}."] if below else []
    return [" ".join([lead, *first]), *last]


def _counted(found: Mapping[str, Sequence["Speedup"]], num_tasks: int) -> str:
    """`full ×4 on 4 of 6 tasks (1.3x to 2.2x), top_k(5) on 2 (1.4x to 1.5x)`, most tasks first."""
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    texts = []
    for place, (label, own) in enumerate(ordered):
        of = f" of {count_of(num_tasks, 'task')}" if place == 0 else ""
        texts.append(f"{shortened(label)} on {len(own)}{of} ({_span(own)})")
    return ", ".join(texts)


def _not_learned(summaries: Sequence["TaskSummary"]) -> list[str]:
    there = {id(each) for each in learned(summaries)}
    tasks = [shortened(each.comparison.title) for each in summaries if id(each) not in there]
    return [f"No run of any attention reached the target on {listed(tasks)}."] if tasks else []


def _span(speedups: Sequence["Speedup"]) -> str:
    """`1.8x to at least 5x`: a bound stays one; what is not known is left out."""
    known = [each for each in speedups if each.ratio is not None]
    if not known:
        return "not known"
    ordered = sorted(known, key=lambda each: each.ratio or 0.0)
    return span(bounded(ordered[0]), bounded(ordered[-1]))


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
                own += [_row(each.comparison.title, ink, arm) for each, arm in found]
        lines += [Heading(group, "group"), *own] if own else []
    return lines


def _row(label: str, ink: str, arm: "ArmSummary") -> Row:
    return Row(label, ink, arm.speedup)
