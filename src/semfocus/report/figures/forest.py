"""Ratios as a forest plot: one row a comparison, its interval, every seed as a dot, on a logarithmic axis around 1."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import polars as pl

from semfocus.report.figures.axis import round_ticks
from semfocus.report.figures.figure import Look, Panel, tidy
from semfocus.words import shortened

#: a row with a seed is a single pair of runs; `bound` is "at least" or "at most" where no more is known
COLUMNS: Mapping[str, type] = {
    **{"heading": str, "label": str, "arm": str, "group": str, "seed": str, "ratio": float},
    **{"low": float, "high": float, "bound": str, "words": str, "open_low": bool, "open_high": bool},
}
_ROW = 22
_SHAPES = {"": "square", "at least": "triangle-right", "at most": "triangle-left"}


def forest_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of COLUMNS."""
    return tidy(rows, COLUMNS)


def axis_range(frame: pl.DataFrame, least: float = 1.6) -> tuple[float, float]:
    """From below the smallest to above the largest estimate and seed, with 1 inside.

    Intervals widen the axis by a factor of 3 at most and end in an arrow beyond it: one that says next to nothing must
    not squeeze all others.
    """
    seen = [1 / least, least, *frame["ratio"].drop_nulls().to_list()]
    limits = [*frame["low"].drop_nulls().to_list(), *frame["high"].drop_nulls().to_list()]
    low, high = min(seen), max(seen)
    return max(min([low, *limits]), low / 3) / 1.15, min(max([high, *limits]), high * 3) * 1.15


def forest_panel(
    frame: pl.DataFrame, sides: tuple[str, str], unit: str = "x", what: str = "speedup", least: float = 1.6
) -> Panel:
    """Headings and rows from top to bottom; `sides`: what it means to lie left and right of 1."""
    low, high = axis_range(frame, least)
    rows, num = _placed(frame, low, high)

    def draw(data: Any, look: Look, index: int) -> Any:
        return _drawn(data, look, num, (low, high), sides, unit, what, rows)

    return Panel("", rows, draw, height=_ROW * num, width=420, wide=True)


def _placed(frame: pl.DataFrame, low: float, high: float) -> tuple[pl.DataFrame, int]:
    """Every row with its place from the top, headings where they change, and intervals cut at the edges."""
    found: list[dict[str, Any]] = []
    heading = group = None
    place = -1
    for row in frame.to_dicts():
        if row["seed"] is None:
            if row["heading"] and row["group"] != group:
                place += 1
                group = row["group"]
                found.append({"place": place, "kind": "group", "label": group, "arm": row["arm"]})
            if row["heading"] and (row["arm"], row["heading"]) != heading:
                place += 1
                heading = (row["arm"], row["heading"])
                found.append(
                    {"place": place, "kind": "arm", "label": shortened(row["heading"], 40), "arm": row["arm"]}
                )
            place += 1
        found.append(
            {
                **row,
                **_interval(row, low, high),
                "place": place,
                "kind": "row" if row["seed"] is None else "seed",
            }
        )
    columns = {**COLUMNS, "place": int, "kind": str, "left": bool, "right": bool, "shape": str}
    rows = tidy(found, columns).with_columns(
        pl.col("label").map_elements(lambda each: shortened(each, 32), pl.String)
    )
    return rows.drop("heading", "group", "open_low", "open_high"), place + 1


def _interval(row: Mapping[str, Any], low: float, high: float) -> dict[str, Any]:
    """Where the line begins and ends, and whether an arrow says that it goes on."""
    shape = _SHAPES[row["bound"] or ""]
    if row["seed"] is not None or (row["low"] is None and row["high"] is None and not row["open_low"]):
        return {"low": None, "high": None, "left": False, "right": False, "shape": shape}
    left = row["low"] is None or row["low"] < low
    right = row["high"] is None or row["high"] > high
    return {
        "low": low if left else row["low"],
        "high": high if right else row["high"],
        "left": left,
        "right": right,
        "shape": shape,
    }


