"""Building a drawing as SVG text, in which nothing but our own names is markup."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from markupsafe import Markup, escape

from semfocus.report.texts import visible

Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate to a tenth of a unit, in as few characters as possible.

    >>> number(3.0), number(0.25), number(-0.5)
    ('3', '.2', '-.5')
    """
    text = f"{value:.1f}".rstrip("0").rstrip(".")
    text = text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return "0" if text in ("-0", "", "-") else text


class Drawing:
    """A list of elements; `markup` is the whole picture."""

    def __init__(self, width: float, height: float, title: str, css_class: str, **data: object) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []
        attributes = _attributes({"class": css_class, "aria-label": title, **data})
        self._open = f'<svg viewBox="0 0 {number(width)} {number(height)}" role="img"{attributes}>'

    def add(self, tag: str, text: object = None, *, tip: object = None, **attributes: object) -> None:
        """One element; `text` is its content, `tip` what a pointer resting on it shows."""
        inside = "" if text is None else str(escape(visible(text)))
        inside += "" if tip is None else f"<title>{escape(visible(tip))}</title>"
        self._parts.append(f"<{tag}{_attributes(attributes)}>{inside}</{tag}>")

    @contextmanager
    def group(self, **attributes: object) -> Iterator[None]:
        """Elements added inside the block belong together."""
        self._parts.append(f"<g{_attributes(attributes)}>")
        yield
        self._parts.append("</g>")

    def insert(self, inside: Markup) -> None:
        """What another drawing drew."""
        self._parts.append(inside)

    def markup(self) -> Markup:
        return Markup(f"{self._open}{''.join(self._parts)}</svg>")  # every part was escaped when it was added


def _attributes(attributes: dict[str, object]) -> str:
    """`css_class` writes class, `data_x` writes data-x; None leaves an attribute out."""
    written = []
    for key, value in attributes.items():
        if value is not None:
            name = "class" if key == "css_class" else key.replace("_", "-")
            shown = number(value) if isinstance(value, float) else visible(value)
            written.append(f' {name}="{escape(shown)}"')
    return "".join(written)


def path(points: Sequence[Point | None]) -> str:
    """A line through the points with relative steps; None is a gap. Points in the middle of a level stretch are left out."""
    written: list[str] = []
    here: Point | None = None
    for at, point in enumerate(points):
        if point is None:
            here = None
            continue
        x, y = round(point[0], 1), round(point[1], 1)
        if here is None:
            written.append(f"M{number(x)} {number(y)}")
        elif _level(points, at, y):
            continue
        else:
            dy = number(y - here[1])
            written.append(f"l{number(x - here[0])}{'' if dy.startswith('-') else ' '}{dy}")
        here = (x, y)
    return "".join(written)


def _level(points: Sequence[Point | None], at: int, y: float) -> bool:
    before, after = points[at - 1], points[at + 1] if at + 1 < len(points) else None
    return bool(before and after) and round(before[1], 1) == y == round(after[1], 1)  # type: ignore[index]
