"""Speedups over the values of one setting, where a task was compared at several of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semfocus.report.forest_figure import Heading, Row
from semfocus.report.palette import Ink
from semfocus.report.wording import value_text

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary


@dataclass(frozen=True)
class Sweep:
    """Comparisons of one task that differ in one key alone, by its value."""

    task: str
    key: str
    fixed: dict[str, Any]
    steps: list[tuple[Any, "TaskSummary"]]


def sweeps(summaries: Sequence["TaskSummary"]) -> list[Sweep]:
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


def _sweeps_of(task: str, key: str, own: Sequence["TaskSummary"]) -> list[Sweep]:
    families: dict[str, list[tuple[Any, TaskSummary]]] = {}
    for summary in own:
        fixed = {name: value for name, value in summary.comparison.setting.items() if name != key}
        families.setdefault(json.dumps(fixed, sort_keys=True), []).append((_value(summary, key), summary))
    return [
        Sweep(task, key, json.loads(fixed), sorted(steps, key=lambda step: _order(step[0])))
        for fixed, steps in families.items()
        if len(steps) > 1
    ]


def _value(summary: "TaskSummary", key: str) -> Any:
    from semfocus.studies.setting import flat

    if key in summary.comparison.setting:
        return summary.comparison.setting[key]
    first = next(record for records in summary.comparison.arms.values() for record in records)
    return flat(first["spec"]).get(key)


def _order(value: Any) -> tuple[int, float, str]:
    """Numbers by size, then texts."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if numeric else (1, 0.0, str(value))


def sweep_lines(sweep: Sweep, inks: Mapping[str, Ink]) -> list[Heading | Row]:
    """An arm, and under it a row for each value."""
    labels = {
        arm.label: None for _, summary in sweep.steps for arm in summary.arms if arm.group != "baseline"
    }
    lines: list[Heading | Row] = []
    for label in labels:
        lines.append(Heading(label, inks[label].css_class))
        for value, summary in sweep.steps:
            for arm in summary.arms:
                if arm.label == label:
                    name = f"{sweep.key.split('.', 1)[-1]} {value_text(value)}"
                    lines.append(Row(name, inks[label].css_class, arm.speedup))
    return lines
