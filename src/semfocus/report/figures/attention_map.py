"""Attention weights of one layer and head for one sequence: queries down, keys across, kept keys outlined."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, one_row, tooltip
from semfocus.report.palette import Ink
from semfocus.words import shortened

_SIDE = 320
#: weights below this are not seen
_LEAST = 2e-4
#: more positions than this, and their texts would be too small to read
_MOST_TEXTS = 48
_COLUMNS: Mapping[str, type] = {
    **{
        "panel": str,
        "arm": str,
        "query": int,
        "key": int,
        "weight": float,
        "kept": bool,
        "from": str,
        "to": str,
    },
    **{"size": int, "block": int, "relevant": bool},
}


def map_frame(label: str, one: Mapping[str, Any], maps: Mapping[str, Any]) -> pl.DataFrame:
    """A row for each query and key with a weight, or kept; `one` of the maps of a sequence, whose cells may
    be blocks.
    """
    weights, kept = one["weights"], one.get("kept")
    symbols, block = maps["symbols"], maps["block"]
    relevant = maps["relevant"] or [False] * len(symbols)
    head = f", head {one['head'] + 1}" if maps["num_heads"] > 1 else ""
    common = {
        "panel": f"layer {one['layer'] + 1}{head}: {label}",
        "arm": label,
        "size": len(weights),
        "block": block,
    }

    def name(place: int) -> str:
        return shortened(symbols[place], 6) if block == 1 else str(place * block + 1)

    rows = [
        {
            **{**common, "query": query, "key": key, "weight": weight, "from": name(query), "to": name(key)},
            **{
                "kept": bool(kept and kept[query][key]),
                "relevant": any(relevant[key * block : (key + 1) * block]),
            },
        }
        for query, row in enumerate(weights)
        for key, weight in enumerate(row)
        if weight > _LEAST or (kept and kept[query][key]) or query == key
    ]
    return tidy(rows, _COLUMNS)


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return [_panel(str(name), own) for (name,), own in frame.group_by(["panel"], maintain_order=True)]


def _panel(title: str, own: pl.DataFrame) -> Panel:
    size, block, arm = own["size"][0], own["block"][0], own["arm"][0]
    diagonal = own.filter(pl.col("query") == pl.col("key")).sort("key")
    texts = size <= _MOST_TEXTS and block == 1
    names = (
        diagonal["to"].to_list()
        if texts
        else [str(place * block + 1) if place % max(1, size // 8) == 0 else "" for place in range(size)]
    )
    marked = diagonal["relevant"].to_list()

    def draw(data: Spec, look: Look, index: int) -> Spec:
        colour = {
            "condition": {"test": f"marked{index}[datum.value]", "value": look.paint("bad")},
            "value": look.paint("soft"),
        }
        axis: Spec = {
            **{"labelExpr": f"names{index}[datum.value]", "labelColor": colour, "labelPadding": 2},
            **{"labelFontSize": min(10, 0.95 * _SIDE / size) if texts else 10, "labelOverlap": False},
            **{"ticks": False, "domain": False, "grid": False, "labelAngle": 0},
        }
        scale = {"domain": list(range(size)), "padding": 0}
        cells = {
            "x": column("key:O", scale=scale, title="key", axis={**axis, "orient": "top"}),
            "y": column("query:O", scale=scale, title="query", axis=axis),
            "tooltip": tooltip(
                *("query:O", "from:N", "key:O", "to:N", ("weight:Q", "weight", ".3~g"), "kept:N"),
                ("relevant:N", "decides the label"),
            ),
        }
        shade = column("weight:Q", scale={"type": "sqrt", "domain": [0, 1], "range": [0, 1]}, legend=None)
        ground: Spec = {"fill": look.paint("card"), "x": 0, "y": 0, "x2": "width", "y2": "height"}
        outline: Spec = {"fillOpacity": 0, "strokeWidth": 0.6, "strokeOpacity": 0.65}
        return layers(
            data,
            mark("rect", {}, data=one_row(), **ground),
            mark("rect", {**cells, "fillOpacity": shade}, fill=look.ink(arm)),
            mark("rect", cells, where="datum.kept", stroke=look.paint("text"), **outline),
        )

    rows = own.drop("panel", "arm", "size", "block")
    values = {"names": names, "marked": marked}
    return Panel(title, rows, draw, height=_SIDE, width=_SIDE, values=values, square=True)


ATTENTION_MAP = Figure("attention-map", "Where does each query look?", map_frame, _panels, columns=3)
