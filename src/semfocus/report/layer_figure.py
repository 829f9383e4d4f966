"""One quantity layer by layer: for every run, and every pattern on its scores, its mean and spread."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from semfocus.report.palette import Ink
from semfocus.report.svg import Drawing
from semfocus.report.value_axis import short, tick_text, value_axis

WIDTH, HEIGHT = 380.0, 236.0
_TOP, _BOTTOM, _LEFT, _RIGHT = 10.0, 34.0, 46.0, 6.0

Row = Mapping[str, Any]
#: layer and head; None where a quantity has no such thing
Slot = tuple[int | None, int | None]


def slots_of(rows: Sequence[Row]) -> dict[Slot, Row]:
    """Rows by layer and head. What is said of all layers together stands alone only where nothing else is said."""
    found = {(row.get("layer"), row.get("head")): row for row in rows}
    layered = {slot: row for slot, row in found.items() if slot[0] is not None}
    return dict(
        sorted(
            (layered or found).items(),
            key=lambda item: tuple(-1 if each is None else each for each in item[0]),
        )
    )


def slot_text(slot: Slot, num_heads: int) -> str:
    """Layers and heads count from 1: `3`, or `3.2` with several heads."""
    layer, head = slot
    if layer is None:
        return "all"
    return str(layer + 1) if head is None or num_heads == 1 else f"{layer + 1}.{head + 1}"


def layer_figure(title: str, series: Mapping[str, Sequence[Row]], inks: Mapping[str, Ink]) -> Markup | None:
    """A box for each series in each layer: 5 to 95 % thin, quartiles thick, the mean as a dot, that of noise as a bar.

    The null of a row is a mean, and few keys make skewed values, whose median would be beside it for no other reason.
    """
    found = {label: slots_of(rows) for label, rows in series.items()}
    found = {label: rows for label, rows in found.items() if any(map(_has_values, rows.values()))}
    values = [value for rows in found.values() for row in rows.values() for value in _values(row)]
    if not values:
        return None
    slots = sorted(
        {slot for rows in found.values() for slot in rows},
        key=lambda slot: tuple(-1 if each is None else each for each in slot),
    )
    num_heads = len({slot[1] for slot in slots if slot[1] is not None})
    drawing = Drawing(WIDTH, HEIGHT, title, "layers")
    axis = value_axis(values, HEIGHT - _BOTTOM, _TOP)
    for tick in axis.ticks(5):
        y = axis(tick)
        drawing.add("line", css_class="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y)
        drawing.add("text", tick_text(tick), css_class="tick", x=_LEFT - 5, y=y + 3.6, text_anchor="end")
    drawing.add(
        "line", css_class="axis", x1=_LEFT, x2=WIDTH - _RIGHT, y1=HEIGHT - _BOTTOM, y2=HEIGHT - _BOTTOM
    )
    step = (WIDTH - _RIGHT - _LEFT) / len(slots)
    every = max(1, -(-len(slots) // 12))
    for place, slot in enumerate(slots):
        middle = _LEFT + (place + 0.5) * step
        if place % every == 0:
            drawing.add(
                "text",
                slot_text(slot, num_heads),
                css_class="tick",
                x=middle,
                y=HEIGHT - _BOTTOM + 15,
                text_anchor="middle",
            )
        if place:
            x = _LEFT + place * step
            drawing.add("line", css_class="grid", x1=x, x2=x, y1=_TOP, y2=HEIGHT - _BOTTOM)
    width = min(22.0, 0.86 * step / len(found))
    for number, (label, rows) in enumerate(found.items()):
        with drawing.group(
            css_class=f"arm {inks[label].css_class}", data_arm=inks[label].number, data_name=label
        ):
            for slot, row in rows.items():
                if _has_values(row):
                    middle = (
                        _LEFT + (slots.index(slot) + 0.5) * step + (number - (len(found) - 1) / 2) * width
                    )
                    _box(drawing, axis, middle, width, row, f"{label}, layer {slot_text(slot, num_heads)}")
    axis_name = "layer" if num_heads <= 1 else "layer.head"
    drawing.add(
        "text",
        axis_name,
        css_class="tick",
        x=(_LEFT + WIDTH - _RIGHT) / 2,
        y=HEIGHT - 3,
        text_anchor="middle",
    )
    return drawing.markup()


def _box(drawing: Drawing, axis: Any, x: float, width: float, row: Row, name: str) -> None:
    at = {percent: row["quantiles"].get(str(percent)) for percent in (5, 25, 50, 75, 95)}
    y = {percent: axis(value) for percent, value in at.items()}
    mean = row["mean"]
    hollow = " hollow" if row.get("counterfactual") else ""
    null = row.get("null")
    said = f"{name}: mean {short(mean)}"
    if null is not None:
        said += f", of noise or by chance {short(null)}"
    if at[5] != at[95]:
        said += f"; median {short(at[50])}, quartiles {short(at[25])} to {short(at[75])}, 5 to 95 % {short(at[5])} to {short(at[95])}"
    if row.get("num_infinite") or row.get("num_missing"):
        said += (
            f"; {row.get('num_infinite', 0)} infinite and {row.get('num_missing', 0)} missing values left out"
        )
    with drawing.group(css_class=f"box{hollow}"):
        if at[5] != at[95]:
            drawing.add("line", css_class="whisker", x1=x, x2=x, y1=y[5], y2=y[95])
            thick = max(2.4, 0.5 * width)
            drawing.add(
                "rect",
                css_class="quartiles",
                x=x - thick / 2,
                width=thick,
                y=y[75],
                height=max(1.0, y[25] - y[75]),
                tip=said,
            )
        drawing.add(
            "circle", css_class="middle", cx=x, cy=axis(mean), r=min(3.2, max(1.6, 0.24 * width)), tip=said
        )
        if null is not None:
            drawing.add(
                "line",
                css_class="null",
                x1=x - 0.46 * width,
                x2=x + 0.46 * width,
                y1=axis(null),
                y2=axis(null),
                tip=said,
            )


def _has_values(row: Row) -> bool:
    return all(row["quantiles"].get(str(percent)) is not None for percent in (5, 25, 50, 75, 95))


def _values(row: Row) -> list[float]:
    if not _has_values(row):
        return []
    null = row.get("null")
    return [row["mean"], row["quantiles"]["5"], row["quantiles"]["95"], *([] if null is None else [null])]
