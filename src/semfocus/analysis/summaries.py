"""What is known of each arm of a comparison: times to a goal, speedups, how its runs ended."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from semfocus.analysis.comparisons import Comparison, Contrast, comparisons
from semfocus.analysis.statistics import (
    Estimate,
    Speedup,
    Time,
    holm,
    median_time,
    paired_speedup,
    restricted_mean,
    smallest_p,
)
from semfocus.analysis.statistics.sequential import IntervalLevel
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.analysis.times import Goal, goals_of, longest_look, other_times, times_to
from semfocus.runs.arms import BASELINE, SHARPENED
from semfocus.runs.record import Record

Times = dict[int, Time]
NOT_ENDED = ("unfinished", "running", "interrupted")


@dataclass(frozen=True)
class Race:
    """One arm against the baseline on one clock; None where there is nothing to compare."""

    speedup: Speedup | None = None
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class ArmSummary:
    """What the runs of one arm say; lists of values are in the order of `ended_seeds`."""

    label: str
    group: str
    seeds: list[int]
    states: dict[str, int]
    total: int
    reached: int
    share_perfect: float
    epochs_to_target: Estimate
    mean_epochs: Estimate
    seconds_to_target: Estimate
    epochs_to_held_out: Estimate
    times: dict[int, Time]
    seconds: dict[int, Time]
    held_out_times: dict[int, Time]
    #: the runs that are done, and their last epoch: others may still change, or broke off (diverged)
    ended_seeds: list[int]
    last_held_out: list[float]
    gap: list[float]
    loss_gap: list[float]
    last_held_out_loss: list[float]
    last_train_loss: list[float]
    #: by seed, where it was recorded: the share of steps clipped before the target, and the mean gradient
    #: norm before clipping
    clipped: dict[int, float]
    gradient_norms: dict[int, float]
    #: None for the baseline itself, and where there is none
    speedup: Speedup | None
    p: float | None
    p_holm: float | None
    smallest_p: float | None
    seconds_speedup: Speedup | None
    seconds_p: float | None
    seconds_p_holm: float | None
    held_out_speedup: Speedup | None
    held_out_p: float | None
    held_out_p_holm: float | None

    @property
    def num_open(self) -> int:
        """How many of its runs have not ended."""
        return sum(self.states.get(state, 0) for state in NOT_ENDED)

    @property
    def is_sharpened(self) -> bool:
        """Whether the arm runs at another inverse temperature than 1, or with another factor of a control."""
        return SHARPENED in self.label


@dataclass(frozen=True)
class TaskSummary:
    """One comparison: its goals and what is known of its arms."""

    comparison: Comparison
    target: float
    held_out_target: float
    #: the targets with their names; for text they are losses
    goal: Goal
    second_goal: Goal
    baseline: str
    arms: list[ArmSummary]
    #: the error of its intervals
    alpha: float = ALPHA
    #: runs that a study which ends once it is decided is still to train
    num_missing: int = 0

    @property
    def num_open(self) -> int:
        """Runs that have not ended, or not begun."""
        return self.num_missing + sum(arm.num_open for arm in self.arms)

    def race(self, contrast: Contrast, times: Mapping[str, Times] | None = None) -> Speedup | None:
        """One arm against another at the level of this comparison; None unless both were run on a common seed.

        `times` by arm: to the goal of the comparison, unless others are given.
        """
        times = {arm.label: arm.times for arm in self.arms} if times is None else times
        if contrast.arm == contrast.baseline or not {*contrast} <= times.keys():
            return None
        num_open = self.num_missing + sum(arm.num_open for arm in self.arms if arm.label in contrast)
        found = paired_speedup(times[contrast.baseline], times[contrast.arm], self.alpha, num_open)
        return found if found.pairs else None

    @cached_property
    def other_times(self) -> Mapping[str, Mapping[str, Times] | str]:
        """By another target and by arm; a text instead: why they are not known."""
        return other_times(self.comparison, self.goal)

    @cached_property
    def sentence(self) -> str:
        """The answer."""
        from semfocus.analysis.sentences import sentence_on

        return sentence_on(self)

    @cached_property
    def notes(self) -> list[str]:
        """What a reader should know beside it, a sentence each."""
        from semfocus.analysis.sentences import notes_on

        return notes_on(self)

    def is_poolable(self, other: "TaskSummary") -> bool:
        """Whether what both show may be pooled: two tasks, judged alike, at one setting."""
        one, two = self.comparison, other.comparison
        return one.task != two.task and self.by_loss == other.by_loss and one.is_set_like(two)

    @property
    def by_loss(self) -> bool:
        """Whether it is language models that are compared: by perplexity, not by accuracy."""
        return self.goal.at_most


def by_setting(summaries: Sequence[TaskSummary]) -> list[list[TaskSummary]]:
    """Groups of comparisons at one setting, a task once in each; settings are never pooled.

    Being set alike is no transitive relation (see `Comparison.is_set_like`), so all members of a group are
    compared with.
    """
    groups: list[list[TaskSummary]] = []
    for summary in summaries:
        own = next((group for group in groups if all(map(summary.is_poolable, group))), None)
        if own is None:
            groups.append([summary])
        else:
            own.append(summary)
    return groups


def analyse(
    records: Iterable[Mapping[str, Any]],
    *,
    target: float = 0.95,
    held_out_target: float = 0.95,
    baseline: str = BASELINE,
    apart_from: Collection[str] = (),
    tasks: Collection[str] = (),
    level: Callable[[Comparison], IntervalLevel] = lambda _: IntervalLevel(),
) -> list[TaskSummary]:
    """A summary for each comparison; `apart_from` and `tasks` are those of `comparisons`.

    The targets are accuracies: text has others, see `goals_of`. Intervals of speedups hold at the `level` of
    their comparison.
    """
    for name, value in (("target", target), ("held_out_target", held_out_target)):
        if not 0 < value <= 1:
            raise ValueError(f"{name} must be an accuracy above 0 and at most 1, got {value}")
    return [
        _summary(comparison, target, held_out_target, baseline, level(comparison))
        for comparison in comparisons(records, apart_from=apart_from, tasks=tasks)
    ]


def _summary(
    comparison: Comparison, target: float, held_out_target: float, baseline: str, level: IntervalLevel
) -> TaskSummary:
    goal, second = goals_of(comparison, target, held_out_target, baseline)
    epochs = times_to(comparison, goal)
    seconds = times_to(comparison, goal, "seconds")
    held_out = times_to(comparison, second)
    races = [_races(comparison, times, baseline, level) for times in (epochs, seconds, held_out)]
    horizon = longest_look([record for records in comparison.arms.values() for record in records], "epochs")
    arms = [
        _arm(
            label,
            comparison,
            (epochs[label], seconds[label], held_out[label]),
            [race[label] for race in races],
            horizon,
        )
        for label in comparison.arms
    ]
    return TaskSummary(
        comparison=comparison,
        target=goal.value,
        held_out_target=second.value,
        goal=goal,
        second_goal=second,
        baseline=baseline,
        arms=arms,
        alpha=level.alpha,
        num_missing=level.num_missing,
    )


def _races(
    comparison: Comparison, times: Mapping[str, Times], baseline: str, level: IntervalLevel
) -> dict[str, Race]:
    """Every arm against the baseline, with Holm's correction over all arms that have a p."""
    if baseline not in times:
        return {label: Race() for label in times}
    open_runs = {
        label: sum(record.get("state") in NOT_ENDED for record in records)
        for label, records in comparison.arms.items()
    }
    missing = level.num_missing + open_runs[baseline]
    speedups = {
        label: paired_speedup(times[baseline], arm, level.alpha, missing + open_runs[label])
        for label, arm in times.items()
        if label != baseline
    }
    p_values = {label: speedup.p for label, speedup in speedups.items() if speedup.p is not None}
    adjusted = holm(p_values)
    return {label: Race(speedups.get(label), p_values.get(label), adjusted.get(label)) for label in times}


