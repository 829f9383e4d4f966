"""Findings: what runs show about one arm against another, on a task or over all of them, as values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.statistics import Speedup, Time, holm, paired_speedup
from semfocus.analysis.statistics.pooling import PooledSpeedup, pooled_speedup
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.analysis.summaries import ArmSummary, TaskSummary, by_setting
from semfocus.analysis.times import Goal, times_to
from semfocus.analysis.verdict import side
from semfocus.analysis.wording import bounded, interval, setting_of
from semfocus.words import count_of, percent

Verdict = Literal["faster", "slower", "equivalent", "undecided"]


@dataclass(frozen=True)
class AtTarget:
    """The same contrast at another target; `ratio` is None where it is not measured, and `why` says so."""

    target: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    verdict: Verdict | None = None
    bound: str = ""
    why: str = ""

    @property
    def is_measured(self) -> bool:
        return self.verdict is not None


@dataclass(frozen=True)
class Finding:
    """How many times fewer epochs an arm needed than its baseline, how sure that is, and what it comes to.

    `task` is None where tasks are pooled. A limit is None where the data give none.
    """

    contrast: Contrast
    task: str | None
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    num_pairs: int
    verdict: Verdict
    #: what differs from the paper's setting, in words: a task may be compared at several settings
    setting: str
    speedup: Speedup | PooledSpeedup = field(repr=False, compare=False)
    #: the target of the times, in words
    goal: str = ""
    #: the contrast that was declared first: it is tested alone, the others under Holm once it is decided
    is_primary: bool = False
    #: p after Holm's correction over the contrasts that it covers; None where p stands alone
    p_adjusted: float | None = None
    #: the same contrast at other targets
    targets: tuple[AtTarget, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """`even_pairs: top_k(5) against full: faster, 5.7x [3.1, 10.4], 5 seeds`."""
        where = f"{self.task}: " if self.task is not None else f"{count_of(self.num_tasks, 'task')}: "
        how = " ".join(filter(None, (bounded(self.speedup), interval(self.speedup))))
        of = "seed" if self.task is not None else "pair"
        return f"{where}{self.contrast}: {self.verdict}, {how}, {count_of(self.num_pairs, of)}"

    @property
    def num_tasks(self) -> int:
        return len(self.speedup.tasks) if isinstance(self.speedup, PooledSpeedup) else 1

    @property
    def bound(self) -> str:
        """On which side of `ratio` the truth may lie: "at least", "at most"; "" where it is known."""
        return self.speedup.bound

    @property
    def on_average(self) -> tuple[float, float] | None:
        """The interval for the mean over tasks like these; None for a single task."""
        return self.speedup.on_average if isinstance(self.speedup, PooledSpeedup) else None

    @property
    def new_task(self) -> tuple[float, float] | None:
        """The interval for one more task like these; None below three tasks."""
        return self.speedup.new_task if isinstance(self.speedup, PooledSpeedup) else None

    @property
    def changes(self) -> list[str]:
        """Targets at which the verdict or the side of the estimate is another one: `undecided at 99 %`."""
        found = []
        own = verdict_of(self.speedup)  # before any correction, as those at other targets are
        for each in self.targets:
            if each.verdict is not None and each.verdict != own:
                found.append(f"{each.verdict} at {each.target}")
            elif each.verdict is not None and _sides_differ(self.ratio, each.ratio):
                found.append(f"{each.ratio:.2g}x at {each.target}")
        return found


def _sides_differ(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and (one - 1) * (other - 1) < 0


# --- the same contrast at other targets

_SUSTAINED = 5


def _goals(goal: Goal) -> dict[str, Goal]:
    """What a result must not hang on; none for text, whose goal is a loss."""
    if goal.at_most or goal.column != "train_accuracy":
        return {}
    found = {
        f"{percent(value)}": Goal(goal.column, value, f"{percent(value)} training accuracy")
        for value in (0.8, 0.9, 0.95, 0.99)
        if value != goal.value
    }
    words = f"{percent(goal.value)} sustained for {_SUSTAINED} evaluations"
    return {**found, words: Goal(goal.column, goal.value, words, sustained=_SUSTAINED)}


@dataclass(frozen=True)
class _AtGoals:
    """The times of a comparison to its own goal and to others, by name; a text instead: why they are not known."""

    summary: TaskSummary
    times: Mapping[str, Mapping[str, Mapping[int, Time]] | str]

    @classmethod
    def of(cls, summary: TaskSummary) -> "_AtGoals":
        stop = summary.comparison.setting.get("training.stop_at")
        found: dict[str, Mapping[str, Mapping[int, Time]] | str] = {}
        for name, goal in _goals(summary.goal).items():
            if stop is not None and (goal.value > float(stop) or goal.sustained > 1):
                found[name] = f"not measured (stopped at {percent(float(stop))})"
            else:
                found[name] = times_to(summary.comparison, goal)
        return cls(summary, found)


def _at_targets(
    comparisons: Sequence[_AtGoals], contrast: Contrast, alpha: float, pooled: bool
) -> tuple[AtTarget, ...]:
    found = []
    for name in dict.fromkeys(name for each in comparisons for name in each.times):
        times = [each.times.get(name, "not measured") for each in comparisons]
        why = next((each for each in times if isinstance(each, str)), None)
        if why is not None:
            found.append(AtTarget(name, why=why))
            continue
        by_task = {
            each.summary.comparison.title: own
            for each, known in zip(comparisons, times, strict=True)
            if not isinstance(known, str) and (own := _speedup(known, contrast, alpha)) is not None
        }
        if not by_task:
            found.append(AtTarget(name, why="nobody got there"))
            continue
        speedup = pooled_speedup(by_task, alpha) if pooled else next(iter(by_task.values()))
        verdict = verdict_of(speedup)
        found.append(
            AtTarget(name, speedup.ratio, speedup.low, speedup.high, speedup.p, verdict, speedup.bound)
        )
    return tuple(found)


# --- from comparisons to findings


def findings_of(
    summaries: Iterable[TaskSummary], contrasts: Sequence[Sequence[str]] = (), alpha: float = ALPHA
) -> list[Finding]:
    """What all comparisons show: over tasks first, then on each.

    `contrasts`: pairs of arms; the first is primary. Without any, every arm is held against the baseline, and all of them
    are tested together. On each task, every arm is held against the baseline as well. Tasks on which neither arm of a
    contrast reached the goal say nothing about it and are left out; settings are never pooled.
    """
    given = list(summaries)
    declared = [Contrast(*each) for each in contrasts]
    at_goals = {id(each): _AtGoals.of(each) for each in given}
    pooled: list[Finding] = []
    single: list[Finding] = []
    for group in by_setting(given):
        together = _pooled(group, declared, [at_goals[id(each)] for each in group], alpha)
        pooled += together
        for summary in group:
            known = [
                _on_task(at_goals[id(summary)], each, declared, alpha)
                for each in _contrasts_of(summary, declared)
            ]
            own = [each for each in known if each is not None]
            # where there are several tasks the verdict is over them, and each task alone is a look at a part
            single += own if together or not declared else _in_order(own, declared, alpha)
    return [*pooled, *single]


def _in_order(findings: Sequence[Finding], declared: Sequence[Contrast], alpha: float) -> list[Finding]:
    """The declared contrasts of an only task, corrected as those over tasks are; other arms stay as they are."""
    asked = [each for each in findings if each.contrast in declared]
    corrected = {each.contrast: each for each in _corrected(asked, bool(declared), alpha)}
    return [corrected.get(each.contrast, each) for each in findings]


def _contrasts_of(summary: TaskSummary, declared: Sequence[Contrast]) -> list[Contrast]:
    """Every arm against the baseline, then the declared contrasts between other arms that the comparison has."""
    labels = [arm.label for arm in summary.arms]
    usual = [Contrast(label, summary.baseline) for label in labels if label != summary.baseline]
    others = [each for each in declared if each not in usual and {*each} <= {*labels}]
    return [*usual, *others]


def _pooled(
    group: Sequence[TaskSummary], declared: Sequence[Contrast], at_goals: Sequence[_AtGoals], alpha: float
) -> list[Finding]:
    contrasts = list(declared) or _shared_contrasts(group)
    found: list[Finding] = []
    for contrast in contrasts:
        known = [(each, _speedup(_times_of(each.summary), contrast, alpha)) for each in at_goals]
        own = [(each, one) for each, one in known if one is not None]
        if len({each.summary.comparison.title for each, _ in own}) < 2:
            continue
        speedup = pooled_speedup({each.summary.comparison.title: one for each, one in own}, alpha)
        first = own[0][0].summary
        found.append(
            Finding(
                contrast,
                None,
                speedup.ratio,
                speedup.low,
                speedup.high,
                speedup.p,
                speedup.num_pairs,
                "undecided"
                if any(_is_going_on(each.summary, contrast) for each, _ in own)
                else verdict_of(speedup),
                setting_of(first.comparison),
                speedup,
                first.goal.words,
                bool(declared) and contrast == declared[0],
                targets=_at_targets([each for each, _ in own], contrast, alpha, pooled=True),
            )
        )
    return _corrected(found, bool(declared), alpha)


def _shared_contrasts(group: Sequence[TaskSummary]) -> list[Contrast]:
    """Every arm against the baseline, in the order of first appearance."""
    return list(
        dict.fromkeys(
            Contrast(arm.label, summary.baseline)
            for summary in group
            for arm in summary.arms
            if arm.label != summary.baseline
        )
    )


def _corrected(findings: Sequence[Finding], has_primary: bool, alpha: float) -> list[Finding]:
    """The primary one stands alone; the others are tested under Holm's correction, once it has shown a difference.

    That it is equivalent opens nothing: "no difference" was not rejected, and the others would get an error of their own.
    """
    primary = next((each for each in findings if each.is_primary), None)
    others = [each for each in findings if each is not primary]
    adjusted = holm({str(each.contrast): each.p for each in others if each.p is not None})
    is_open = not has_primary if primary is None else primary.verdict in ("faster", "slower")
    found = [] if primary is None else [primary]
    for each in others:
        p = adjusted.get(str(each.contrast))
        verdict: Verdict = each.verdict
        claims = verdict in ("faster", "slower")
        if claims and (not is_open or p is None or p > alpha):
            verdict = "equivalent" if each.speedup.is_equivalent else "undecided"
        found.append(replace(each, verdict=verdict, p_adjusted=p))
    return found


def finding_on(summary: TaskSummary, arm: ArmSummary) -> Finding | None:
    """What a comparison shows about one of its arms against the baseline; None where they share no seed."""
    return _on_task(_AtGoals(summary, {}), Contrast(arm.label, summary.baseline), (), summary.alpha)


def _on_task(
    at_goals: _AtGoals, contrast: Contrast, declared: Sequence[Contrast], alpha: float
) -> Finding | None:
    summary, times = at_goals.summary, _times_of(at_goals.summary)
    if contrast.arm == contrast.baseline or not {*contrast} <= times.keys():
        return None
    speedup = paired_speedup(times[contrast.baseline], times[contrast.arm], alpha)
    if not speedup.pairs:
        return None
    # Where nobody reached the goal there is nothing to be faster at.
    reached = any(arm.reached for arm in summary.arms)
    return Finding(
        contrast,
        summary.comparison.title,
        speedup.ratio,
        speedup.low,
        speedup.high,
        speedup.p,
        speedup.num_pairs,
        verdict_of(speedup) if reached and not _is_going_on(summary, contrast) else "undecided",
        setting_of(summary.comparison),
        speedup,
        summary.goal.words,
        bool(declared) and contrast == declared[0],
        targets=_at_targets([at_goals], contrast, alpha, pooled=False),
    )


def _is_going_on(summary: TaskSummary, contrast: Contrast) -> bool:
    """Whether runs of either arm have not ended: whoever judges as soon as a test looks good finds something in noise."""
    return any(arm.is_going_on for arm in summary.arms if arm.label in contrast)


def _times_of(summary: TaskSummary) -> dict[str, Mapping[int, Time]]:
    return {arm.label: arm.times for arm in summary.arms}


def _speedup(times: Mapping[str, Mapping[int, Time]], contrast: Contrast, alpha: float) -> Speedup | None:
    """None where the two share no seed, or neither ever got there."""
    base, arm = times.get(contrast.baseline), times.get(contrast.arm)
    if base is None or arm is None or not any(time.reached for time in (*base.values(), *arm.values())):
        return None
    found = paired_speedup(base, arm, alpha)
    return found if found.pairs else None


def verdict_of(speedup: Speedup | PooledSpeedup) -> Verdict:
    """By the interval: above 1, below 1; else equivalent if it was shown that neither is faster by a factor of 1.25."""
    if isinstance(speedup, PooledSpeedup):
        if speedup.p <= speedup.alpha:
            return "faster" if speedup.ratio > 1 else "slower"
        return "equivalent" if speedup.is_equivalent else "undecided"
    found = side(speedup)
    if found in ("faster", "slower"):
        return found
    return "equivalent" if speedup.is_equivalent else "undecided"
