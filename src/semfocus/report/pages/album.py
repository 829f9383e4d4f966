"""The charts of one page: each described once, drawn by Vega in the page, and as a static picture where
scripts are off.
"""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from semfocus.report.pages.vega import painter, vega_bundle
from semfocus.report.palette import Ink
from semfocus.words import visible

if TYPE_CHECKING:
    import polars as pl

    from semfocus.report.figures import Panel, Picture

#: more room below a panel than its axis needs would move the page when charts appear
_AXIS_ROOM = 42


class Album:
    """What `add` was given; `data` is everything that the page's script draws from."""

    def __init__(self, inks: Mapping[str, Ink]) -> None:
        self._inks = inks
        self._specs: list[dict[str, Any]] = []
        self._kinds: dict[Any, int] = {}
        self._charts: list[dict[str, Any]] = []
        self._painter = painter()
        self._pictures: list[Future[str]] = []

    def add(self, picture: "Picture", *, static: bool = True) -> Markup:
        """A box for each panel, and between `noscript` the static picture; nothing, if there is nothing to show."""
        panels = picture.panels
        boxes = Markup("").join(self._box(panel, picture.title or picture.figure.title) for panel in panels)
        return boxes + self.static(picture) if static and panels else boxes

    def static(self, picture: "Picture") -> Markup:
        """A place for the static picture, which is drawn while the rest of the page is written."""
        self._pictures.append(self._painter.draw(picture.overview()))
        return Markup("<noscript>{}</noscript>").format(self._place(len(self._pictures) - 1))

    def _place(self, number: int) -> Markup:
        """No text of a user has such a mark: it would be escaped."""
        return Markup('<figure class="static" id="static-{}">').format(number)

    def complete(self, page: str) -> str:
        """The page with its static pictures; Vega has escaped what is text in them."""
        for number, drawn in enumerate(self._pictures):
            place = self._place(number)
            page = page.replace(place, f"{place}{drawn.result()}</figure>", 1)
        return page

    def _box(self, panel: "Panel", whole: str) -> Markup:
        number = len(self._charts)
        self._charts.append(
            {"spec": self._spec(panel), "values": dict(panel.values), "columns": columns_of(panel.rows)}
        )
        name = visible(panel.title)
        below = Markup("<small>{}</small>").format(visible(panel.subtitle)) if panel.subtitle else ""
        caption = (
            Markup('<figcaption class="panel-title">{}{}</figcaption>').format(name, below) if name else ""
        )
        kind = "picture wide" if panel.wide else "picture square" if panel.square else "picture"
        kind += " slim" if "narrow" in panel.values else ""
        return Markup(
            '<figure class="{}">{}<div class="chart" data-chart="{}" role="img" aria-label="{}" style="min-height:{}px"></div></figure>'
        ).format(kind, caption, number, name or visible(whole), panel.height + _AXIS_ROOM)

    def _spec(self, panel: "Panel") -> int:
        """The number of its description; panels of one kind share theirs."""
        from semfocus.report.figures import Look

        key = None if panel.kind is None else (panel.kind, panel.height)
        if key is None or key not in self._kinds:
            look = Look({visible(label): ink for label, ink in self._inks.items()}, on_page=True)
            spec = panel.to_dict(look, fluid=True)
            spec["autosize"] = {"type": "pad" if panel.square else "fit-x", "contains": "padding"}
            self._specs.append(spec)
            if key is None:
                return len(self._specs) - 1
            self._kinds[key] = len(self._specs) - 1
        return self._kinds[key]

    @property
    def data(self) -> Markup:
        """JSON in which nothing can end the block or is a program."""
        text = json.dumps(
            {"specs": self._specs, "charts": self._charts},
            allow_nan=False,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        for character in "<>&\u2028\u2029":
            text = text.replace(character, f"\\u{ord(character):04x}")
        return Markup(text)

    @property
    def bundle(self) -> Markup:
        """The library that draws, if there is something to draw."""
        return Markup(vega_bundle()) if self._charts else Markup("")


def columns_of(frame: "pl.DataFrame") -> dict[str, Any]:
    """The columns of a frame in few characters: what repeats is said once. The script makes rows of them again."""
    return {name: _packed(frame[name]) for name in frame.columns}


def _packed(column: "pl.Series") -> Any:
    """`{"tile": [...], "times": n}`, `{"runs": [[value, times], ...]}` or the plain list; numbers to five digits."""
    if column.dtype.is_float():
        column = column.round_sig_figs(5)
        whole = column.drop_nulls()
        if len(whole) and (whole == whole.floor()).all() and (whole.abs() < 1e9).all():
            column = column.cast(int)
    values = column.to_list()
    period = _period(values)
    if period:
        return {"tile": values[:period], "times": len(values) // period}
    runs = column.rle()
    if 3 * len(runs) < len(values):
        lengths, own = runs.struct.field("len").to_list(), runs.struct.field("value").to_list()
        return {"runs": [list(each) for each in zip(own, lengths, strict=True)]}
    return values


def _period(values: list[Any]) -> int:
    """After how many values they repeat to the end; 0 if they do not."""
    if len(values) < 4 or values[0] == values[1]:
        return 0
    with suppress(ValueError):
        period = values.index(values[0], 1)
        if len(values) % period == 0 and values == values[:period] * (len(values) // period):
            return period
    return 0


def single_page(picture: "Picture", reading: str = "", sentences: Iterable[str] = ()) -> str:
    """One picture alone on a page, with its legend, how to read it, and what it says."""
    from semfocus.report.figures.figure import NOTHING
    from semfocus.report.pages.template import render

    album = Album(picture.chosen)
    return render(
        "single",
        album,
        picture.chosen,
        title=picture.title or picture.figure.title,
        figure=album.add(picture),
        reading=reading,
        sentences=list(sentences) if picture.panels else [NOTHING],
    )


def legend_html(entries: Iterable[tuple[str, Ink]]) -> Markup:
    """A button for each arm; a click isolates it in every chart of the section."""
    keys = Markup("").join(
        Markup(
            '<button type="button" class="key {}" data-name="{}" aria-pressed="false" title="{}"><svg class="swatch" viewBox="0 0 30 10" aria-hidden="true"><path class="median" d="M1 5H29"></path></svg>{}</button>'
        ).format(ink.css_class, visible(label), visible(label), _short(label))
        for label, ink in entries
    )
    return Markup('<p class="legend" role="group" aria-label="attention">{}</p>').format(keys)


def _short(label: str) -> Markup:
    from semfocus.words import shortened

    return escape(shortened(label, 28))
