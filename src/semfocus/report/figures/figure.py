"""A figure: how its tidy frame is made, and how the frame becomes a chart for a page, a file or a notebook."""

import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from semfocus.durable import write_durably
from semfocus.report.figures.vega_lite import SCHEMA, Spec, column, layers, mark, one_row, side_by_side
from semfocus.report.palette import Ink, inks
from semfocus.words import shortened, visible

if TYPE_CHECKING:
    from altair import TopLevelMixin

#: what a figure can be written as without a browser
FORMATS = ("pdf", "png", "svg")
#: a panel in a file, and the height of one on a page, where its width is that of its column
WIDTH, HEIGHT = 300, 190
NOTHING = "Nothing was measured for this figure."
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_LIGHT = {
    **{"paper": "#ffffff", "text": "#1b1f24", "soft": "#5b6470", "grid": "#e9ecf0", "card": "#f6f7f9"},
    **{"good": "#0068a8", "bad": "#c94f00"},
}
#: one of these events zooms; a wheel by itself scrolls the page
_ZOOM = "wheel![event.ctrlKey || event.metaKey || event.shiftKey]"


@dataclass(frozen=True)
class Look:
    """Where a chart will stand: on a page colours are CSS variables that follow its theme; live charts answer
    a pointer.
    """

    inks: Mapping[str, Ink] = field(default_factory=dict)
    on_page: bool = False
    live: bool = True

    def paint(self, name: str) -> str:
        """The colour of `text`, `soft`, `grid`, `paper`, `card`, `good` or `bad`."""
        return f"var(--{name})" if self.on_page else _LIGHT[name]

    def ink(self, arm: str) -> str:
        """The colour of an arm."""
        return f"var(--arm{self.inks[arm].number})" if self.on_page else self.inks[arm].light

    def colours(self, arms: Sequence[str], mark: str | None = "stroke") -> Spec:
        """A channel of the column `arm`; on a page the legend stands beside the charts, for all of them;
        without a mark there is none.
        """
        legend: Spec | None = None
        if mark and not self.on_page:
            symbol: Spec = {"symbolType": mark, "symbolStrokeWidth": 2} if mark == "stroke" else {}
            # a symbol is opaque, whatever the opacity of a band
            legend = {"title": None, "labelLimit": 220, "symbolSize": 90, "symbolOpacity": 1, **symbol}
        return column("arm:N", scale=self._inked(arms), legend=legend)

    def strokes(self, arms: Sequence[str]) -> Spec:
        """The colours as outlines."""
        return column("arm:N", scale=self._inked(arms), legend=None)

    def _inked(self, arms: Sequence[str]) -> Spec:
        return {"domain": list(arms), "range": [self.ink(arm) for arm in arms]}

    def dashes(self, arms: Sequence[str]) -> Spec:
        """A channel of the column `arm` by dashes: two arms of one group differ in print too."""
        spans = [[float(each) for each in self.inks[arm].dash.split()] or [1, 0] for arm in arms]
        scale = {"domain": list(arms), "range": spans}
        return column("arm:N", scale=scale, legend=None if self.on_page else {"title": None})

    @property
    def pick(self) -> Spec:
        """The arm that a click on the legend isolates."""
        if self.on_page:  # the page's own legend sets it, in every chart of the section
            return {"name": "pick", "value": ""}
        return {"name": "pick", "select": {"type": "point", "fields": ["arm"]}, "bind": "legend"}

    def picked(self, yes: float, no: float) -> Spec:
        """The opacity of marks of the isolated arm, or of all if none is, and that of the others."""
        if not self.live:
            return {"value": yes}
        test = {"test": "pick === '' || datum.arm === pick"} if self.on_page else {"param": "pick"}
        return {"value": no, "condition": {**test, "value": yes}}

    def hover(self, index: int, fields: Sequence[str]) -> Spec:
        """The nearest point under the pointer."""
        events = {"on": "pointerover", "clear": "pointerout", "nearest": True}
        return {"name": f"hover{index}", "select": {"type": "point", "fields": list(fields), **events}}

    def found(self, index: int) -> Spec:
        """Seen under the pointer of `hover` only."""
        return {"value": 0, "condition": {"param": f"hover{index}", "empty": False, "value": 1}}

    def zoom(self, index: int) -> Spec:
        """Drag to move, wheel with Ctrl or Shift to zoom, a double click goes back."""
        return {"name": f"zoom{index}", "select": {"type": "interval", "zoom": _ZOOM}, "bind": "scales"}

    def value(self, index: int, name: str) -> Spec:
        """One of the panel's own values: it stands beside the marks, so that panels of one kind share their marks."""
        return {"expr": f"{name}{index}"}

    def config(self) -> dict[str, Any]:
        """Fonts, and the colours of all that is not data."""
        text, soft, grid = (self.paint(name) for name in ("text", "soft", "grid"))
        return {
            "background": "transparent" if self.on_page else self.paint("paper"),
            "font": FONT,
            "view": {"stroke": None},
            "axis": {
                **{"labelColor": soft, "titleColor": soft, "labelFontSize": 11, "titleFontSize": 11},
                **{"titleFontWeight": "normal", "gridColor": grid, "domainColor": soft, "tickColor": soft},
                **{"labelOverlap": True, "domain": False, "tickSize": 4},
                "labelLimit": 0,  # to know that a number is short enough would cost Vega a millisecond
            },
            "axisY": {"ticks": False, "labelPadding": 5},
            "axisX": {"grid": False, "domain": True},
            "legend": {
                **{
                    "labelColor": text,
                    "labelFontSize": 12,
                    "orient": "bottom",
                    "columns": 4,
                    "columnPadding": 24,
                },
                **{"titleColor": soft, "symbolBaseFillColor": soft, "symbolBaseStrokeColor": soft},
            },
            "title": {
                "color": text,
                "fontSize": 12.5,
                "anchor": "start",
                "fontWeight": 600,
                "subtitleColor": soft,
            },
            "text": {"color": text, "fontSize": 11},
        }


