"""Speedups over full attention: a row for each arm and task, or for each value of one setting."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from semfocus.analysis.overview import SettingSweep, arm_groups, learned, primary
from semfocus.analysis.statistics.pooling import pooled_speedup
from semfocus.analysis.summaries import by_setting
from semfocus.analysis.wording import short, times, value_text
from semfocus.report.figures.figure import Figure, Panel
from semfocus.report.figures.forest import bounded_seed, forest_frame, forest_panel
from semfocus.report.palette import Ink
from semfocus.runs.arms import GROUPS

if TYPE_CHECKING:
    from semfocus.analysis.statistics.speedup import Speedup
    from semfocus.analysis.summaries import TaskSummary

_SIDES = ("slower", "faster than full")


def speedup_frame(summaries: Sequence["TaskSummary"]) -> pl.DataFrame:
    """Groups, in them arms, in them tasks, each with its estimate and after it its seeds.

    Of each task its main comparison; without the tasks that no run learned, unless that is all of them.
    """
    every = primary(summaries)
    main, several = learned(every) or every, len(every) > 1
    groups = arm_groups(main)
    rows: list[dict[str, Any]] = []
    for group in GROUPS:
        for label in [each for each, kind in groups.items() if kind == group and group != "baseline"]:
            for summary in main:
                for arm in summary.arms:
                    if arm.label == label and arm.speedup and arm.speedup.pairs:
                        name = summary.comparison.title if several else label
                        rows += _rows(
                            arm.speedup,
                            arm=label,
                            group=group,
                            label=name,
                            heading=label if several else None,
                        )
            rows += _together(main, label, group)
    return forest_frame(rows)


def _together(summaries: Sequence["TaskSummary"], label: str, group: str) -> Iterable[dict[str, Any]]:
    """A row for all tasks at one setting on which the arm or full attention learned, where there are several."""
    for own in by_setting(summaries):
        speedups = {
            summary.comparison.title: arm.speedup
            for summary in own
            for arm in summary.arms
            if arm.label == label and arm.speedup and arm.speedup.is_informative
        }
        if len(speedups) > 1:
            found = pooled_speedup(speedups)
            yield {
                "arm": label,
                "group": group,
                "label": f"these {len(speedups)} tasks together",
                "heading": label,
                "ratio": found.ratio,
                "low": found.low,
                "high": found.high,
                "bound": found.bound if found.bound in ("at least", "at most") else None,
                "words": short(found),
            }


def robustness_frame(sweep: SettingSweep) -> pl.DataFrame:
    """An arm, and under it a row for each value of the setting."""
    arms = {
        arm.label: arm.group for _, summary in sweep.steps for arm in summary.arms if arm.group != "baseline"
    }
    rows: list[dict[str, Any]] = []
    for label, group in arms.items():
        for value, summary in sweep.steps:
            for arm in summary.arms:
                if arm.label == label and arm.speedup:
                    name = f"{sweep.key.split('.', 1)[-1]} {value_text(value)}"
                    rows += _rows(arm.speedup, arm=label, group=group, label=name, heading=label)
    return forest_frame(rows)


def _rows(speedup: "Speedup", **common: Any) -> Iterable[dict[str, Any]]:
    bound = "at least" if speedup.at_least else "at most" if speedup.at_most else None
    yield {
        **common,
        "ratio": speedup.ratio,
        "low": speedup.low,
        "high": speedup.high,
        "bound": bound,
        "words": short(speedup),
    }
    for pair in speedup.pairs:
        value, kind = bounded_seed(pair.ratio_low, pair.ratio_high)
        if value is not None:
            words = f"{kind or ''} {times(value)}".strip()
            if kind == "between":
                words = f"between {times(pair.ratio_low)} and {times(pair.ratio_high)}"
            yield {**common, "seed": pair.seed, "ratio": value, "bound": kind, "words": words}


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return [forest_panel(frame, _SIDES)]


SPEEDUP = Figure("speedup", "Speedup over full attention", speedup_frame, _panels)
ROBUSTNESS = Figure("robustness", "Speedup by a setting", robustness_frame, _panels)
