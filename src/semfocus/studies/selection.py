"""Choosing the runs of a study: arms as people write them, tasks, seeds, settings."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from semfocus.mechanisms import parse_pattern
from semfocus.runs import RunSpec
from semfocus.runs.arms import ARM_KEYS, arm_of, flat
from semfocus.studies.grid import put
from semfocus.tasks import parse_task

_NUMBER = r"\s*(?P<{}>\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_TIMES = "[x\u00d7]"  # the second is the multiplication sign of the tables
_PATTERN = r"\s+(?P<{}>\w+(?:\s*\([^()]*\))?(?:\+G\d+)?)"
_ARM = re.compile(
    r"(?P<pattern>.+?)"
    rf"(?:\s+{_TIMES}{_NUMBER.format('sharper')})?"
    rf"(?:\s+entropy\s+of{_PATTERN.format('entropy')})?"
    rf"(?:\s+dispersion\s+of{_PATTERN.format('dispersion')})?"
    r"(?P<keeps>\s+gradient\s*[/\u00f7]\s*f)?"
    r"(?:\s+(?P<selection>oracle|initial)\s+keys)?"
    rf"(?:\s+noisy{_NUMBER.format('noise')})?"
    rf"(?:\s+gradient\s*(?:{_TIMES}{_NUMBER.format('gradient')}|[/\u00f7]{_NUMBER.format('divided')}))?"
    rf"(?:\s+clipped\s+at{_NUMBER.format('clip')})?"
    rf"(?:\s+q/k\s+start\s*{_TIMES}{_NUMBER.format('start')})?"
    rf"(?:\s+q/k\s+rate\s*{_TIMES}{_NUMBER.format('rate')})?"
    r"(?:\s+first\s+(?P<first>\d+)\s+steps?)?"
    r"(?:\s+after\s+(?P<after>\d+)\s+steps?)?"
    r"\s*"
)
_KEYS = {
    "sharper": "model.inverse_temperature",
    "noise": "model.selection_noise",
    "gradient": "model.score_gradient",
    "divided": "model.score_gradient",
    "clip": "model.score_clip",
    "start": "model.initial_scale.query_key",
    "rate": "training.learning_rate_scale.query_key",
}
_STEPS = {"first": "training.plain_after", "after": "training.plain_before"}
_SELECTIONS = {"oracle": "relevant", "initial": "initial"}
_NAMED = {"entropy": "model.match_entropy", "dispersion": "model.match_dispersion"}


def read_arm(text: str) -> tuple[str, dict[str, Any]]:
    """The pattern, and by flat key what the text says beside it; it says nothing of what it leaves out.

    >>> read_arm("full x10 gradient /10"), read_arm("banded(5)+G1")
    (('full', {'model.inverse_temperature': 10.0, 'model.score_gradient': 0.1}), ('banded(5)+G1', {}))
    """
    matched = _ARM.fullmatch(text)
    if matched is None:
        return str(parse_pattern(text)), {}  # which says what is wrong with it
    named: dict[str, Any] = {
        key: str(parse_pattern(matched[name])) for name, key in _NAMED.items() if matched[name]
    }
    named |= {key: int(matched[name]) for name, key in _STEPS.items() if matched[name]}
    if matched["keeps"]:
        named["model.match_keeps_gradient"] = True
    if matched["selection"]:
        named["model.selection"] = _SELECTIONS[matched["selection"]]
    said = {name: float(matched[name]) for name in _KEYS if matched[name] is not None}
    if said.get("divided") == 0:
        raise ValueError(f"a gradient cannot be divided by 0: {text!r}")
    settings = {_KEYS[name]: 1 / value if name == "divided" else value for name, value in said.items()}
    return str(parse_pattern(matched["pattern"])), {**settings, **named}


def read_contrasts(pairs: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs of arms as people write them, as labels: ("full x4", "top_k(5)") is ("full ×4", "top_k(5)")."""
    found: list[tuple[str, str]] = []
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(each, str) for each in pair):
            raise ValueError(f"a contrast is a pair of arms, ('top_k(5)', 'full'), got {pair!r}")
        arm, baseline = map(_label, pair)
        if arm == baseline:
            raise ValueError(f"a contrast is between two arms, got {arm!r} twice")
        if (arm, baseline) in found:
            raise ValueError(f"the contrast {arm} vs {baseline} is named twice")
        found.append((arm, baseline))
    return found


def _label(text: str) -> str:
    pattern, settings = read_arm(text)
    spec: dict[str, Any] = {"pattern": pattern}
    for key, value in settings.items():
        put(spec, key.split("."), value)
    return arm_of(spec).label


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


def _of_arm(specs: Sequence[RunSpec], pattern: str, settings: Mapping[str, Any]) -> list[RunSpec]:
    change: dict[str, Any] = {"pattern": pattern, **settings}
    own = [spec for spec in specs if _has(spec, change)]
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
    return list({spec.digest: spec for spec in specs}.values())


def _moved(spec: RunSpec, task: str) -> RunSpec:
    usual = flat(RunSpec.model_validate({"task": spec.task}).model_dump())
    own = {key: value for key, value in flat(spec.model_dump()).items() if value != usual.get(key)}
    values: dict[str, Any] = {"task": task}
    for key, value in own.items():
        put(values, key.split("."), value)
    return RunSpec(**values)


def _has(spec: RunSpec, settings: Mapping[str, Any]) -> bool:
    fields = flat(spec.model_dump())
    return all(fields.get(key) == value for key, value in settings.items())  # a LATER default is not there


def _setting(spec: RunSpec, without: Sequence[str] = ARM_KEYS) -> str:
    """Everything but the arm, to group by."""
    values = {key: value for key, value in flat(spec.model_dump()).items() if key not in without}
    return json.dumps(values, sort_keys=True)