@dataclass(frozen=True)
class Panel:
    """One frame of axes: its rows, and what draws marks over them; an index tells the panels of a chart apart."""

    title: str
    rows: pl.DataFrame
    draw: Callable[[Spec, Look, int], Spec]
    height: int = HEIGHT
    width: int = WIDTH
    #: of a page's whole width, scrolled inside its box where that is too narrow
    wide: bool = False
    subtitle: str = ""
    #: numbers and words of this panel, for `Look.value`
    values: Mapping[str, Any] = field(default_factory=dict)
    #: equal for panels whose marks differ in nothing but `values`; a page then describes them once
    kind: Hashable = None
    #: as wide as high, whatever the width of its column
    square: bool = False

    def described(self, look: Look, index: int = 0, *, fluid: bool = False) -> Spec:
        """The marks over `rows0`, or those of another index; `fluid`: as wide as what they stand in, which
        also has the title.
        """
        found = self.draw({"name": f"rows{index}"}, look, index)
        if self.values:
            own = [{"name": f"{name}{index}", "value": each} for name, each in self.values.items()]
            found["params"] = [*found.get("params", ()), *own]
        if self.title and not fluid:
            found["title"] = {"text": visible(self.title)}
            if self.subtitle:
                found["title"]["subtitle"] = visible(self.subtitle)
        found["width"] = "container" if fluid and not self.square else self.width
        found["height"] = self.height
        return found

    def to_dict(self, look: Look, *, fluid: bool = False) -> Spec:
        """The chart of this panel alone as Vega-Lite, without its rows."""
        alone = side_by_side([self.described(look, fluid=fluid)], 1)
        return {"$schema": SCHEMA, **alone, "config": look.config(), "padding": 0}


@dataclass(frozen=True)
class Figure:
    """A name, what makes its tidy frame, and what makes panels of the frame."""

    name: str
    title: str
    frame: Callable[..., pl.DataFrame]
    panels: Callable[[pl.DataFrame, Mapping[str, Ink]], list[Panel]]
    columns: int = 2
    #: a chart of the whole frame for a page without scripts, where one of all panels would take too long
    overview: Callable[[pl.DataFrame, Look], Spec] | None = None

    def of(self, *measured: Any, inks: Mapping[str, Ink] | None = None) -> "Picture":
        """The figure of what its frame is made of: for a study's figure a list of task summaries."""
        return Picture(self, self.frame(*measured), inks)

    def chart(self, frame: pl.DataFrame, chosen: Mapping[str, Ink] | None = None) -> "TopLevelMixin":
        """The chart with its data, legend and colours for white paper."""
        return Picture(self, frame, chosen).chart()