def _drawn(
    data: Any,
    look: Look,
    num: int,
    domain: tuple[float, float],
    sides: tuple[str, str],
    unit: str,
    what: str,
    rows: pl.DataFrame,
) -> Any:
    arms = rows["arm"].unique(maintain_order=True).to_list()
    scale = alt.Scale(type="log", domain=list(domain), nice=False)
    ticks = alt.Axis(
        values=round_ticks(*domain, most=9),
        labelExpr=f"format(datum.value, '~g') + '{unit}'",
        grid=True,
        orient="bottom",
        title=None,
    )
    x = alt.X("ratio:Q", scale=scale, axis=ticks)
    y = alt.Y("place:O", scale=alt.Scale(domain=list(range(num))), axis=None)
    base = alt.Chart(data).encode(y=y, color=look.colours(arms, None))
    text, soft, paper = look.paint("text"), look.paint("soft"), look.paint("paper")
    said = [
        alt.Tooltip("arm:N", title="attention"),
        alt.Tooltip("label:N", title="on"),
        alt.Tooltip("words:N", title=what),
    ]
    seed = [
        alt.Tooltip("arm:N", title="attention"),
        alt.Tooltip("seed:N"),
        alt.Tooltip("words:N", title=what),
    ]
    fade = look.picked(1, 0.12)
    row = base.transform_filter("datum.kind === 'row'")
    one = alt.Chart(alt.Data(values=[{"one": 1, "left": f"{sides[0]} ←", "right": f"→ {sides[1]}"}])).encode(
        alt.X("one:Q", scale=scale, axis=ticks)
    )
    above: dict[str, Any] = {"baseline": "bottom", "fontSize": 11, "color": soft}
    label: dict[str, Any] = {"align": "left", "baseline": "middle"}
    layers = [
        one.mark_rule(color=text, strokeWidth=1.2),
        one.mark_text(align="right", dx=-8, dy=-5, **above).encode(text="left:N", y=alt.value(0)),
        one.mark_text(align="left", dx=8, dy=-5, **above).encode(text="right:N", y=alt.value(0)),
        base.transform_filter("datum.kind === 'group'")
        .mark_text(**label, fontWeight=700, fontSize=13, color=text)
        .encode(x=alt.value(-200), text="label:N", color=alt.value(text)),
        base.transform_filter("datum.kind === 'arm'")
        .mark_text(**label, fontWeight=600, fontSize=12.5)
        .encode(x=alt.value(-200), text="label:N", opacity=fade),
        row.mark_text(**label, fontSize=12, dx=12).encode(
            x=alt.value(-200), text="label:N", color=alt.value(text), opacity=fade
        ),
        row.mark_text(**label, fontSize=12).encode(
            x=alt.value("width"), xOffset=alt.value(14), text="words:N", color=alt.value(text), opacity=fade
        ),
        row.transform_filter("datum.low !== null")
        .mark_rule(strokeWidth=2.2)
        .encode(x=alt.X("low:Q", scale=scale, axis=ticks), x2="high:Q", opacity=fade),
        row.transform_filter("datum.right")
        .mark_point(shape="triangle-right", filled=True, size=55)
        .encode(x=alt.X("high:Q", scale=scale, axis=ticks), opacity=fade),
        row.transform_filter("datum.left")
        .mark_point(shape="triangle-left", filled=True, size=55)
        .encode(x=alt.X("low:Q", scale=scale, axis=ticks), opacity=fade),
        base.transform_filter("datum.kind === 'seed' && datum.bound === null")
        .mark_point(filled=True, size=22, yOffset=6)
        .encode(x, opacity=look.picked(0.55, 0.05), tooltip=seed),
        base.transform_filter("datum.kind === 'seed' && datum.bound !== null")
        .mark_point(size=20, strokeWidth=1, yOffset=6, fill=paper)
        .encode(x, opacity=look.picked(0.9, 0.05), tooltip=seed),
        row.mark_point(filled=True, size=85, opacity=1).encode(
            x, shape=alt.Shape("shape:N", scale=None, legend=None), opacity=fade, tooltip=said
        ),
    ]
    if look.live:
        layers[0] = layers[0].add_params(look.pick)
    return alt.layer(*layers)


def bounded_seed(low: float, high: float) -> tuple[float | None, str | None]:
    """What is known of one seed's ratio, which lies between 0 and infinity when nothing is: a value, and how it bounds it."""
    known = [each for each in (low, high) if 0 < each < math.inf]
    if not known:
        return None, None
    if low == high:
        return known[0], None
    return known[0], "between" if len(known) == 2 else "at least" if low > 0 else "at most"