def _arm(
    label: str,
    comparison: Comparison,
    times: tuple[Times, Times, Times],
    races: Sequence[Race],
    horizon: float,
) -> ArmSummary:
    records = comparison.arms[label]
    curves = [record.get("curve") or {} for record in records]
    # The last epoch of a run that diverged is not the end of training.
    ended = [record for record in records if record.get("state") == "done" and record["curve"].get("epoch")]
    last = [{key: values[-1] for key, values in record["curve"].items()} for record in ended]
    epochs, seconds, held_out = times
    race, seconds_race, held_out_race = races
    perfect = sum(max(curve.get("train_accuracy", []), default=0.0) >= 1 for curve in curves)
    return ArmSummary(
        label=label,
        group=comparison.groups[label],
        seeds=[record["spec"]["seed"] for record in records],
        states=dict(sorted(Counter(record.get("state", "unknown") for record in records).items())),
        total=len(records),
        reached=sum(time.reached for time in epochs.values()),
        share_perfect=perfect / len(records),
        epochs_to_target=_median(epochs),
        mean_epochs=_mean(epochs, horizon),
        seconds_to_target=_median(seconds),
        epochs_to_held_out=_median(held_out),
        times=epochs,
        seconds=seconds,
        held_out_times=held_out,
        ended_seeds=[record["spec"]["seed"] for record in ended],
        last_held_out=[row["held_out_accuracy"] for row in last],
        gap=[row["train_accuracy"] - row["held_out_accuracy"] for row in last],
        loss_gap=[row["held_out_loss"] - row["train_loss"] for row in last],
        last_held_out_loss=[row["held_out_loss"] for row in last],
        last_train_loss=[row["train_loss"] for row in last],
        clipped=_before_target(records, epochs, "clipped_share"),
        gradient_norms=_before_target(records, epochs, "gradient_norm"),
        speedup=race.speedup,
        p=race.p,
        p_holm=race.p_holm,
        smallest_p=smallest_p(race.speedup.num_pairs) if race.speedup and race.speedup.pairs else None,
        seconds_speedup=seconds_race.speedup,
        seconds_p=seconds_race.p,
        seconds_p_holm=seconds_race.p_holm,
        held_out_speedup=held_out_race.speedup,
        held_out_p=held_out_race.p,
        held_out_p_holm=held_out_race.p_holm,
    )


def _before_target(records: Sequence[Record], times: Times, column: str) -> dict[int, float]:
    """By seed, the mean over the epochs up to the target, or over all of a run that never got there."""
    found: dict[int, float] = {}
    for record in records:
        curve, seed = record.get("curve") or {}, record["spec"]["seed"]
        pairs = zip(curve.get("epoch", ()), curve.get(column, ()), strict=False)
        # the epoch in which a run with looks between its epochs got there counts too
        last = math.ceil(times[seed].value)
        values = [value for epoch, value in pairs if value is not None and epoch <= last]
        found |= {seed: fmean(values)} if values else {}
    return found


def _median(times: Times) -> Estimate:
    return median_time([time.value for time in times.values()], [time.reached for time in times.values()])


def _mean(times: Times, horizon: float) -> Estimate:
    if horizon <= 0:  # nobody was looked at after the untrained model
        return Estimate(None, None, None)
    return restricted_mean(
        [time.value for time in times.values()], [time.reached for time in times.values()], horizon
    )
