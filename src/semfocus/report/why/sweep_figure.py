"""A quantity over the number of kept keys, one line a task, named at its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from semfocus.report.scales import Linear, Logarithmic
from semfocus.report.spread import spread
from semfocus.report.svg import Drawing, number, path
from semfocus.report.texts import shortened
from semfocus.report.value_axis import tick_text

WIDTH, HEIGHT = 380.0, 262.0
_TOP, _BOTTOM, _LEFT, _RIGHT = 26.0, 36.0, 42.0, 104.0
#: colours for lines that are no arms, in style.css
NUM_HUES = 8


@dataclass(frozen=True)
class Place:
    """`beyond`: 1 if the true value lies above, -1 if below."""

    k: int
    value: float
    beyond: int = 0


def sweep_figure(title: str, lines: Mapping[str, Sequence[Place]], logarithmic: bool) -> Markup | None:
    """None without a value; what is not above 0 has no place on a logarithmic axis."""
    there = {name: [each for each in own if each.value > 0 or not logarithmic] for name, own in lines.items()}
    values = [each.value for own in there.values() for each in own]
    sizes = sorted({each.k for own in there.values() for each in own})
    if not values:
        return None
    room = 0.06 * (max(values) - min(values)) or 0.01
    y: Linear | Logarithmic = (
        Logarithmic(min(values) / 1.3, max(values) * 1.3, HEIGHT - _BOTTOM, _TOP)
        if logarithmic
        else Linear(min(values) - room, max(values) + room, HEIGHT - _BOTTOM, _TOP)
    )
    x = Logarithmic(min(sizes) / 1.05, max(sizes) * 1.05 + 0.1, _LEFT, WIDTH - _RIGHT)
    drawing = Drawing(WIDTH, HEIGHT, title, "scatter")
    drawing.add("text", title, css_class="panel-title", x=_LEFT - 30, y=13.0)
    _frame(drawing, x, y, sizes)
    hues = {name: f"hue{place % NUM_HUES}" for place, name in enumerate(lines)}
    for name, own in there.items():
        with drawing.group(css_class=hues[name]):
            drawing.add(
                "path", css_class="median", d=path([(x(each.k), y(each.value)) for each in own]), tip=name
            )
            for each in own:
                _mark(drawing, each, x(each.k), y(each.value), f"{name}, k {each.k}: {each.value:.3g}")
    _names(drawing, {name: y(own[-1].value) for name, own in there.items() if own}, hues)
    return drawing.markup()


def _frame(drawing: Drawing, x: Logarithmic, y: Linear | Logarithmic, sizes: Sequence[int]) -> None:
    for value in y.ticks(8 if isinstance(y, Logarithmic) else 5):
        place = y(value)
        drawing.add("line", css_class="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=place, y2=place)
        drawing.add("text", tick_text(value), css_class="tick", x=_LEFT - 5, y=place + 3.6, text_anchor="end")
    bottom, last = HEIGHT - _BOTTOM, -100.0
    for k in sizes:
        place = x(k)
        drawing.add("line", css_class="axis", x1=place, x2=place, y1=bottom, y2=bottom + 4)
        if place - last > 16:
            drawing.add("text", k, css_class="tick", x=place, y=bottom + 15, text_anchor="middle")
            last = place
    drawing.add("line", css_class="axis", x1=_LEFT, x2=WIDTH - _RIGHT, y1=bottom, y2=bottom)
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    drawing.add("text", "kept keys k", css_class="tick", x=middle, y=HEIGHT - 5, text_anchor="middle")


def _mark(drawing: Drawing, place: Place, x: float, y: float, tip: str) -> None:
    if place.beyond:
        shape = f"M{number(x)} {number(y - 6.0 * place.beyond)}l-4.5 {7 * place.beyond}h9z"
        drawing.add("path", css_class="point open", d=shape, tip=tip)
    else:
        drawing.add("circle", css_class="point", cx=x, cy=y, r=3.2, tip=tip)


def _names(drawing: Drawing, ends: Mapping[str, float], hues: Mapping[str, str]) -> None:
    places = spread(list(ends.values()), 12.5, _TOP, HEIGHT - _BOTTOM)
    for name, place in zip(ends, places, strict=True):
        drawing.add(
            "text",
            shortened(name, 17),
            css_class=f"end-label {hues[name]}",
            x=WIDTH - _RIGHT + 6,
            y=place + 3.5,
        )
