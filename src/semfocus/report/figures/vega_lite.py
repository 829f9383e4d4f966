"""Charts as Vega-Lite in plain dictionaries: nothing is loaded to describe one; tests validate every one of them."""

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

_TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}


def column(shorthand: str, **options: Any) -> Spec:
    """A channel that shows a column of the rows: "epoch:Q" (a quantity), "arm:N" (names) or "place:O" (an order)."""
    name, _, kind = shorthand.rpartition(":")
    return {"field": name, "type": _TYPES[kind], **options}


def tooltip(*columns: str | tuple[str, str] | tuple[str, str, str]) -> list[Spec]:
    """What a pointer shows: each a column, with its title if it has another name, and the format of its number."""
    found = []
    for each in columns:
        name, *more = [each] if isinstance(each, str) else each
        found.append(column(name, **dict(zip(("title", "format"), more, strict=False))))
    return found


def mark(
    kind: str,
    encoding: Mapping[str, Any],
    *,
    where: str = "",
    data: Spec | None = None,
    params: Sequence[Spec] = (),
    **options: Any,
) -> Spec:
    """A mark with its options, for each row of the panel (or of its own data) where an expression is true."""
    return {
        **({} if data is None else {"data": data}),
        **({"transform": [{"filter": where}]} if where else {}),
        "mark": {"type": kind, **options},
        "encoding": dict(encoding),
        **({"params": list(params)} if params else {}),
    }


def layers(data: Spec, *marks: Spec, params: Sequence[Spec] = ()) -> Spec:
    """Marks over each other, the last on top; `params` belong to all charts that stand together."""
    return {"data": data, "layer": list(marks), **({"params": list(params)} if params else {})}


def one_row(**values: Any) -> Spec:
    """Data for a mark that stands once."""
    return {"values": [values]}


def side_by_side(panels: Sequence[Spec], columns: int) -> Spec:
    """Charts of layers in rows of so many; their params stand above all of them, once each."""
    params: dict[str, Spec] = {}
    charts = []
    for index, panel in enumerate(panels):
        view = f"panel{index}"
        for param in panel.get("params", ()):
            lifted = params.setdefault(param["name"], dict(param))
            if "select" in param:
                lifted["views"] = [*lifted.get("views", ()), view]
        first, *others = panel["layer"]
        rest = {key: value for key, value in panel.items() if key != "params"}
        charts.append({**rest, "layer": [{"name": view, **first}, *others]})
    whole = charts[0] if len(charts) == 1 else {"concat": charts, "columns": columns}
    return {**({"params": list(params.values())} if params else {}), **whole}
