"""One quantity against another: a dot a run or a task; where only a bound is known, an open triangle that points."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from semfocus.analysis.tables import speedup_text
from semfocus.report.figures.axis import Axis, logarithmic, value_axis, zoomed
from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.vega_lite import Spec, layers, mark, one_row, tooltip
from semfocus.report.palette import Ink

if TYPE_CHECKING:
    from semfocus.analysis.why.masks import MaskTest
    from semfocus.analysis.why.mediators import Mediation
    from semfocus.analysis.why.ratio import RatioTest
    from semfocus.analysis.why.yardsticks import Yardstick

#: `bound`: "at least" or "at most" if no more is known of y
_COLUMNS: Mapping[str, type] = {
    **{
        "panel": str,
        "arm": str,
        "task": str,
        "seed": str,
        "x": float,
        "y": float,
        "bound": str,
        "words": str,
    },
    **{"across": str, "zoom": bool},
}
_WHEN = {"start": "untrained", "end": "after training"}


def ratio_frame(tests: Iterable["RatioTest"]) -> pl.DataFrame:
    """A dot for each task: the dispersion of a pattern by that of full attention, and the speedup."""
    rows = []
    for test in tests:
        panel = f"{'same scores' if test.same_scores else 'own models'}, {_WHEN[test.when]}"
        for point in test.points:
            bound = "at least" if point.speedup.at_least else "at most" if point.speedup.at_most else None
            if point.speedup.ratio is not None:
                rows.append(
                    {
                        **{"panel": panel, "arm": test.label, "task": point.task, "x": point.ratio},
                        **{"y": point.speedup.ratio, "bound": bound, "words": speedup_text(point.speedup)},
                    }
                )
    order = {f"{source}, {when}": None for source in ("own models", "same scores") for when in _WHEN.values()}
    return tidy(sorted(rows, key=lambda row: list(order).index(str(row["panel"]))), _COLUMNS)


def focus_frame(found: Iterable["Mediation"]) -> pl.DataFrame:
    """A dot for each arm and task: its focus mass by that of the baseline, and the speedup."""
    rows = [
        {
            **{"panel": panel, "arm": each.arm, "task": task, "x": ratio, "y": race.ratio},
            **{"bound": race.bound or None, "words": speedup_text(race)},
        }
        for when, panel in (
            ("start", "focus and speedup, untrained"),
            ("early", "focus and speedup, before the target"),
        )
        for each in found
        for task, ratio, race in each.points(when)  # type: ignore[arg-type]
        if race.ratio is not None
    ]
    return tidy(rows, _COLUMNS)


def yardstick_frame(found: Iterable["Yardstick"]) -> pl.DataFrame:
    """A dot for each run: a quantity of the untrained model, and the epochs to its target."""
    rows = [
        {"panel": each.words, "across": "at epoch 0", **_run(run, value)}
        for each in found
        for run, value in each.points
    ]
    return tidy(rows, _COLUMNS)


def mask_frame(tests: Iterable["MaskTest"]) -> pl.DataFrame:
    """A dot for each run of top-k: how stable its masks are, and the epochs to its target."""
    rows = [
        {
            **{"panel": f"{test.words}, {_WHEN[test.when]}", "across": _WHEN[test.when]},
            **{"zoom": test.quantity == "mask_agreement_0.01", **_run(run, value)},
        }
        for test in tests
        for run, value in test.points
    ]
    return tidy(rows, _COLUMNS)


def _run(run: Any, value: float) -> dict[str, Any]:
    reached = run.time.reached
    return {
        **{"arm": run.label, "task": run.task, "seed": run.seed, "x": value, "y": max(run.time.value, 1.0)},
        **{
            "bound": None if reached else "at least",
            "words": f"{'' if reached else '> '}{run.time.value:g} epochs",
        },
    }


def _ratio_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    def across(values: Sequence[float]) -> Axis:
        return value_axis([*values, 1.0], "dispersion / that of full")

    return _by_speedup(frame, across)


def _focus_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    def across(values: Sequence[float]) -> Axis:
        return logarithmic([*values, 1.0], "focus mass / that of the baseline", room=1.1)

    return _by_speedup(frame, across)


def _by_speedup(frame: pl.DataFrame, across: Callable[[Sequence[float]], Axis]) -> list[Panel]:
    def upwards(values: Sequence[float]) -> Axis:
        return logarithmic([*values, 1.0], "speedup", room=1.3)

    return [
        _panel(str(name), own, across, upwards, one=True)
        for (name,), own in frame.group_by(["panel"], maintain_order=True)
    ]


def _run_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    found = []
    for (name,), own in frame.group_by(["panel"], maintain_order=True):
        make = zoomed if own["zoom"][0] else logarithmic
        there = own if make is zoomed else own.filter(pl.col("x") > 0)
        if len(there):
            across = partial(make, title=str(there["across"][0]))
            found.append(
                _panel(str(name), there, across, partial(logarithmic, title="epochs to target", room=1.3))
            )
    return found


def _panel(
    title: str,
    own: pl.DataFrame,
    across: Callable[[Sequence[float]], Axis],
    upwards: Callable[[Sequence[float]], Axis],
    one: bool = False,
) -> Panel:
    arms = own["arm"].unique(maintain_order=True).to_list()
    x, y = across(own["x"].to_list()), upwards(own["y"].to_list())
    rows = own.select("arm", "task", "seed", "x", "y", "bound", "words")

    def draw(data: Spec, look: Look, index: int) -> Spec:
        said = tooltip(
            *(("arm:N", "attention"), "task:N", "seed:N"),
            *(("x:Q", x.title or "x", ".3~g"), ("words:N", y.title or "y")),
        )
        place = {"x": x.channel("x"), "y": y.channel("y")}
        base = {**place, "color": look.colours(arms, "circle"), "tooltip": said}
        soft: Spec = {"data": one_row(one=1), "strokeDash": [2, 3], "color": look.paint("soft")}
        marks = []
        if one:
            marks = [
                mark("rule", {"x": x.channel("one")}, **soft),
                mark("rule", {"y": y.channel("one")}, **soft),
            ]
        known = {**base, "opacity": look.picked(0.8, 0.06)}
        marks.append(mark("circle", known, where="datum.bound === null", size=52))
        bounded = {**base, "opacity": look.picked(1, 0.06)}
        for bound, shape in (("at least", "triangle-up"), ("at most", "triangle-down")):
            hollow: Spec = {"shape": shape, "size": 52, "fill": look.paint("paper")}
            marks.append(mark("point", bounded, where=f"datum.bound === '{bound}'", **hollow))
        if not look.live:
            return layers(data, *marks)
        marks[-1]["params"] = [look.zoom(index)]
        return layers(data, *marks, params=[look.pick])

    return Panel(title, rows, draw)


DISPERSION_AND_SPEEDUP = Figure(
    "dispersion-and-speedup", "Dispersion and speedup", ratio_frame, _ratio_panels
)
FOCUS_AND_SPEEDUP = Figure("focus-and-speedup", "Focus mass and speedup", focus_frame, _focus_panels)
SPARSITY_OR_SHARPNESS = Figure("sparsity-or-sharpness", "Sparsity or sharpness", yardstick_frame, _run_panels)
MASKS = Figure("masks", "Stable masks and fast learning", mask_frame, _run_panels)
