"""Did attention move to the tokens that decide before learning did, and in which layer?"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from semfocus.analysis.why.focus_layers import HOW_IDLE, epochs_of, is_idle, layer_value, layers_of, name_of
from semfocus.analysis.why.measured_runs import MeasuredRun, MeasuredTask
from semfocus.analysis.why.mediators import (
    LayerShift,
    Mediation,
    MediatorTime,
    Shift,
    TaskShift,
    focus_of_arms,
)
from semfocus.analysis.wording import bounded, interval
from semfocus.report.curves import with_quartiles
from semfocus.report.figures import FIGURES
from semfocus.report.figures.lines import Line
from semfocus.report.palette import Ink
from semfocus.report.why.block import MISSING, Table, WhyBlock, arms_in, shown
from semfocus.words import count_of, listed, p_value, shortened

#: tasks, and layers of each, whose focus is drawn along training
_MOST_TASKS, _MOST_LAYERS = 4, 2
#: of an axis
_FEWEST_EPOCHS = 100
_TIMES: Mapping[MediatorTime, str] = {"start": "untrained", "early": "before the target"}
_SIDES = {"more": "more", "less": "less", "unclear": "no clear difference"}


def block(
    tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink], found: Sequence[Mediation]
) -> WhyBlock | None:
    """None where nothing was measured layer by layer in two arms."""
    if not found:
        return None
    arms, drawn = focus_of_arms(tasks), list(_lines(tasks, found))
    figures = [FIGURES["focus-and-speedup"].of(arms, inks=inks)] if arms else []
    figures += [FIGURES["along"].of(drawn, inks=inks)] if drawn else []
    there = {each.arm for each in arms} | {line.arm for line in drawn}
    return WhyBlock(
        "focus",
        "Did attention move before learning did, and in which layer?",
        "Focus mass: the share of attention on the tokens that decide the label, mean over held-out queries and heads; effective keys: over how many keys attention is spread. "
        "An arm is held against its baseline on the same seeds: in untrained models (epoch 0), and at the last measured epoch at which no run of either had reached the target, so that nothing here follows from having learned. "
        "First in the layer of each run that carries focus after training, a dot per arm and task: to the right it has more focus than the baseline, upwards it learns faster. "
        "Then layer by layer along training: an upright line is the median epoch at which an arm reached its target, the dotted line chance; a run that stopped there keeps its last value in the median. "
        f"Limits invert the sign-flip test over pairs of seeds, tasks counting the same; fewer than six pairs have none. {HOW_IDLE}",
        figures,
        [*_counted(arms), *_sentences(found)],
        "What moves before learning need not be its cause: an arm may change both. At epoch 0 it is what the arm does to untrained scores. "
        "Where a run reached its target before the second look, there is no number in between, and an epoch that comes before every target may be early for the slower arm.",
        [
            *_summary(arms),
            Table(
                "Focus mass and effective keys before the target, by contrast and layer",
                [
                    *("contrast", "speedup", "layer", "tasks, pairs", "epoch"),
                    *("focus mass", "difference", "p", "effective keys", "difference", "p"),
                ],
                [_row(each, layer) for each in found for layer in each.layers],
                is_open=not arms,
            ),
            Table(
                "The same task by task",
                [
                    *("task", "contrast", "layer", "epoch", "pairs", "chance"),
                    *("focus mass", "difference", "effective keys", "difference"),
                ],
                [row for each in found for layer in each.layers for row in _task_rows(each, layer)],
            ),
        ],
        [(label, ink) for label, ink in arms_in(tasks, inks) if label in there],
    )


# --- the layer that carries focus, by arm


def _summary(arms: Sequence[Mediation]) -> list[Table]:
    """A row for each arm, the fastest first; nothing where no task says which tokens decide."""
    columns = [
        *("attention", "speedup", "untrained: pairs", "focus mass", "difference"),
        *("before the target: pairs", "epoch", "focus mass", "difference"),
    ]
    ordered = sorted(arms, key=lambda each: -(each.speedup.ratio if each.speedup else 0.0))
    rows = []
    for each in ordered:
        (pairs, _, *untrained), early = _brief(each.focus("start")), _brief(each.focus("early"))
        rows.append([shortened(each.arm), _speedup(each), pairs, *untrained, *early])
    caption = "Focus mass in the layer that carries it, baseline → arm, over tasks"
    return [Table(caption, columns, rows, is_open=True)] if rows else []


def _brief(shift: Shift | None) -> list[str]:
    """Pairs and tasks, epochs, the two means, their difference."""
    if shift is None:
        return [MISSING] * 4
    where = f"{shift.num_pairs} on {count_of(len(shift.tasks), 'task')}"
    return [where, _epochs(shift), *_cells(shift)[:2]]


def _counted(arms: Sequence[Mediation]) -> list[str]:
    """Whether the arms with more focus were the faster ones, task by task; no test: an arm is there several times."""
    said = []
    for when, words in _TIMES.items():
        known = [
            (ratio > 1, (race.ratio or 0.0) > 1) for each in arms for _, ratio, race in each.points(when)
        ]
        more, less = ([faster for has_more, faster in known if has_more == side] for side in (True, False))
        parts = [
            f"of {count_of(len(own), 'dot')} with {side} focus than the baseline {sum(own)} learned faster"
            for side, own in (("more", more), ("no more", less))
            if own
        ]
        said += [f"In the layer that carries focus, {words}: {'; '.join(parts)}."] if parts else []
    return said


# --- every layer, by contrast


def _name(each: Mediation) -> str:
    return f"{shortened(each.arm)} vs {shortened(each.baseline)}"


def _speedup(each: Mediation) -> str:
    return MISSING if each.speedup is None else f"{bounded(each.speedup)} {interval(each.speedup)}".strip()


def _row(each: Mediation, layer: LayerShift) -> list[str]:
    known = layer.focus or layer.keys
    start = [_name(each), _speedup(each), str(layer.layer + 1)]
    if known is None:
        return [*start, "idle" if layer.idle else MISSING, *[MISSING] * 7]
    where = f"{len(known.tasks)}, {known.num_pairs}"
    return [*start, where, _epochs(known), *_cells(layer.focus), *_cells(layer.keys)]


def _epochs(shift: Shift) -> str:
    epochs = sorted({task.epoch for task in shift.tasks})
    return str(epochs[0]) if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"


def _cells(shift: Shift | None) -> list[str]:
    if shift is None:
        return [MISSING] * 3
    values = f"{shown(shift.base, '.3g')} → {shown(shift.arm, '.3g')}"
    return [values, _difference(shift), p_value(shift.p)]


def _difference(shift: Shift) -> str:
    limits = (
        "" if shift.low is None or shift.high is None else f" [{_signed(shift.low)}, {_signed(shift.high)}]"
    )
    return f"{_signed(shift.difference)}{limits}"


def _signed(value: float) -> str:
    """+0.05; what would not be seen in the values beside it is 0."""
    return "0" if abs(value) < 5e-4 else f"{value:+.2g}"


def _task_rows(each: Mediation, layer: LayerShift) -> Iterable[list[str]]:
    focus = {task.task: task for task in (layer.focus.tasks if layer.focus else ())}
    keys = {task.task: task for task in (layer.keys.tasks if layer.keys else ())}
    for name in dict.fromkeys([*focus, *keys]):
        known = focus.get(name) or keys[name]
        chance = known.chance if name in focus else None
        place = [
            name,
            _name(each),
            str(layer.layer + 1),
            str(known.epoch),
            str(len(known.arm)),
            shown(chance),
        ]
        yield [*place, *_task_cells(focus.get(name)), *_task_cells(keys.get(name))]
    for name in layer.idle if layer.when == "start" else ():
        yield [name, _name(each), str(layer.layer + 1), "idle", *[MISSING] * 6]


def _task_cells(task: TaskShift | None) -> list[str]:
    if task is None:
        return [MISSING] * 2
    base, arm = (sum(side.values()) / len(side) for side in (task.base, task.arm))
    return [f"{base:.3g} → {arm:.3g}", _signed(arm - base)]


def _sentences(found: Sequence[Mediation]) -> list[str]:
    """For each contrast the layer that moved most, then how often the faster arm had more focus."""
    said = [line for each in found if (line := _sentence(each))]
    sides = [
        (each.speedup.ratio > 1) == (shift.side == "more")
        for each in found
        if each.speedup is not None and each.speedup.p <= each.speedup.alpha and each.main is not None
        for layer, shift in [each.main]
        if shift is layer.focus and shift.side != "unclear"
    ]
    if sides:
        said.append(
            f"Of {count_of(len(sides), 'contrast')} in which both speed and focus differ clearly, the faster arm had more focus in {sum(sides)}."
        )
    idle = sorted({(layer.layer, task) for each in found for layer in each.layers for task in layer.idle})
    by_layer = {layer: [task for one, task in idle if one == layer] for layer, _ in idle}
    said += [f"Idle, and left out: {name_of(layer)} on {listed(own)}." for layer, own in by_layer.items()]
    return said


def _sentence(each: Mediation) -> str:
    if each.main is None:
        return ""
    main, shift = each.main
    what = "focus mass" if shift is main.focus else "effective keys"
    speed = "" if each.speedup is None else f" ({_speedup(each)})"
    epochs = sorted({task.epoch for task in shift.tasks})
    when = f"at epoch {epochs[0]}" if len(epochs) == 1 else f"at epochs {epochs[0]} to {epochs[-1]}"
    when = "of untrained models" if main.when == "start" else when
    where = f"{count_of(shift.num_pairs, 'pair')} on {count_of(len(shift.tasks), 'task')}"
    return (
        f"{_name(each)}{speed}: {what} in {name_of(main.layer)} {when} {shown(shift.arm)} against {shown(shift.base)}, "
        f"{_difference(shift)}, {where}: {_SIDES[shift.side]}."
    )


def _lines(tasks: Sequence[MeasuredTask], found: Sequence[Mediation]) -> Iterable[Line]:
    """Focus mass along training in the layers that carry it, of the arms of these contrasts."""
    arms = list(dict.fromkeys(label for each in found for label in (each.baseline, each.arm)))
    names = {
        task.task for each in found for layer in each.layers if layer.focus for task in layer.focus.tasks
    }
    own = [task for task in tasks if task.task in names]
    own.sort(key=lambda task: -sum(len(epochs_of(run, "focus_mass")) > 2 for run in task.runs))
    for task in own[:_MOST_TASKS]:
        shown_arms = [label for label in arms if _along(task, label)]
        last = _last_shown(task, shown_arms)
        for layer in _busiest(task):
            for label in shown_arms:
                yield _line(task, label, layer, last, with_chance=label == shown_arms[0])


def _busiest(task: MeasuredTask) -> list[int]:
    """The layers that are not idle, those with the most focus at the end first; shown in their order."""
    layers = sorted({layer for run in task.runs for layer in layers_of(run, "focus_mass")})
    ends: dict[int, float] = {}
    for layer in layers:
        values = [layer_value(run, "focus_mass", run.last_epoch, layer) for run in task.runs]
        known = [value for value in values if value is not None]
        if known and not is_idle(task.runs, layer):
            ends[layer] = sum(known) / len(known)
    return sorted(sorted(ends, key=lambda layer: -ends[layer])[:_MOST_LAYERS])


def _along(task: MeasuredTask, label: str) -> dict[int, MeasuredRun]:
    """Runs that were measured between their beginning and their end."""
    return {seed: run for seed, run in task.of(label).items() if len(epochs_of(run, "focus_mass")) > 2}


def _middle(task: MeasuredTask, label: str) -> float:
    """The median epoch at the target, infinite where half of the runs never got there."""
    return median(run.time.value if run.time.reached else math.inf for run in task.of(label).values())


def _last_shown(task: MeasuredTask, labels: Sequence[str]) -> float:
    """Twice as long as the slowest arm took: what follows is no longer about learning."""
    found = [time for label in labels if (time := _middle(task, label)) < math.inf]
    return max(2 * max(found), _FEWEST_EPOCHS) if len(found) == len(labels) and found else math.inf


def _line(task: MeasuredTask, label: str, layer: int, last: float, *, with_chance: bool) -> Line:
    seeds, middle = _along(task, label), _middle(task, label)
    known = {epoch for run in seeds.values() for epoch in epochs_of(run, "focus_mass")}
    epochs = sorted(epoch for epoch in known if epoch <= last)
    common = {epoch for epoch in epochs if all(_has(run, epoch) for run in seeds.values())}

    def along(seed: int, at: str) -> list[float | None]:
        return [layer_value(seeds[seed], "focus_mass", epoch, layer, at) for epoch in epochs]

    def kept(seed: int) -> list[float | None]:
        run = seeds[seed]
        places = [min(epoch, run.last_epoch) if _stopped(run) else epoch for epoch in epochs]
        found = [layer_value(run, "focus_mass", place, layer) for place in places]
        return [each if epoch in common else None for epoch, each in zip(epochs, found, strict=True)]

    quartiles = with_quartiles([(seed, kept(seed)) for seed in seeds])
    return Line(
        label,
        replace(quartiles, seeds=[(seed, along(seed, "mean")) for seed in seeds]),
        epochs,
        {"task": task.task, "panel": f"focus mass, {name_of(layer)}", "is_share": True},
        along(next(iter(seeds)), "null") if with_chance else None,
        None if middle == math.inf else middle,
        is_sparse=True,
    )


def _stopped(run: MeasuredRun) -> bool:
    """Whether it ended at its target."""
    return run.is_done and (run.spec.get("training") or {}).get("stop_at") is not None


def _has(run: MeasuredRun, epoch: int) -> bool:
    """Whether it was measured then, or had ended: the last epochs of single runs are no places for a median."""
    return epoch > run.last_epoch or epoch in epochs_of(run, "focus_mass")
