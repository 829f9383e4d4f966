"""Ratios as a forest plot: one row a comparison, its interval, every seed as a dot, on a logarithmic axis around 1."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from semfocus.report.figures.axis import round_ticks
from semfocus.report.figures.figure import Look, Panel, tidy
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, one_row, tooltip
from semfocus.words import shortened

#: a row with a seed is a single pair of runs; `bound` is "at least" or "at most" where no more is known
COLUMNS: Mapping[str, type] = {
    **{"heading": str, "label": str, "arm": str, "group": str, "seed": str, "ratio": float},
    **{"low": float, "high": float, "bound": str, "words": str, "open_low": bool, "open_high": bool},
}
_ROW = 22
#: with more rows than this a page without scripts leaves the words to its tables: each text costs a millisecond to draw
_MOST_STATIC = 24
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

    def draw(data: Spec, look: Look, index: int) -> Spec:
        return _drawn(data, look, num, (low, high), sides, unit, what, rows, f"narrow{index}")

    # a page sets `narrow` where there is no room for the words beside the plot
    return Panel("", rows, draw, height=_ROW * num, width=420, wide=True, values={"narrow": False})


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
    data: Spec,
    look: Look,
    num: int,
    domain: tuple[float, float],
    sides: tuple[str, str],
    unit: str,
    what: str,
    rows: pl.DataFrame,
    narrow: str,
) -> Spec:
    arms = rows["arm"].unique(maintain_order=True).to_list()
    text, soft, paper = look.paint("text"), look.paint("soft"), look.paint("paper")
    across = {
        "scale": {"type": "log", "domain": list(domain), "nice": False},
        "axis": {
            **{"values": round_ticks(*domain, most=9), "labelExpr": f"format(datum.value, '~g') + '{unit}'"},
            **{"grid": True, "orient": "bottom", "title": None},
        },
    }
    at = {name: column(f"{name}:Q", **across) for name in ("ratio", "low", "high", "one")}
    base = {
        "y": column("place:O", scale={"domain": list(range(num))}, axis=None),
        "color": look.colours(arms, None),
    }
    fading = {**base, "opacity": look.picked(1, 0.12)}
    written = {**fading, "color": {"value": text}}
    left = {"x": {"value": {"expr": f"{narrow} ? -150 : -200"}}, "text": column("label:N")}
    said = tooltip(("arm:N", "attention"), ("label:N", "on"), ("words:N", what))
    seed = {**base, "x": at["ratio"], "tooltip": tooltip(("arm:N", "attention"), "seed:N", ("words:N", what))}
    shape = column("shape:N", scale=None, legend=None)
    one = one_row(one=1, left=f"← {sides[0]}", right=f"{sides[1]} →")
    above: Spec = {"data": one, "dy": -5, "baseline": "bottom", "fontSize": 11, "color": soft}
    label: Spec = {"align": "left", "baseline": "middle", "limit": {"expr": f"{narrow} ? 140 : 0"}}
    arrow: Spec = {"filled": True, "size": 55}
    row, single = "datum.kind === 'row'", "datum.kind === 'seed'"
    marks = [
        mark("rule", {"x": at["one"]}, data=one, color=text, strokeWidth=1.2),
        # At the ends, not beside 1, which may be so near an end that a narrow page has no room.
        mark("text", _above("left", 0), align="left", **above),
        mark("text", _above("right", "width"), align="right", **above),
        mark(
            "text",
            {**base, **left, "color": {"value": text}},
            where="datum.kind === 'group'",
            fontWeight=700,
            fontSize=13,
            **label,
        ),
        mark(
            "text", {**fading, **left}, where="datum.kind === 'arm'", fontWeight=600, fontSize=12.5, **label
        ),
        mark("text", {**written, **left}, where=row, fontSize=12, dx=12, **label),
        mark(
            "rule",
            {**fading, "x": at["low"], "x2": {"field": "high"}},
            where=f"{row} && datum.low !== null",
            strokeWidth=2.2,
        ),
        mark(
            "point",
            {**fading, "x": at["high"]},
            where=f"{row} && datum.right",
            shape="triangle-right",
            **arrow,
        ),
        mark(
            "point", {**fading, "x": at["low"]}, where=f"{row} && datum.left", shape="triangle-left", **arrow
        ),
        mark(
            "point",
            {**seed, "opacity": look.picked(0.55, 0.05)},
            where=f"{single} && datum.bound === null",
            filled=True,
            size=22,
            yOffset=6,
        ),
        mark(
            "point",
            {**seed, "opacity": look.picked(0.9, 0.05)},
            where=f"{single} && datum.bound !== null",
            size=20,
            strokeWidth=1,
            yOffset=6,
            fill=paper,
        ),
        mark(
            "point",
            {**fading, "x": at["ratio"], "shape": shape, "tooltip": said},
            where=row,
            filled=True,
            size=85,
        ),
    ]
    if look.live or not look.on_page or num <= _MOST_STATIC:
        beside = {"x": {"value": "width"}, "xOffset": {"value": 14}, "text": column("words:N")}
        marks.append(mark("text", {**written, **beside}, where=f"{row} && !{narrow}", fontSize=12, **label))
    return layers(data, *marks, params=[look.pick] if look.live else [])


def _above(name: str, place: int | str) -> Spec:
    return {"x": {"value": place}, "y": {"value": 0}, "text": column(f"{name}:N")}


def bounded_seed(low: float, high: float) -> tuple[float | None, str | None]:
    """What is known of one seed's ratio, which lies between 0 and infinity when nothing is: a value, and how
    it bounds it.
    """
    known = [each for each in (low, high) if 0 < each < math.inf]
    if not known:
        return None, None
    if low == high:
        return known[0], None
    return known[0], "between" if len(known) == 2 else "at least" if low > 0 else "at most"
