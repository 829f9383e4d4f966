"""Figures of a trial: steps to the same loss as a share of full attention's, and curves along steps."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from semfocus.report.curves import with_quartiles
from semfocus.report.figures.axis import value_axis, zoomed
from semfocus.report.figures.figure import Figure, Panel
from semfocus.report.figures.forest import forest_frame, forest_panel
from semfocus.report.figures.lines import Line, line_frame, line_panel, panels_of
from semfocus.report.palette import Ink
from semfocus.trial.wording import interval

if TYPE_CHECKING:
    from semfocus.trial.result import TrialResult


def ratio_frame(result: "TrialResult", groups: Mapping[str, str]) -> pl.DataFrame:
    """A row for each arm with its interval, and one for each seed in which neither diverged."""
    rows: list[dict[str, Any]] = []
    for arm, verdict in result.verdicts.items():
        common = {"arm": arm.label, "label": arm.label, "group": groups[arm.label]}
        pairs = [pair for pair in verdict.pairs if not pair.diverged]
        known = (
            {"ratio": verdict.steps.value, "low": verdict.steps.low, "high": verdict.steps.high}
            if pairs
            else {}
        )
        rows.append({**common, **known, "words": interval(verdict.steps) if pairs else "diverged"})
        rows += [
            {**common, "seed": pair.seed, "ratio": pair.ratio, "words": f"{pair.ratio:.2f}"} for pair in pairs
        ]
    return forest_frame(rows)


def trial_frame(result: "TrialResult", groups: Mapping[str, str]) -> pl.DataFrame:
    """A row for each seed and step of both losses, and for the median of each arm; `target` is full
    attention's lowest.
    """
    from semfocus.trial.spec import FULL  # torch, which figures of studies do without

    grid = result.settings.look_steps()
    lines = []
    for column, title in (("held_out_loss", "held-out loss"), ("train_loss", "training loss")):
        target = result.lowest_loss(FULL) if column == "held_out_loss" else None
        for arm in result.arms:
            known = {
                seed: dict(zip(record["curve"]["step"], record["curve"][column], strict=True))
                for seed, record in sorted(result.records[arm].items())
            }
            lines.append(_line(arm.label, groups, title, grid, known, target))
    return line_frame(lines, target=pl.Float64)


def inside_frame(result: "TrialResult", groups: Mapping[str, str]) -> pl.DataFrame:
    """The same of every quantity inside the models, at the few steps at which it was measured."""
    from semfocus.trial.interior import QUANTITIES  # torch

    lines = []
    for name, (meaning, _) in QUANTITIES.items():
        grid = sorted({step for arm in result.arms for step, _ in result.inside(arm, name)})
        for arm in result.arms if grid else ():
            known = {
                seed: {look["step"]: look["quantities"][name]["median"] for look in record["inside"]}
                for seed, record in sorted(result.records[arm].items())
            }
            lines.append(_line(arm.label, groups, meaning, grid, known, None))
    return line_frame(lines, target=pl.Float64)


def _line(
    label: str,
    groups: Mapping[str, str],
    title: str,
    grid: Iterable[int],
    known: Mapping[Any, Mapping[int, Any]],
    target: float | None,
) -> Line:
    steps = list(grid)
    rows: list[tuple[object, list[float | None]]] = [
        (seed, [_finite(own.get(step)) for step in steps]) for seed, own in known.items()
    ]
    common = {"task": "", "panel": title, "group": groups[label], "target": target}
    return Line(label, with_quartiles(rows), steps, common)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _ratio_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return [forest_panel(frame, ("fewer steps", "more steps"), unit="", what="steps", least=1.25)]


def _curve_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    def draw(title: str, own: pl.DataFrame) -> Panel | None:
        target = own["target"][0]
        return line_panel(title, own, zoomed, x="step", level=None if target is None else (target, ""))

    return panels_of(frame, draw)


def _inside_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return panels_of(frame, lambda title, own: line_panel(title, own, value_axis, x="step", dots=True))


TRIAL_RATIOS = Figure(
    "trial-ratios", "Steps to the same loss, as a share of full attention's", ratio_frame, _ratio_panels
)
TRIAL_CURVES = Figure("trial-curves", "How they learned", trial_frame, _curve_panels)
TRIAL_INSIDE = Figure("trial-inside", "What happens inside", inside_frame, _inside_panels)
