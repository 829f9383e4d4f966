"""The charts of one page: each described once, drawn by Vega in the page, and as a static picture where scripts are off."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from semfocus.durable import write_text
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

    def add(self, picture: "Picture", *, static: bool = True) -> Markup:
        """A box for each panel, and between `noscript` the static picture; nothing, if there is nothing to show."""
        panels = picture.panels
        boxes = Markup("").join(self._box(panel) for panel in panels)
        return boxes + self.static(picture) if static and panels else boxes

    def static(self, picture: "Picture") -> Markup:
        """The picture for readers without scripts."""
        drawn = Markup(picture.overview())  # Vega escapes what is text
        return Markup('<noscript><figure class="static">{}</figure></noscript>').format(drawn)

    def _box(self, panel: "Panel") -> Markup:
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
        return Markup(
            '<figure class="{}">{}<div class="chart" data-chart="{}" role="img" aria-label="{}" style="min-height:{}px"></div></figure>'
        ).format(kind, caption, number, name or "figure", panel.height + _AXIS_ROOM)

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


#: of the library as vl-convert makes it, by version: what is read from the cache must be this and nothing else
_BUNDLES = {"1.9.0": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572"}


def vega_bundle() -> str:
    """Vega, Vega-Lite and vega-embed as one script: made by vl-convert in seconds, or read from the user's cache."""
    import vl_convert

    expected = _BUNDLES.get(version("vl-convert-python"))
    place = None if expected is None else _cache()
    if place is not None:
        with suppress(OSError, ValueError):
            text = place.read_text(encoding="utf-8")
            if hashlib.sha256(text.encode()).hexdigest() == expected:
                return text
    text = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    text = text.replace("</script", "<\\/script")
    if place is not None and hashlib.sha256(text.encode()).hexdigest() == expected:
        with suppress(OSError):
            write_text(place, text)
    return text


def _cache() -> Path | None:
    """Where the library is kept; nowhere for a user without a home."""
    with suppress(RuntimeError):
        named = Path(os.environ.get("XDG_CACHE_HOME", ""))
        folder = named if named.is_absolute() else Path.home() / ".cache"
        return folder / "semfocus" / f"vega-{version('vl-convert-python')}.js"
    return None


def single_page(picture: "Picture", reading: str = "", sentences: Iterable[str] = ()) -> str:
    """One picture alone on a page, with its legend, how to read it, and what it says."""
    from semfocus.report.pages.template import render

    album = Album(picture.chosen)
    return render(
        "single",
        album,
        picture.chosen,
        title=picture.title or picture.figure.title,
        figure=album.add(picture),
        reading=reading,
        sentences=list(sentences),
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
