"""A figure: how its tidy frame is made, and how the frame becomes a chart for a page, a file or a notebook."""

import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from altair.utils.schemapi import debug_mode

from semfocus.durable import write_durably
from semfocus.report.palette import Ink, inks
from semfocus.words import shortened, visible

#: what a figure can be written as without a browser
FORMATS = ("pdf", "png", "svg")
#: a panel in a file, and the height of one on a page, where its width is that of its column
WIDTH, HEIGHT = 300, 190
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
_LIGHT = {
    **{"paper": "#ffffff", "text": "#1b1f24", "soft": "#5b6470", "grid": "#e9ecf0", "card": "#f6f7f9"},
    **{"good": "#0068a8", "bad": "#c94f00"},
}
#: one of these events zooms; a wheel by itself scrolls the page
_ZOOM = "wheel![event.ctrlKey || event.metaKey || event.shiftKey]"


@dataclass(frozen=True)
class Look:
    """Where a chart will stand: on a page colours are CSS variables that follow its theme; live charts answer a pointer."""

    inks: Mapping[str, Ink] = field(default_factory=dict)
    on_page: bool = False
    live: bool = True

    def paint(self, name: str) -> str:
        """The colour of `text`, `soft`, `grid`, `paper`, `card`, `good` or `bad`."""
        return f"var(--{name})" if self.on_page else _LIGHT[name]

    def ink(self, arm: str) -> str:
        """The colour of an arm."""
        return f"var(--arm{self.inks[arm].number})" if self.on_page else self.inks[arm].light

    def colours(self, arms: Sequence[str], mark: str | None = "stroke") -> alt.Color:
        """An encoding of the column `arm`; on a page the legend stands beside the charts, for all of them; without a mark there is none."""
        legend = None
        if mark and not self.on_page:
            symbol: dict[str, Any] = {"symbolType": mark, "symbolStrokeWidth": 2} if mark == "stroke" else {}
            symbol |= {"symbolOpacity": 1}  # not that of a band
            legend = alt.Legend(title=None, labelLimit=220, symbolSize=90, **symbol)
        scale = alt.Scale(domain=list(arms), range=[self.ink(arm) for arm in arms])
        return alt.Color("arm:N", scale=scale, legend=legend)

    def strokes(self, arms: Sequence[str]) -> alt.Stroke:
        """The colours as outlines."""
        scale = alt.Scale(domain=list(arms), range=[self.ink(arm) for arm in arms])
        return alt.Stroke("arm:N", scale=scale, legend=None)

    def dashes(self, arms: Sequence[str]) -> alt.StrokeDash:
        """An encoding of the column `arm` by dashes: two arms of one group differ in print too."""
        spans = [[float(each) for each in self.inks[arm].dash.split()] or [1, 0] for arm in arms]
        scale = alt.Scale(domain=list(arms), range=spans)
        return alt.StrokeDash("arm:N", scale=scale, legend=None if self.on_page else alt.Legend(title=None))

    @property
    def pick(self) -> alt.Parameter:
        """The arm that a click on the legend isolates."""
        if self.on_page:  # the page's own legend sets it, in every chart of the section
            return alt.param("pick", value="")
        return alt.selection_point("pick", fields=["arm"], bind="legend")

    def picked(self, yes: float, no: float) -> alt.OpacityValue:
        """The opacity of marks of the isolated arm, or of all if none is, and that of the others."""
        if not self.live:
            return alt.OpacityValue(yes)
        test = {"test": "pick === '' || datum.arm === pick"} if self.on_page else {"param": "pick"}
        return alt.OpacityValue(no, condition={**test, "value": yes})

    def found(self, hover: alt.Parameter) -> alt.OpacityValue:
        """Seen under the pointer only."""
        return alt.OpacityValue(0, condition={"param": hover.name, "empty": False, "value": 1})

    def hover(self, index: int, fields: Sequence[str]) -> alt.Parameter:
        """The nearest point under the pointer."""
        return alt.selection_point(
            f"hover{index}",
            on="pointerover",
            clear="pointerout",
            nearest=True,
            fields=list(fields),
            empty=False,
        )

    def zoom(self, index: int) -> alt.Parameter:
        """Drag to move, wheel with Ctrl or Shift to zoom, a double click goes back."""
        return alt.selection_interval(f"zoom{index}", bind="scales", zoom=_ZOOM)

    def value(self, index: int, name: str) -> alt.ExprRef:
        """One of the panel's own values: it stands beside the marks, so that panels of one kind share their marks."""
        return alt.ExprRef(f"{name}{index}")

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
            },
            "axisY": {"ticks": False, "labelPadding": 5},
            "axisX": {"grid": False, "domain": True},
            "legend": {"labelColor": text, "labelFontSize": 12, "orient": "bottom", "columns": 4},
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
    draw: Callable[[Any, Look, int], Any]
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

    def chart(self, data: Any, look: Look, index: int = 0, *, fluid: bool = False) -> Any:
        """The marks over these data; `fluid`: as wide as what they stand in, which also has the title."""
        drawn: Any = self.draw(data, look, index)
        if self.values:
            drawn = drawn.add_params(
                *(alt.param(f"{name}{index}", value=each) for name, each in self.values.items())
            )
        # set, not through properties(), which validates each value
        if self.title and not fluid:
            below: dict[str, Any] = {"subtitle": visible(self.subtitle)} if self.subtitle else {}
            drawn.title = alt.TitleParams(visible(self.title), **below)
        drawn.width = "container" if fluid and not self.square else self.width
        drawn.height = self.height
        return drawn

    def to_dict(self, look: Look, *, fluid: bool = False) -> dict[str, Any]:
        """The chart of this panel alone as Vega-Lite, without its rows."""
        with debug_mode(False):  # tests validate every chart; here that would take longer than all else
            drawn = self.chart(alt.NamedData(name="rows0"), look, fluid=fluid)
            drawn.config, drawn.padding = look.config(), 0
            return drawn.to_dict(validate=False)


