"""What several comparisons show together: who was faster on how many tasks, and over a range of one setting."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semfocus.analysis.sentences import pooled_sentence
from semfocus.analysis.verdict import FEWEST_PAIRS, enough, estimate_order, pairs_text, verdict_of
from semfocus.analysis.wording import bounded, level_text, values_text
from semfocus.words import count_of, listed, shortened, span

if TYPE_CHECKING:
    from semfocus.analysis.findings import Finding
    from semfocus.analysis.statistics.speedup import Speedup
    from semfocus.analysis.summaries import TaskSummary


#: the columns of the count over tasks
KINDS = ("faster", "equivalent", "undecided", "slower", "too few seeds")


@dataclass(frozen=True)
class Score:
    """The speedups of an arm by the verdict on it, then by task; those of too few seeds apart."""

    label: str
    group: str
    tasks: Mapping[str, Mapping[str, "Speedup"]]

    def on(self, kind: str) -> list[str]:
        return list(self.tasks[kind])

    def span(self, *kinds: str) -> str:
        """`1.8x to at least 5x` over the tasks of these kinds, or of all."""
        return _span([each for kind in kinds or KINDS for each in self.tasks[kind].values()])


def comparison_names(summaries: Sequence["TaskSummary"]) -> dict[int, str]:
    """By the identity of a summary: its task, with the setting where a task is compared at several."""
    titles = Counter(each.comparison.title for each in summaries)
    return {
        id(each): each.comparison.title
        if titles[each.comparison.title] == 1
        else f"{each.comparison.title}, {values_text(each.comparison.setting) or 'as in the paper'}"
        for each in summaries
    }


def primary(summaries: Sequence["TaskSummary"]) -> list["TaskSummary"]:
    """For every task the comparison with the most runs; of equal ones that with all else equal, then the
    nearest to the paper's setting.
    """
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
    from semfocus.runs.arms import GROUPS

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
                if arm.label == label and arm.speedup is not None and arm.speedup.pairs:
                    kind = verdict_of(arm.speedup) if enough(arm.speedup) else "too few seeds"
                    tasks[kind][each.comparison.title] = arm.speedup
        if any(tasks.values()):
            found.append(Score(label, group, tasks))
    return found


def headline(summaries: Sequence["TaskSummary"], findings: Sequence["Finding"] = ()) -> list[str]:
    """What a hurried reader should take home from several tasks: the pooled findings, then who was faster on
    how many.
    """
    found, num_tasks = scores(summaries), len(learned(summaries))
    judged = [score for score in found if any(score.tasks[kind] for kind in KINDS[:-1])]
    pooled = [each for each in findings if each.task is None]
    sentences = [pooled_sentence(each, brief=place > 0) for place, each in enumerate(pooled)]
    for kind, words in (
        ("faster", "Task by task, learned in fewer epochs than full attention"),
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
    num = sum(len(score.tasks[kind]) for score in found for kind in KINDS[:-1])
    if not num:
        return f"Nobody is judged faster or slower: that takes {FEWEST_PAIRS} pairs of seeds."
    seen = [each for score in found for kind in KINDS[:-1] for each in score.tasks[kind].values()]
    return f"Judged by {level_text(seen)} intervals, not corrected for {count_of(num, 'comparison')}."


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
    """Of the tasks with too few seeds for a verdict on anybody: whose estimate is the largest, and whose are
    below 1.
    """
    largest: dict[str, list[Speedup]] = {}
    below: dict[str, list[Speedup]] = {}
    seen: list[Speedup] = []
    num = 0
    for summary in learned(summaries):
        raced = [(arm.label, arm.speedup) for arm in summary.arms if arm.speedup and arm.speedup.pairs]
        if not raced or any(enough(speedup) for _, speedup in raced):
            continue
        num += 1
        seen += [speedup for _, speedup in raced]
        label, speedup = max(raced, key=lambda each: estimate_order(each[1]))
        if speedup.is_above_one:
            largest.setdefault(label, []).append(speedup)
        for label, speedup in raced:
            if speedup.is_above_one is False:
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


@dataclass(frozen=True)
class SettingSweep:
    """Comparisons of one task that differ in one key alone, by its value."""

    task: str
    key: str
    fixed: dict[str, Any]
    steps: list[tuple[Any, "TaskSummary"]]


def sweeps(summaries: Sequence["TaskSummary"]) -> list[SettingSweep]:
    """All of them. A value that is the paper's does not stand in a comparison's setting: it is read from the spec.

    Comparisons whose arms have settings of their own have no one value, and are left out.
    """
    found = []
    alike = [each for each in summaries if not each.comparison.arm_settings]
    for task in dict.fromkeys(each.comparison.title for each in alike):
        own = [each for each in alike if each.comparison.title == task]
        for key in sorted({key for each in own for key in each.comparison.setting}):
            found += _sweeps_of(task, key, own)
    return found


def _sweeps_of(task: str, key: str, own: Sequence["TaskSummary"]) -> list[SettingSweep]:
    families: dict[str, list[tuple[Any, TaskSummary]]] = {}
    for summary in own:
        fixed = {name: value for name, value in summary.comparison.setting.items() if name != key}
        families.setdefault(json.dumps(fixed, sort_keys=True), []).append((_value(summary, key), summary))
    return [
        SettingSweep(task, key, json.loads(fixed), sorted(steps, key=lambda step: _order(step[0])))
        for fixed, steps in families.items()
        if len(steps) > 1
    ]


def _value(summary: "TaskSummary", key: str) -> Any:
    from semfocus.runs.arms import flat

    if key in summary.comparison.setting:
        return summary.comparison.setting[key]
    first = next(record for records in summary.comparison.arms.values() for record in records)
    return flat(first["spec"]).get(key)


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers by size, then texts."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if numeric else (1, 0.0, str(value))