@dataclass(frozen=True)
class Picture:
    """A figure with its frame; a notebook shows it as SVG, `interactive()` with everything a pointer can do."""

    figure: Figure
    frame: pl.DataFrame
    inks: Mapping[str, Ink] | None = None
    title: str = ""

    @property
    def chosen(self) -> Mapping[str, Ink]:
        """An ink for each arm: those of the page, or of the frame's own arms and groups."""
        if self.inks is not None:
            return {visible(label): ink for label, ink in self.inks.items()}
        if "arm" not in self.frame.columns or "group" not in self.frame.columns:
            return {}
        pairs = self.frame.select("arm", "group").drop_nulls("arm").unique(maintain_order=True)
        return inks(dict(pairs.iter_rows()))

    @property
    def panels(self) -> list[Panel]:
        """None, where the frame has nothing to show."""
        return self.figure.panels(self.frame, self.chosen) if len(self.frame) else []

    @property
    def _nothing(self) -> Panel:
        """What stands where nothing was measured: a blank picture might as well be an error."""

        def draw(data: Spec, look: Look, index: int) -> Spec:
            return layers(one_row(), mark("text", {}, text=NOTHING, fontSize=13, color=look.paint("soft")))

        return Panel(self.title or self.figure.title, pl.DataFrame(), draw, height=60, width=420)

    def named(self, title: str) -> "Picture":
        """The same under another title."""
        return replace(self, title=title)

    def chart(self) -> "TopLevelMixin":
        """All panels in one Altair chart, with its data."""
        import altair

        return altair.Chart.from_dict(self.to_dict())

    def to_dict(self) -> Spec:
        """All panels as Vega-Lite, with their rows."""
        panels = self.panels or [self._nothing]
        rows = {f"rows{index}": panel.rows.to_dicts() for index, panel in enumerate(panels)}
        return {**self._described(panels, Look(self.chosen)), "datasets": rows}

    def _described(self, panels: Sequence[Panel], look: Look) -> Spec:
        drawn = [panel.described(look, index) for index, panel in enumerate(panels)]
        whole = side_by_side(drawn, self.figure.columns)
        title = self.title or (self.figure.title if len(drawn) > 1 else "")
        if title and not look.on_page:
            whole["title"] = {"text": shortened(title, 90), "fontSize": 15, "offset": 12}
        return {"$schema": SCHEMA, **whole, "config": look.config(), "padding": 0 if look.on_page else 12}

    def overview(self) -> str:
        """As Vega-Lite the static picture of a page, in its colours and as little work as possible."""
        look = Look(self.chosen, on_page=True, live=False)
        if self.figure.overview is None:
            return self.described(look)
        chart = self.figure.overview(self.frame, look)
        return json.dumps({"$schema": SCHEMA, **chart, "config": look.config(), "padding": 0})

    def described(self, look: Look) -> str:
        """`to_dict` as JSON; polars writes the rows in a tenth of the time."""
        panels = self.panels or [self._nothing]
        text = json.dumps(self._described(panels, look))
        rows = ",".join(f'"rows{index}":{panel.rows.write_json()}' for index, panel in enumerate(panels))
        return f'{text[:-1]},"datasets":{{{rows}}}}}'

    def svg(self) -> str:
        """A static picture."""
        import vl_convert

        return vl_convert.vegalite_to_svg(self.described(Look(self.chosen, live=False)))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an SVG, PDF or PNG file, or an interactive HTML page that needs nothing else; its ending decides."""
        target = Path(path)
        kind = target.suffix.removeprefix(".").lower()
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind == "html":
            write_durably(target, self.interactive().page.encode())
            return target
        write_durably(target, self.written(kind))
        return target

    def written(self, kind: str) -> bytes:
        """The static picture in one of FORMATS."""
        import vl_convert

        if kind not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
        drawn = self.svg()
        if kind == "svg":
            return drawn.encode()
        return vl_convert.svg_to_pdf(drawn) if kind == "pdf" else vl_convert.svg_to_png(drawn, scale=2)

    def interactive(self) -> "Interactive":
        """For a notebook: the chart in a frame of its own, without any network."""
        return Interactive(self)

    def _repr_svg_(self) -> str:
        return self.svg()


@dataclass(frozen=True)
class Interactive:
    """A picture that answers a pointer, in a notebook or a page of its own."""

    picture: Picture

    @property
    def page(self) -> str:
        """The page as text."""
        from semfocus.report.pages.album import single_page

        return single_page(self.picture)

    def _repr_html_(self) -> str:
        from markupsafe import escape

        height = 60 + sum(panel.height + 90 for panel in self.picture.panels)
        return f'<iframe srcdoc="{escape(self.page)}" style="width:100%;height:{height}px;border:0"></iframe>'


def tidy(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> pl.DataFrame:
    """A frame of these columns; texts with every character visible, numbers that are not finite as null."""
    kinds = {float: pl.Float64, int: pl.Int64, str: pl.String, bool: pl.Boolean}
    listed = list(rows)
    return pl.DataFrame(
        {name: [_cell(row.get(name), kind) for row in listed] for name, kind in columns.items()},
        schema={name: kinds[kind] for name, kind in columns.items()},
    )


def _cell(value: Any, kind: type) -> Any:
    if value is None:
        return None
    if kind is str:
        return visible(value)
    if kind is float:
        return float(value) if math.isfinite(value) else None
    return value