@dataclass(frozen=True)
class Figure:
    """A name, what makes its tidy frame, and what makes panels of the frame."""

    name: str
    title: str
    frame: Callable[..., pl.DataFrame]
    panels: Callable[[pl.DataFrame, Mapping[str, Ink]], list[Panel]]
    columns: int = 2
    #: a chart of the whole frame for a page without scripts, where one of all panels would take too long
    overview: Callable[[pl.DataFrame, Look], Any] | None = None

    def of(self, *measured: Any, inks: Mapping[str, Ink] | None = None) -> "Picture":
        """The figure of what its frame is made of: for a study's figure a list of task summaries."""
        return Picture(self, self.frame(*measured), inks)

    def chart(self, frame: pl.DataFrame, chosen: Mapping[str, Ink] | None = None) -> alt.TopLevelMixin:
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

    def named(self, title: str) -> "Picture":
        """The same under another title."""
        return replace(self, title=title)

    def chart(self) -> alt.TopLevelMixin:
        """All panels in one chart, with its data."""
        panels = self.panels
        return self._whole(
            panels, [alt.InlineData(values=each.rows.to_dicts()) for each in panels], Look(self.chosen)
        )

    def to_dict(self, look: Look | None = None) -> dict[str, Any]:
        """The chart as Vega-Lite; its rows stand beside it, where Altair would check them one by one."""
        look = look or Look(self.chosen)
        panels = self.panels
        names = [f"rows{index}" for index in range(len(panels))]
        chart = self._whole(panels, [alt.NamedData(name=name) for name in names], look)
        datasets = {name: each.rows.to_dicts() for name, each in zip(names, panels, strict=True)}
        with debug_mode(False):
            return {**chart.to_dict(validate=False), "datasets": datasets}

    def overview(self) -> str:
        """A static picture in the colours of a page, as little work as possible."""
        import vl_convert

        look = Look(self.chosen, on_page=True, live=False)
        if self.figure.overview is None:
            return self.svg(look)
        with debug_mode(False):
            chart = self.figure.overview(self.frame, look)
            chart.config, chart.padding = look.config(), 0
            return vl_convert.vegalite_to_svg(chart.to_dict(validate=False))

    def _whole(self, panels: Sequence[Panel], data: Sequence[alt.Data], look: Look) -> Any:
        pairs = zip(panels, data, strict=True)
        with debug_mode(False):
            return self._put_together(pairs, look)

    def _put_together(self, pairs: Iterable[tuple[Panel, alt.Data]], look: Look) -> Any:
        drawn = [panel.chart(own, look, index) for index, (panel, own) in enumerate(pairs)]
        whole: Any = drawn[0] if len(drawn) == 1 else alt.concat(*drawn, columns=self.figure.columns)
        title = self.title or (self.figure.title if len(drawn) > 1 else "")
        if title and not look.on_page:
            whole.title = alt.TitleParams(shortened(title, 90), fontSize=15, offset=12)
        whole.config, whole.padding = look.config(), 0 if look.on_page else 12
        return whole

    def svg(self, look: Look | None = None) -> str:
        """A static picture."""
        import vl_convert

        return vl_convert.vegalite_to_svg(self.to_dict(look or Look(self.chosen, live=False)))

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
