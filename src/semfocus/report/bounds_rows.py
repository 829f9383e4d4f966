"""The comparison of bounds for stored probe rows: layer by layer, and over all of them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from semfocus.theory import compare

Row = Mapping[str, Any]
Slot = tuple[int | None, int | None]
#: for the names of arguments in messages
_WORDS = {
    "ds": "the dispersion of full attention",
    "dh": "the dispersion of top-k",
    "sep": "the separation of top-k",
    "beta": "the key load of top-k",
}
NEEDED = {"full": ("dispersion",), "top-k": ("dispersion", "separation", "key_load")}


def comparison_of_rows(
    full_rows: Sequence[Row], topk_rows: Sequence[Row], k: int, length: int
) -> list[dict[str, Any]]:
    """What `semfocus.theory.compare` says of every layer and head that both have, and of the worst over all of them.

    Rows as `semfocus.probes` writes them, of one measurement a side. Each answer has "layer" and "head",
    (None, None) for all, and either what `compare` returns or "problem": why these numbers cannot be compared.
    """
    sides = {"full": _by_place(full_rows, "full"), "top-k": _by_place(topk_rows, "top-k")}
    shared = sorted(
        (place for place in sides["full"] if place in sides["top-k"]),
        key=lambda place: tuple(-1 if each is None else each for each in place),
    )
    if not shared:
        raise ValueError("the two sets of probe rows have no layer and head in common")
    found = []
    for place in shared:
        found.append(_compared(place, sides["full"][place], sides["top-k"][place], k, length))
    if (None, None) not in shared:
        full, topk = ([sides[name][place] for place in shared] for name in sides)
        found.insert(0, _compared((None, None), _worst(full), _worst(topk), k, length))
    return found


Stats = dict[str, dict[int, float]]


def _by_place(rows: Sequence[Row], side: str) -> dict[Slot, Stats]:
    """{(layer, head): {quantity: {quantile: value}}}, where every needed quantity is there."""
    found: dict[Slot, Stats] = {}
    for row in rows:
        if row["quantity"] in (*NEEDED[side], "lambda_w_local"):
            stats = found.setdefault((row["layer"], row["head"]), {})
            if row["quantity"] in stats:
                raise ValueError(
                    f"rows of one measurement are needed, the {side} side has {row['quantity']} twice"
                )
            stats[row["quantity"]] = {int(q): _value(row, value) for q, value in row["quantiles"].items()}
    whole = {place: each for place, each in found.items() if all(name in each for name in NEEDED[side])}
    if not whole:
        raise ValueError(f"the probe rows of the {side} side need {', '.join(NEEDED[side])}")
    return whole


def _value(row: Row, value: float | None) -> float:
    """JSON has no infinity: a separation without a value is infinite where all of them were."""
    if value is not None:
        return float(value)
    return math.inf if row["quantity"] == "separation" and row.get("num_infinite") else math.nan


def _worst(places: Sequence[Stats]) -> Stats:
    """Largest and smallest over places; quantiles of several layers cannot be put together from theirs."""
    return {
        name: {0: min(each[name][0] for each in places), 100: max(each[name][100] for each in places)}
        for name in places[0]
        if all(name in each for each in places)
    }


def _compared(place: Slot, full: Stats, topk: Stats, k: int, length: int) -> dict[str, Any]:
    shared = set(full["dispersion"]) & set(topk["dispersion"]) & {100 - each for each in topk["separation"]}
    quantiles = sorted(each for each in shared if each >= 50)
    where = {"layer": place[0], "head": place[1]}
    try:
        return where | compare(full, topk, k, length, quantiles)
    except ValueError as error:
        name, _, rest = str(error).partition(" ")
        return where | {"problem": f"{_WORDS.get(name, name)} {rest}"}
