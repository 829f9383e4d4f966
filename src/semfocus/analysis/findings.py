"""Findings: what runs show about one arm against another, on a task or over all of them, as values."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.statistics import Speedup, holm
from semfocus.analysis.statistics.pooling import PooledSpeedup, pooled_speedup
from semfocus.analysis.summaries import TaskSummary, by_setting
from semfocus.analysis.verdict import FEWEST_POOLED, SpeedupVerdict, verdict_of, why_open
from semfocus.analysis.wording import bounded, interval, setting_of
from semfocus.words import count_of, listed, p_value, shortened


@dataclass(frozen=True)
class AtTarget:
    """The same contrast at another target; `ratio` is None where it is not measured, and `why` says so."""

    target: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    verdict: SpeedupVerdict | None = None
    bound: str = ""
    why: str = ""
    #: tasks that count at the target of the finding, and that nobody learned here
    left_out: tuple[str, ...] = ()


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
    verdict: SpeedupVerdict
    #: what differs from the paper's setting, in words: a task may be compared at several settings
    setting: str
    speedup: Speedup | PooledSpeedup = field(repr=False, compare=False)
    #: the target of the times, in words
    goal: str = ""
    #: the contrast that was declared first: it is tested alone, the others under Holm once it is decided
    is_primary: bool = False
    is_declared: bool = False
    #: the study that declared it, where several did
    study: str = ""
    #: p after Holm's correction over the contrasts that it covers; None where p stands alone
    p_adjusted: float | None = None
    #: tasks that are not pooled: too few pairs, beside others that have enough
    left_out: tuple[str, ...] = ()
    #: the same contrast at other targets
    targets: tuple[AtTarget, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """`even_pairs: top_k(5) against full: faster, 5.7x [3.1, 10.4], 5 seeds`."""
        pooled = self.task is None
        where = f"over {count_of(self.num_tasks, 'task')}" if pooled else shortened(self.task, 40)
        contrast = " against ".join(map(shortened, self.contrast))
        judged = ", ".join(filter(None, (self.verdict, why_open(self.speedup))))
        how = " ".join(filter(None, (bounded(self.speedup), interval(self.speedup))))
        num = count_of(self.num_pairs, "pair" if pooled else "seed")
        p = f", p = {p_value(self.p)}" if pooled and self.p is not None else ""
        goal = f", to {self.goal}" if "held-out" in self.goal else ""
        return f"{where}: {contrast}: {judged}, {how}, {num}{p}{goal}"

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

    def as_values(self) -> dict[str, Any]:
        """Plain values."""
        apart = ("speedup", "contrast", "targets")
        return {
            **self.contrast._asdict(),
            **{key: value for key, value in vars(self).items() if key not in apart},
            **{key: getattr(self, key) for key in ("bound", "num_tasks", "on_average", "new_task")},
            "targets": [asdict(each) for each in self.targets],
        }

    @property
    def changes(self) -> list[str]:
        """Targets at which the verdict or the side of the estimate is another one, or tasks drop out:
        `undecided at 99 %`.
        """
        found = []
        own = verdict_of(self.speedup)  # before any correction, as those at other targets are
        for each in self.targets:
            without = f" (without {listed(map(shortened, each.left_out))})" if each.left_out else ""
            if each.verdict is not None and each.verdict != own:
                found.append(f"{each.verdict} at {each.target}{without}")
            elif each.verdict is not None and _sides_differ(self.ratio, each.ratio):
                found.append(f"{each.ratio:.2g}x at {each.target}{without}")
            elif without:
                found.append(f"nobody reached {each.target} on {listed(map(shortened, each.left_out))}")
        return found


def _sides_differ(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and (one - 1) * (other - 1) < 0


# --- one contrast, on a task and over several


def finding_on(summary: TaskSummary, contrast: Contrast, held_out: bool = False) -> Finding | None:
    """What a comparison shows about one arm against another; None where they share no seed.

    `held_out`: in reaching the second goal of the comparison.
    """
    times = {arm.label: arm.held_out_times for arm in summary.arms} if held_out else None
    speedup = summary.race(contrast, times)
    if speedup is None:
        return None
    goal = summary.second_goal if held_out else summary.goal
    return _finding(contrast, summary.comparison.title, speedup, setting_of(summary.comparison), goal.words)


def finding_over(findings: Sequence[Finding], among: int = 1) -> Finding | None:
    """The same contrast over all tasks on which somebody got there; None without any.

    Tasks with fewer pairs than a verdict over tasks asks for are left out, if two others have enough. `among` so many
    contrasts: see `pooled_speedup`.
    """
    known = {each.task: each.speedup for each in findings if isinstance(each.speedup, Speedup)}
    assert len(known) == len(findings), f"a task counts once, got {[each.task for each in findings]}"
    learned = {str(task): speedup for task, speedup in known.items() if speedup.is_informative}
    counted = {task: each for task, each in learned.items() if each.num_pairs >= FEWEST_POOLED}
    counted = counted if len(counted) > 1 else learned
    if not counted:
        return None
    first = findings[0]
    found = _finding(first.contrast, None, pooled_speedup(counted, among), first.setting, first.goal)
    return replace(found, left_out=tuple(task for task in learned if task not in counted))


def _finding(
    contrast: Contrast, task: str | None, speedup: Speedup | PooledSpeedup, setting: str, goal: str
) -> Finding:
    limits, verdict = (speedup.low, speedup.high), verdict_of(speedup)
    return Finding(
        contrast, task, speedup.ratio, *limits, speedup.p, speedup.num_pairs, verdict, setting, speedup, goal
    )


def _at_targets(summaries: Sequence[TaskSummary], contrast: Contrast) -> tuple[AtTarget, ...]:
    """The same contrast on the same tasks at other targets."""
    found = []
    for name in dict.fromkeys(name for each in summaries for name in each.other_times):
        times = [each.other_times.get(name, "not measured") for each in summaries]
        why = next((each for each in times if isinstance(each, str)), "")
        raced = {
            each.comparison.title: None if isinstance(own, str) else each.race(contrast, own)
            for each, own in zip(summaries, times, strict=True)
        }
        learned = {task: one for task, one in raced.items() if one is not None and one.is_informative}
        if why or not learned:
            found.append(AtTarget(name, why=why or "nobody got there"))
            continue
        one = pooled_speedup(learned) if len(raced) > 1 else next(iter(learned.values()))
        out = tuple(task for task in raced if task not in learned)
        verdict = verdict_of(one)
        found.append(AtTarget(name, one.ratio, one.low, one.high, one.p, verdict, one.bound, left_out=out))
    return tuple(found)


# --- from comparisons to findings


def findings_of(summaries: Iterable[TaskSummary], contrasts: Sequence[Sequence[str]] = ()) -> list[Finding]:
    """What all comparisons show: over tasks first, then on each.

    `contrasts`: pairs of arms; the first is primary. Without any, every arm is held against the baseline, and
    all of them are tested together. On each task, every arm is held against the baseline as well. Tasks on
    which neither arm of a contrast reached the goal say nothing about it and are left out; settings are never pooled.
    """
    declared = [Contrast(*each) for each in contrasts]
    pooled: list[Finding] = []
    single: list[Finding] = []
    for group in by_setting(list(summaries)):
        usual = [_usual_contrasts(each) for each in group]
        asked = declared or list(dict.fromkeys(each for own in usual for each in own))
        together = [each for contrast in asked if (each := _over(group, contrast)) is not None]
        pooled += _corrected(together, declared)
        for summary, own in zip(group, usual, strict=True):
            known = [_on(summary, each, declared) for each in dict.fromkeys([*own, *declared])]
            alone = [each for each in known if each is not None]
            # where there are several tasks the verdict is over them, and each task alone is a look at a part
            single += alone if together or not declared else _in_order(alone, declared)
    return [*pooled, *single]


def _usual_contrasts(summary: TaskSummary) -> list[Contrast]:
    """Every arm against the baseline."""
    labels = [arm.label for arm in summary.arms]
    return [Contrast(label, summary.baseline) for label in labels if label != summary.baseline]


def _on(summary: TaskSummary, contrast: Contrast, declared: Sequence[Contrast]) -> Finding | None:
    found = finding_on(summary, contrast)
    if found is None:
        return None
    is_primary, is_declared = contrast in declared[:1], contrast in declared
    targets = _at_targets([summary], contrast)
    return replace(found, is_primary=is_primary, is_declared=is_declared, targets=targets)


def _over(group: Sequence[TaskSummary], contrast: Contrast) -> Finding | None:
    """None below two tasks."""
    known = [each for summary in group if (each := finding_on(summary, contrast)) is not None]
    found = finding_over(known)
    if found is None or not isinstance(found.speedup, PooledSpeedup) or found.num_tasks < 2:
        return None
    pooled = [each for each in group if each.comparison.title in found.speedup.tasks]
    return replace(found, targets=_at_targets(pooled, contrast))


def _in_order(findings: Sequence[Finding], declared: Sequence[Contrast]) -> list[Finding]:
    """The declared contrasts of an only task, corrected as those over tasks are; other arms stay as they are."""
    asked = [each for each in findings if each.contrast in declared]
    corrected = {each.contrast: each for each in _corrected(asked, declared)}
    return [corrected.get(each.contrast, each) for each in findings]


def _corrected(findings: Sequence[Finding], declared: Sequence[Contrast]) -> list[Finding]:
    """The primary one stands alone; the others are tested under Holm's correction, once it has shown a difference.

    That it is equivalent opens nothing: "no difference" was not rejected, and the others would get an error
    of their own.
    """
    primary = next((each for each in findings if declared and each.contrast == declared[0]), None)
    others = [each for each in findings if each is not primary]
    adjusted = holm({str(each.contrast): each.p for each in others if each.p is not None})
    is_open = not declared if primary is None else primary.verdict in ("faster", "slower")
    found = [] if primary is None else [replace(primary, is_primary=True, is_declared=True)]
    for each in others:
        p = adjusted.get(str(each.contrast))
        verdict: SpeedupVerdict = each.verdict
        claims = verdict in ("faster", "slower")
        if claims and (not is_open or p is None or p > each.speedup.alpha):
            verdict = "equivalent" if each.speedup.is_equivalent else "undecided"
        found.append(replace(each, verdict=verdict, p_adjusted=p, is_declared=bool(declared)))
    return found
