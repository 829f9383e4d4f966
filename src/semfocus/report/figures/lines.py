"""Values along epochs, lengths or steps: the median of each arm with its quartiles, and every seed."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import polars as pl

from semfocus.report.figures.axis import PLAIN, Axis
from semfocus.report.figures.figure import Look, Panel
from semfocus.report.sampling import Sampled, Values
from semfocus.words import visible

#: points of all seeds that a pointer finds without delay
_HOVER_POINTS = 1400
#: with more points than this on a line, dots would be a line
_MOST_LOOKS = 40
#: of a line in a picture that nobody can zoom
_STATIC_POINTS, _STATIC_SEED_POINTS = 26, 9

Mark = tuple[float, str]


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


@dataclass
class _Columns:
    found: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, num: int, **values: Any) -> None:
        for name, value in values.items():
            self.found.setdefault(name, []).extend(value if isinstance(value, list) else [value] * num)


def line_frame(lines: Iterable[Line], **more: Any) -> pl.DataFrame:
    """A row for each seed and place, and one without a member for the median with its quartiles; `more` columns by type."""
    columns = _Columns()
    for line in lines:
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
    return pl.DataFrame({name: columns.found.get(name, missing) for name in schema}, schema=schema)


def line_panel(
    title: str,
    rows: pl.DataFrame,
    y: Callable[[list[float]], Axis],
    *,
    x: str = "epoch",
    member: str = "seed",
    level: Mark | None = None,
    upright: Mark | None = None,
    dots: bool = False,
) -> Panel | None:
    """None without a value. `level` and `upright` are lines that mean something, `dots` mark where it was measured."""
    values = rows["value"].drop_nulls().to_list()
    if not values:
        return None
    arms = rows["arm"].unique(maintain_order=True).to_list()
    extra = [name for name in ("null", "moment") if rows[name].null_count() < len(rows)]
    axis = y(
        [*values, *([level[0]] if level else []), *(rows["null"].drop_nulls() if "null" in extra else [])]
    )
    dotted = dots and rows["x"].n_unique() <= _MOST_LOOKS
    marks = {"level": level, "upright": upright}
    own = {"last": max(1.0, float(rows["x"].max())), **axis.values}  # type: ignore[arg-type]
    for name, mark in marks.items():
        own |= {name: mark[0], f"{name}_words": mark[1]} if mark else {}

    def draw(data: Any, look: Look, index: int) -> Any:
        last = alt.Scale(domain=[0, look.value(index, "last")], nice=False)
        across = alt.X("x:Q", title=x, scale=last, axis=alt.Axis(tickCount=5, labelExpr=PLAIN, tickMinStep=1))
        base = alt.Chart(data).encode(x=across, color=look.colours(arms))
        upwards = axis.y(look, index)
        layers = _lines(base, look, upwards, axis.y(look, index, "low"), arms)
        if "null" in extra:
            noise = base.transform_filter("datum.null !== null").mark_line(
                strokeWidth=1.3, strokeDash=[1, 3], clip=True
            )
            layers.append(noise.encode(axis.y(look, index, "null"), opacity=look.picked(0.8, 0.08)))
        if "moment" in extra:
            moments = base.transform_filter("datum.moment !== null").mark_rule(strokeDash=[5, 3])
            layers.append(moments.encode(x=alt.X("moment:Q", title=x), opacity=look.picked(0.8, 0.1)))
        if dotted:
            looks = base.transform_filter("datum.member === null").mark_circle(size=22, clip=True)
            layers.append(looks.encode(upwards, opacity=look.picked(1, 0.1)))
        for name, mark in marks.items():
            layers += _marked(look, index, name, axis) if mark else []
        if look.live:
            layers.append(_pointer(base, look, index, upwards, x, member, axis.form))
            layers[0] = layers[0].add_params(look.pick, look.zoom(index))
        return alt.layer(*layers)

    kept = ["arm", "member", "x", "value", "low", "high", *extra]
    kind = (
        "line",
        *arms,
        axis.kind,
        *extra,
        x,
        member,
        dotted,
        *(name for name, mark in marks.items() if mark),
    )
    return Panel(title, _hoverable(rows.select(kept)), draw, values=own, kind=kind)


def _lines(base: Any, look: Look, y: alt.Y, band: alt.Y, arms: Sequence[str]) -> list[Any]:
    """Quartiles as a band, seeds thin, medians thick."""
    medians = base.transform_filter("datum.member === null")
    return [
        medians.mark_area(clip=True).encode(band, y2="high:Q", opacity=look.picked(0.12, 0.02)),
        base.transform_filter("datum.member !== null")
        .mark_line(strokeWidth=0.8, clip=True)
        .encode(y, detail="member:N", opacity=look.picked(0.4, 0.05)),
        medians.mark_line(strokeWidth=2, clip=True).encode(
            y, strokeDash=look.dashes(arms), opacity=look.picked(1, 0.12)
        ),
    ]


def _pointer(base: Any, look: Look, index: int, y: alt.Y, x: str, member: str, form: str) -> Any:
    """What a pointer finds: the nearest point of any seed, with all that is known of it."""
    hover = look.hover(index, ["arm", "member", "x"])
    said = [
        alt.Tooltip("arm:N", title="attention"),
        alt.Tooltip("member:N", title=member),
        alt.Tooltip("x:Q", title=x, format="~g"),
        alt.Tooltip("value:Q", title="value", format=form),
    ]
    points = base.transform_filter("datum.found").mark_point(size=42, filled=True, clip=True)
    return points.encode(y, opacity=look.found(hover), tooltip=said).add_params(hover)


def _marked(look: Look, index: int, name: str, axis: Axis) -> list[Any]:
    """A line that means something, with its words: across at a value, or upright at a place."""
    soft, at, words = look.paint("soft"), look.value(index, name), look.value(index, f"{name}_words")
    base = alt.Chart(alt.Data(values=[{}]))
    rule = base.mark_rule(strokeDash=[2, 3], color=soft)
    text = base.mark_text(align="right", fontSize=10, color=soft, text=words, dx=-3, dy=8)
    if name == "level":
        place = alt.YDatum(at, type="quantitative", **axis.parts(look, index))
        return [rule.encode(place), text.encode(place, x=alt.XValue("width"))]
    text = base.mark_text(align="left", fontSize=10, color=soft, text=words, dx=4, dy=-6)
    return [
        rule.encode(alt.XDatum(at, type="quantitative")),
        text.encode(alt.XDatum(at, type="quantitative"), y=alt.YValue("height")),
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


def thinned(rows: pl.DataFrame) -> pl.DataFrame:
    """Fewer points, of seeds fewest: for a picture that nobody can zoom."""
    num = rows["x"].n_unique()
    medians = pl.col("member").is_null() & pl.col("x").is_in(_some(rows, math.ceil(num / _STATIC_POINTS)))
    seeds = pl.col("member").is_not_null() & pl.col("x").is_in(
        _some(rows, math.ceil(num / _STATIC_SEED_POINTS))
    )
    return rows.filter(pl.col("value").is_not_null() & (medians | seeds))


def line_overview(frame: pl.DataFrame, look: Look, y: alt.Y, x: str = "epoch") -> Any:
    """All panels of a frame on common axes, a row for each task."""
    arms = frame["arm"].unique(maintain_order=True).to_list()
    several = frame["task"].n_unique() > 1
    rows = thinned(frame).select("task", "panel", "arm", "member", "x", "value")
    across = alt.X("x:Q", title=x, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=4, labelExpr=PLAIN))
    base = alt.Chart().encode(x=across, y=y, color=look.colours(arms))
    layers = [
        base.transform_filter("datum.member !== null")
        .mark_line(strokeWidth=0.7, opacity=0.4)
        .encode(detail="member:N"),
        base.transform_filter("datum.member === null")
        .mark_line(strokeWidth=1.8)
        .encode(strokeDash=look.dashes(arms)),
    ]
    layered = alt.layer(*layers, data=alt.InlineData(values=rows.to_dicts()))
    layered.width, layered.height = 330, 130
    header = alt.Header(title=None, labelColor=look.paint("text"), labelFontSize=12, labelFontWeight="bold")
    names: dict[str, Any] = {"column": alt.Column("panel:N", sort=_order(frame, "panel"), header=header)}
    if several:
        top: dict[str, Any] = {
            "labelAngle": 0,
            "labelAlign": "left",
            "labelOrient": "top",
            "labelColor": look.paint("text"),
        }
        names["row"] = alt.Row(
            "task:N", sort=_order(frame, "task"), header=alt.Header(title=None, labelFontSize=12, **top)
        )
    return layered.facet(**names, spacing=14)


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
