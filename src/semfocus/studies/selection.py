"""Changing a list of specs: other tasks, patterns, seeds or settings than the recipe's own."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from semfocus.runs import RunSpec
from semfocus.studies.arm_text import read_arm
from semfocus.studies.arms import ARM_KEYS
from semfocus.studies.grid import put
from semfocus.studies.setting import flat
from semfocus.tasks import parse_task


def with_tasks(specs: Sequence[RunSpec], tasks: Sequence[str]) -> list[RunSpec]:
    """Only these tasks. One that the specs lack takes the place of their first task.

    What differs there from the paper's setting carries over; all else is the paper's setting of the new task.
    """
    first = [spec for spec in specs if spec.task == specs[0].task]
    chosen = []
    for task in (str(parse_task(task)) for task in tasks):
        chosen += [spec for spec in specs if spec.task == task] or [_moved(spec, task) for spec in first]
    return without_repeats(chosen)


def with_patterns(specs: Sequence[RunSpec], arms: Sequence[str]) -> list[RunSpec]:
    """Only these arms: `full` at every inverse temperature and control that the specs give it, `full x4` at this one.

    An arm that the specs lack is added wherever they compare patterns.
    """
    chosen = without_repeats(spec for arm in arms for spec in _of_arm(specs, *read_arm(arm)))
    order = {_setting(spec): place for place, spec in reversed(list(enumerate(specs)))}
    return sorted(chosen, key=lambda spec: order[_setting(spec)])  # stable: arms of a seed stay together


def _of_arm(specs: Sequence[RunSpec], pattern: str, settings: Mapping[str, float]) -> list[RunSpec]:
    change: dict[str, Any] = {"pattern": pattern, **settings}
    own = [spec for spec in specs if all(_value(spec, key) == value for key, value in change.items())]
    return own or [changed(spec, change) for spec in _compared(specs)]


def _compared(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """Those that have a rival with another pattern and all else equal; all, if none has."""
    patterns: dict[str, set[str]] = {}
    for spec in specs:
        patterns.setdefault(_setting(spec, without=("pattern",)), set()).add(spec.pattern)
    rivals = [spec for spec in specs if len(patterns[_setting(spec, without=("pattern",))]) > 1]
    return rivals or list(specs)


def with_seeds(specs: Sequence[RunSpec], seeds: Sequence[int]) -> list[RunSpec]:
    """Every arm and setting on these seeds instead, all arms of a seed next to each other."""
    once = without_repeats(changed(spec, {"seed": seeds[0]}) for spec in specs)
    groups = [list(group) for _, group in groupby(once, key=_setting)]
    return [changed(spec, {"seed": seed}) for group in groups for seed in seeds for spec in group]


def with_settings(specs: Sequence[RunSpec], settings: Mapping[str, Any]) -> list[RunSpec]:
    """Every spec with these fields, `model.num_blocks` and the like; specs that become equal count once."""
    return without_repeats(changed(spec, settings) for spec in specs)


def changed(spec: RunSpec, settings: Mapping[str, Any]) -> RunSpec:
    """The spec with some fields replaced; unknown ones are errors that name the nearest."""
    values = spec.model_dump()
    for key, value in settings.items():
        put(values, key.split("."), value)
    return RunSpec(**values)


def without_repeats(specs: Iterable[RunSpec]) -> list[RunSpec]:
    """Each run once, in the order of first appearance."""
    return list({spec.canonical(): spec for spec in specs}.values())


def _moved(spec: RunSpec, task: str) -> RunSpec:
    usual = flat(RunSpec.model_validate({"task": spec.task}).model_dump())
    own = {key: value for key, value in flat(spec.model_dump()).items() if value != usual.get(key)}
    values: dict[str, Any] = {"task": task}
    for key, value in own.items():
        put(values, key.split("."), value)
    return RunSpec(**values)


def _value(spec: RunSpec, key: str) -> Any:
    return flat(spec.model_dump()).get(key)  # a LATER field at its default is not there


def _setting(spec: RunSpec, without: Sequence[str] = ARM_KEYS) -> str:
    """Everything but the arm, to group by."""
    values = {key: value for key, value in flat(spec.model_dump()).items() if key not in without}
    return json.dumps(values, sort_keys=True)
