"""Values along epochs, lengths or steps: the median of each arm with its quartiles, and every seed."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from semfocus.report.curves import Sampled, Values
from semfocus.report.figures.axis import PLAIN, Axis
from semfocus.report.figures.figure import Look, Panel
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, one_row, tooltip
from semfocus.words import visible

#: points of all seeds that a pointer finds without delay
_HOVER_POINTS = 1400
#: with more points than this on a line, dots would be a line
_MOST_LOOKS = 40
#: of a line in a picture that nobody can zoom
_STATIC_POINTS = 26

#: a place, and what it means
Meant = tuple[float, str]


@dataclass(frozen=True)
class Line:
    """One arm on one panel: its seeds (or layers) on common places `x`; `common` are columns equal in all its rows."""

    arm: str
    sampled: Sampled
    x: Sequence[float]
    common: Mapping[str, Any]
    #: what noise or chance would give
    nulls: Values | None = None
    #: a place to mark upright
    moment: float | None = None
    #: each seed has values at places of its own, with nothing missing between them
    is_sparse: bool = False


@dataclass
class _Columns:
    found: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, num: int, **values: Any) -> None:
        for name, value in values.items():
            self.found.setdefault(name, []).extend(value if isinstance(value, list) else [value] * num)


def line_frame(lines: Iterable[Line], **more: Any) -> pl.DataFrame:
    """A row for each seed and place, and one without a member for the median with its quartiles; `more`
    columns by type.
    """
    columns, given = _Columns(), list(lines)
    for line in given:
        num, arm = len(line.x), visible(line.arm)
        common = {
            name: visible(each) if isinstance(each, str) else each for name, each in line.common.items()
        }
        places, empty = list(map(float, line.x)), [None] * num
        for member, values in line.sampled.seeds:
            columns.add(num, **common, arm=arm, member=visible(member), x=places, value=list(values))
            columns.add(num, low=empty, high=empty, null=empty, moment=None)
        sampled = line.sampled
        columns.add(num, **common, arm=arm, member=None, x=places, value=list(sampled.median))
        columns.add(num, low=list(sampled.lower), high=list(sampled.upper), null=list(line.nulls or empty))
        columns.add(num, moment=[line.moment, *empty[1:]])
    texts = dict.fromkeys(("task", "panel", "arm", "group", "member"), pl.String)
    numbers = dict.fromkeys(("x", "value", "low", "high", "null", "moment"), pl.Float64)
    schema = {**texts, **numbers, **more}
    missing = [None] * len(columns.found.get("x", []))
    frame = pl.DataFrame({name: columns.found.get(name, missing) for name in schema}, schema=schema)
    return frame.filter(pl.col("value").is_not_null()) if all(line.is_sparse for line in given) else frame


def line_panel(
    title: str,
    rows: pl.DataFrame,
    y: Callable[[list[float]], Axis],
    *,
    x: str = "epoch",
    member: str = "seed",
    level: Meant | None = None,
    level_words: str = "right",
    upright: Meant | None = None,
    dots: bool = False,
) -> Panel | None:
    """None without a value. `level` and `upright` are lines that mean something, `dots` mark where it was measured.

    Curves that fall to their level leave room for its words on the left.
    """
    values = rows["value"].drop_nulls().to_list()
    if not values:
        return None
    arms = rows["arm"].unique(maintain_order=True).to_list()
    extra = [name for name in ("null", "moment") if rows[name].null_count() < len(rows)]
    axis = y(
        [*values, *([level[0]] if level else []), *(rows["null"].drop_nulls() if "null" in extra else [])]
    )
    dotted = dots and rows["x"].n_unique() <= _MOST_LOOKS
    meant = {name: each for name, each in (("level", level), ("upright", upright)) if each}
    own = {"last": max(1.0, float(rows["x"].max())), **axis.values}  # type: ignore[arg-type]
    for name, (place, words) in meant.items():
        own |= {name: place, f"{name}_words": words}

    def draw(data: Spec, look: Look, index: int) -> Spec:
        last = {"domain": [0, look.value(index, "last")], "nice": False}
        ticks = {"tickCount": 5, "labelExpr": PLAIN, "tickMinStep": 1}
        base = {"x": column("x:Q", title=x, scale=last, axis=ticks), "color": look.colours(arms)}
        upwards = {**base, "y": axis.y(look, index)}
        marks = _lines(upwards, look, {**base, "y": axis.y(look, index, "low")}, arms)
        if "null" in extra:
            noise = {**base, "y": axis.y(look, index, "null"), "opacity": look.picked(0.8, 0.08)}
            dotted_line: Spec = {"strokeWidth": 1.3, "strokeDash": [1, 3], "clip": True}
            marks.append(mark("line", noise, where="datum.null !== null", **dotted_line))
        if "moment" in extra:
            moments = {**base, "x": column("moment:Q", title=x), "opacity": look.picked(0.8, 0.1)}
            marks.append(mark("rule", moments, where="datum.moment !== null", strokeDash=[5, 3]))
        if dotted:
            looks = {**upwards, "opacity": look.picked(1, 0.1)}
            marks.append(mark("circle", looks, where="datum.member === null", size=22, clip=True))
        for name in meant:
            marks += _meant(look, index, name, axis, level_words)
        if not look.live:
            return layers(data, *marks)
        marks.append(_pointer(upwards, look, index, x, member, axis.form))
        marks[0]["params"] = [look.zoom(index)]
        return layers(data, *marks, params=[look.pick])

    kept = ["arm", "member", "x", "value", "low", "high", *extra]
    kind = ("line", *arms, axis.kind, *extra, x, member, dotted, *meant, level_words)
    return Panel(title, _hoverable(rows.select(kept)), draw, values=own, kind=kind)


def _lines(lines: Spec, look: Look, band: Spec, arms: Sequence[str]) -> list[Spec]:
    """Quartiles as a band, seeds thin, medians thick."""
    seeds, medians = "datum.member !== null", "datum.member === null"
    quartiles = {**band, "y2": {"field": "high"}, "opacity": look.picked(0.12, 0.02)}
    each = {**lines, "detail": column("member:N"), "opacity": look.picked(0.4, 0.05)}
    middle = {**lines, "strokeDash": look.dashes(arms), "opacity": look.picked(1, 0.12)}
    return [
        mark("area", quartiles, where=medians, clip=True),
        mark("line", each, where=seeds, strokeWidth=0.8, clip=True),
        mark("line", middle, where=medians, strokeWidth=2, clip=True),
    ]


def _pointer(lines: Spec, look: Look, index: int, x: str, member: str, form: str) -> Spec:
    """What a pointer finds: the nearest point of any seed, with all that is known of it."""
    said = tooltip(("arm:N", "attention"), ("member:N", member), ("x:Q", x, "~g"), ("value:Q", "value", form))
    shown = {**lines, "opacity": look.found(index), "tooltip": said}
    hover = look.hover(index, ["arm", "member", "x"])
    return mark("point", shown, where="datum.found", params=[hover], size=42, filled=True, clip=True)


def _meant(look: Look, index: int, name: str, axis: Axis, side: str) -> list[Spec]:
    """A line that means something, with its words: across at a value, or upright at a place."""
    soft = look.paint("soft")
    place = {"datum": look.value(index, name), "type": "quantitative"}
    where: Spec
    if name == "level":
        along = {"y": {**place, **axis.parts(look, index)}}
        left = side == "left"
        beside = {**along, "x": {"value": 0 if left else "width"}}
        where = {"align": side, "dx": 3 if left else -3, "dy": 8}
    else:
        along = {"x": place}
        beside, where = {**along, "y": {"value": "height"}}, {"align": "left", "dx": 4, "dy": -6}
    words: Spec = {"text": look.value(index, f"{name}_words"), "fontSize": 10, **where}
    seam: Spec = {
        "color": look.paint("paper"),
        "stroke": look.paint("paper"),
        "strokeWidth": 3,
        "opacity": 0.8,
    }
    return [
        mark("rule", along, data=one_row(), strokeDash=[2, 3], color=soft),
        # a seam of paper, so that it can be read over the curves
        mark("text", beside, data=one_row(), **seam, **words),
        mark("text", beside, data=one_row(), color=soft, **words),
    ]


def _hoverable(rows: pl.DataFrame) -> pl.DataFrame:
    """Marks as many points of seeds as a browser follows without delay, on the same places for all."""
    found = pl.col("member").is_not_null() & pl.col("value").is_not_null()
    every = math.ceil(rows["member"].count() / _HOVER_POINTS)
    if every > 1:
        found &= pl.col("x").is_in(_some(rows, every))
    return rows.with_columns(found=found)


def _some(rows: pl.DataFrame, every: int) -> list[float]:
    """Every so many of the places, and the last."""
    grid = rows["x"].unique().sort().to_list()
    return sorted({*grid[:: max(1, every)], grid[-1]})


def line_overview(frame: pl.DataFrame, look: Look, y: Spec, x: str = "epoch") -> Spec:
    """The medians of all panels of a frame on common axes, a row for each task: a picture that nobody can zoom."""
    arms = frame["arm"].unique(maintain_order=True).to_list()
    places = _some(frame, math.ceil(frame["x"].n_unique() / _STATIC_POINTS))
    kept = pl.col("member").is_null() & pl.col("value").is_not_null() & pl.col("x").is_in(places)
    medians = frame.filter(kept).group_by("task", "panel", "arm", maintain_order=True).agg("x", "value")
    across = column("x:Q", title=x, scale={"nice": False}, axis={"tickCount": 4, "labelExpr": PLAIN})
    lines = {"x": across, "y": y, "color": look.colours(arms), "strokeDash": look.dashes(arms)}
    header = {"title": None, "labelColor": look.paint("text"), "labelFontSize": 12}
    bold = {**header, "labelFontWeight": "bold"}
    facet = {"column": column("panel:N", sort=_order(frame, "panel"), header=bold)}
    if frame["task"].n_unique() > 1:
        top = {**header, "labelAngle": 0, "labelAlign": "left", "labelAnchor": "start", "labelOrient": "top"}
        facet["row"] = column("task:N", sort=_order(frame, "task"), header=top)
    return {
        "data": {"values": medians.to_dicts()},
        "transform": [
            {"flatten": ["x", "value"]}
        ],  # a row for each curve is read far quicker than one for each point
        "facet": facet,
        "spec": {**mark("line", lines, strokeWidth=1.8), "width": 330, "height": 130},
        "spacing": 14,
    }


def _order(frame: pl.DataFrame, column: str) -> list[str]:
    return frame[column].unique(maintain_order=True).to_list()


def panels_of(frame: pl.DataFrame, draw: Callable[[str, pl.DataFrame], Panel | None]) -> list[Panel]:
    """A panel for each task and quantity of a frame; a task is named where there are several."""
    several = frame["task"].n_unique() > 1
    found = []
    for (task, name), own in frame.group_by(["task", "panel"], maintain_order=True):
        panel = draw(f"{task}: {name}" if several else str(name), own)
        found += [panel] if panel is not None else []
    return found
