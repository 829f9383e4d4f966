"""Did attention move before learning did?

Focus mass and effective keys by layer, an arm against its baseline, at an early epoch.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.statistics.pooling import PooledSpeedup, pooled_speedup
from semfocus.analysis.statistics.significance import ALPHA, sign_flip_interval, sign_flip_p
from semfocus.analysis.statistics.speedup import Speedup
from semfocus.analysis.summaries import by_setting
from semfocus.analysis.why.focus_layers import carrying_layer, epochs_of, is_idle, layer_value, layers_of
from semfocus.analysis.why.measured_runs import MeasuredRun, MeasuredTask

MediatorName = Literal["focus_mass", "effective_keys"]
#: untrained; the last measured epoch after that at which no run of the two arms had reached its target
MediatorTime = Literal["start", "early"]
QUANTITIES: tuple[MediatorName, ...] = ("focus_mass", "effective_keys")
#: in the place of a layer: in each run the one that carries focus after training
CARRYING = -1
#: by seed, a run of the baseline and one of the arm
Pairs = dict[int, tuple[MeasuredRun, MeasuredRun]]


@dataclass(frozen=True)
class TaskShift:
    """One quantity of one layer on one task at one epoch, the same for all of these runs."""

    task: str
    epoch: int
    #: by seed
    base: Mapping[int, float]
    arm: Mapping[int, float]
    #: what attention that knows nothing would have, where that is known
    chance: float | None = None

    @property
    def differences(self) -> list[float]:
        return [self.arm[seed] - self.base[seed] for seed in self.arm]

    @property
    def ratio(self) -> float | None:
        """Of the means over seeds, arm by baseline."""
        base = fmean(self.base.values())
        return fmean(self.arm.values()) / base if base else None


@dataclass(frozen=True)
class Shift:
    """The same over tasks, each of which counts the same; limits by the sign-flip test, None with fewer than
    six pairs.
    """

    tasks: list[TaskShift]
    base: float
    arm: float
    difference: float
    low: float | None
    high: float | None
    p: float

    @property
    def num_pairs(self) -> int:
        return sum(len(each.arm) for each in self.tasks)

    @property
    def side(self) -> Literal["more", "less", "unclear"]:
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return "unclear"
        return "more" if self.low > 0 else "less"


@dataclass(frozen=True)
class LayerShift:
    """One layer, untrained or before the target; None where a quantity was not measured, or the layer is idle
    on every task.
    """

    layer: int
    when: MediatorTime
    focus: Shift | None
    keys: Shift | None
    #: tasks on which the layer does nothing in either arm: they are left out
    idle: list[str]


@dataclass(frozen=True)
class Mediation:
    """One contrast: how much faster the arm was on the tasks that were measured, and what had moved before."""

    arm: str
    baseline: str
    speedup: PooledSpeedup | None
    layers: list[LayerShift]

    def focus(self, when: MediatorTime) -> Shift | None:
        """In the first of these layers."""
        return next((each.focus for each in self.layers if each.when == when), None)

    def points(self, when: MediatorTime) -> list[tuple[str, float, Speedup]]:
        """By task: focus mass in the first of these layers by that of the baseline, and the speedup."""
        shift, races = self.focus(when), {} if self.speedup is None else self.speedup.tasks
        tasks = [] if shift is None else shift.tasks
        return [
            (each.task, each.ratio, races[each.task]) for each in tasks if each.ratio and each.task in races
        ]

    @property
    def main(self) -> tuple[LayerShift, Shift] | None:
        """The layer whose focus had moved most before the target, else in untrained models; where no tokens
        are known to decide, whose keys had.

        Numbers with limits come before those of few pairs.
        """
        found = [
            (each, shift)
            for quantity in ("focus", "keys")
            for when in ("early", "start")
            for each in self.layers
            if each.when == when and (shift := getattr(each, quantity)) is not None
        ]
        known = [each for each in found if each[1].low is not None] or found
        first = [each for each in known if _kind(*each) == _kind(*known[0])]
        return max(first, key=lambda each: abs(each[1].difference), default=None)


def _kind(layer: LayerShift, shift: Shift) -> tuple[MediatorTime, bool]:
    return layer.when, shift is layer.focus


def mediations(tasks: Sequence[MeasuredTask], contrasts: Sequence[tuple[str, str]] = ()) -> list[Mediation]:
    """For every contrast (without any, every arm against the baseline) whose arms were measured layer by
    layer on common seeds.

    Over tasks at one setting, that of the most such runs: settings are never pooled.
    """
    own = _at_one_setting(tasks)
    labels = dict.fromkeys(run.label for task in own for run in task.runs if run.by_layer)
    wanted = contrasts or [(label, own[0].summary.baseline) for label in labels]
    found = [_mediation(own, Contrast(*pair)) for pair in wanted if pair[0] != pair[1]]
    return [each for each in found if any(layer.focus or layer.keys for layer in each.layers)]


def focus_of_arms(tasks: Sequence[MeasuredTask]) -> list[Mediation]:
    """Every arm against the baseline in the layers that carry focus, one in each run: which one is known from its
    end, not from what is compared.
    """
    own = _at_one_setting(tasks)
    labels = dict.fromkeys(run.label for task in own for run in task.runs if run.by_layer)
    pairs = [(label, own[0].summary.baseline) for label in labels]
    found = [_mediation(own, Contrast(*pair), [CARRYING]) for pair in pairs if pair[0] != pair[1]]
    return [each for each in found if any(layer.focus for layer in each.layers)]


def _at_one_setting(tasks: Sequence[MeasuredTask]) -> list[MeasuredTask]:
    measured = [task for task in tasks if any(run.by_layer for run in task.runs)]
    groups = [
        [task for task in measured if any(task.summary is each for each in group)]
        for group in by_setting([task.summary for task in measured])
    ]
    return max(groups, key=lambda group: sum(len(task.runs) for task in group), default=[])


def _mediation(tasks: Sequence[MeasuredTask], contrast: Contrast, layers: Sequence[int] = ()) -> Mediation:
    """In these layers, or else in all of them."""
    there = {task.task: (task, pairs) for task in tasks if (pairs := _pairs(task, *contrast))}
    layers = layers or sorted(
        {
            layer
            for _, pairs in there.values()
            for pair in pairs.values()
            for run in pair
            for layer in layers_of(run, "effective_keys")
        }
    )
    alpha = min((task.summary.alpha for task in tasks), default=ALPHA)
    races = {name: race for name, (task, _) in there.items() if (race := _race(task, contrast)) is not None}
    return Mediation(
        *contrast,
        pooled_speedup(races) if races else None,
        [
            found
            for layer in layers
            for when in ("start", "early")
            if (found := _layer(list(there.values()), layer, when, alpha)) is not None
        ],
    )


def _race(task: MeasuredTask, contrast: Contrast) -> Speedup | None:
    """None where neither arm ever arrived."""
    arms = [arm for arm in task.summary.arms if arm.label in contrast]
    has_arrived = any(time.reached for arm in arms for time in arm.times.values())
    return task.summary.race(contrast) if has_arrived else None


def _pairs(task: MeasuredTask, arm: str, base: str) -> Pairs:
    """By seed, runs of both that were measured layer by layer."""
    ours, theirs = task.of(arm), task.of(base)
    both = {seed: (theirs[seed], ours[seed]) for seed in sorted(ours.keys() & theirs.keys())}
    return _measured(both, "effective_keys")


def _measured(pairs: Pairs, quantity: MediatorName) -> Pairs:
    return {seed: pair for seed, pair in pairs.items() if all(epochs_of(run, quantity) for run in pair)}


def _layer(
    there: Sequence[tuple[MeasuredTask, Pairs]], layer: int, when: MediatorTime, alpha: float
) -> LayerShift | None:
    """None where no task has a measured epoch before the target; a layer that is idle everywhere says so once."""
    idle = [
        task.task
        for task, pairs in there
        if layer != CARRYING and is_idle([run for pair in pairs.values() for run in pair], layer)
    ]
    used = [(task, pairs) for task, pairs in there if task.task not in idle]
    focus, keys = (
        _over_tasks(
            [shift for each in used if (shift := _task_shift(*each, quantity, layer, when)) is not None],
            alpha,
        )
        for quantity in QUANTITIES
    )
    return None if when == "early" and not (focus or keys) else LayerShift(layer, when, focus, keys, idle)


def early_epoch(pairs: Pairs, quantity: MediatorName) -> int | None:
    """The last epoch after 0 at which all these runs were measured and none had reached its target; None
    where there is none.
    """
    runs = [run for pair in pairs.values() for run in pair]
    first = min((run.time.value for run in runs if run.time.reached), default=math.inf)
    common = set.intersection(*(epochs_of(run, quantity) for run in runs))
    return max((epoch for epoch in common if 0 < epoch < first), default=None)


def _task_shift(
    task: MeasuredTask, pairs: Pairs, quantity: MediatorName, layer: int, when: MediatorTime
) -> TaskShift | None:
    pairs = _measured(pairs, quantity)
    epoch = 0 if when == "start" else early_epoch(pairs, quantity) if pairs else None
    if epoch is None:
        return None
    base, arm = (
        {seed: _value(pair[side], quantity, epoch, layer) for seed, pair in pairs.items()} for side in (0, 1)
    )
    known = [seed for seed in pairs if base[seed] is not None and arm[seed] is not None]
    if not known:
        return None
    chance = _value(pairs[known[0]][0], quantity, epoch, layer, "null") if quantity == "focus_mass" else None
    return TaskShift(
        task.task,
        epoch,
        {seed: base[seed] for seed in known},  # type: ignore[misc]
        {seed: arm[seed] for seed in known},  # type: ignore[misc]
        chance,
    )


def _value(
    run: MeasuredRun, quantity: MediatorName, epoch: int, layer: int, at: str = "mean"
) -> float | None:
    own = carrying_layer(run) if layer == CARRYING else layer
    return None if own is None else layer_value(run, quantity, epoch, own, at)


def _over_tasks(shifts: Sequence[TaskShift], alpha: float) -> Shift | None:
    if not shifts:
        return None
    values = [value for each in shifts for value in each.differences]
    weights = [1 / len(each.arm) for each in shifts for _ in each.arm]
    low, high = sign_flip_interval(values, alpha, weights)
    return Shift(
        list(shifts),
        fmean(fmean(each.base.values()) for each in shifts),
        fmean(fmean(each.arm.values()) for each in shifts),
        fmean(values, weights),
        low,
        high,
        sign_flip_p(values, weights),
    )
