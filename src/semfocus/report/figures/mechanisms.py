"""Figures of single mechanism tests: published conditions, rank correlations, kept keys, worst cases,
quantities along training.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from semfocus.report.figures.axis import PLAIN, Axis, logarithmic, round_ticks, value_axis, zoomed
from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.learning import from_round_share
from semfocus.report.figures.lines import Line, line_frame, line_panel, panels_of
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, one_row, tooltip
from semfocus.report.palette import Ink
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.analysis.why.dispersion_table import TableRow
    from semfocus.analysis.why.worst_case import WorstCase
    from semfocus.analysis.why.yardsticks import Yardstick

#: colours for lines that are no arms, on light and on dark paper
HUES = ("#1f77c4", "#d9620f", "#0f9873", "#b04fa0", "#a98600", "#7a6ad8", "#c9416b", "#7b8794")
#: what is farther out stands at the edge, as an arrow
_LOWEST, _HIGHEST = 0.2, 50.0
_LABEL: dict[str, Any] = {
    "labelLimit": 190,
    "title": None,
    "domain": False,
    "labelFontSize": 12,
    "grid": True,
}


def condition_frame(rows: Iterable["TableRow"]) -> pl.DataFrame:
    """A row for each task, source and quantile: the left-hand side of the published condition in W."""
    found = [
        {
            **{"task": row.task, "source": row.source, "quantile": column["quantile"]},
            **{"value": value, "beyond": not math.isfinite(value) or value > _HIGHEST},
        }
        for row in rows
        for column in row.columns
        if (value := column["published"]["lhs_w"]) is not None and value > 0
    ]
    for each in found:
        each["shown"] = min(max(each["value"], _LOWEST), _HIGHEST)
    kinds: dict[str, type] = {
        "task": str,
        "source": str,
        "quantile": float,
        "value": float,
        "shown": float,
        "beyond": bool,
    }
    return tidy(found, kinds)


def _condition_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    tasks, sources = (frame[name].unique(maintain_order=True).to_list() for name in ("task", "source"))
    low, high = min([0.5, *frame["shown"]]) / 1.2, max([2.0, *frame["shown"]]) * 1.2

    def draw(data: Spec, look: Look, index: int) -> Spec:
        ticks = {
            **{"values": round_ticks(low, high, 9), "labelExpr": PLAIN, "grid": True},
            "title": "left-hand side of the published condition in W (left of 1: top-k's bound is the smaller)",
        }
        across = {"scale": {"type": "log", "domain": [low, high], "nice": False}, "axis": ticks}
        paints = [look.paint("good"), "#7a6ad8", look.paint("bad")][: len(sources)]
        legend = {"title": None, "orient": "top", "labelLimit": 260}
        base = {
            "x": column("shown:Q", **across),
            "y": column("task:N", sort=tasks, axis=_LABEL),
            "yOffset": column("source:N", sort=sources, scale={"paddingOuter": 0.3}),
            "color": column(
                "source:N", sort=sources, scale={"domain": sources, "range": paints}, legend=legend
            ),
        }
        said = tooltip("task:N", "source:N", ("quantile:Q", "quantile, %"), ("value:Q", "value", ".3~g"))
        marks = {**base, "tooltip": said}
        size = column(
            "quantile:O", scale={"range": [16, 90]}, legend={"title": "quantile, %", "orient": "bottom"}
        )
        beyond: Spec = {"where": "datum.beyond", "shape": "triangle-right", "filled": True, "size": 60}
        return layers(
            data,
            _rule(look, one=1, x=column("one:Q", **across)),
            mark(
                "line",
                {**base, "detail": [column("source:N"), column("task:N")]},
                strokeWidth=1.4,
                opacity=0.7,
            ),
            mark("circle", {**marks, "size": size}, where="!datum.beyond", opacity=0.85),
            mark("point", marks, opacity=1, **beyond),
        )

    return [Panel("", frame, draw, height=16 * len(tasks) * len(sources) + 10, width=640, wide=True)]


def correlation_frame(found: Iterable["Yardstick"]) -> pl.DataFrame:
    """A row for each quantity and set of arms: its rank correlation with the epochs to target."""
    rows = [
        {
            **{"words": each.words, "arms": arms, "value": own.value, "low": own.low, "high": own.high},
            "pairs": f"{count_of(own.num_pairs, 'pair')} of known order",
        }
        for each in found
        for arms, own in (("all arms", each.correlation), ("without fixed patterns", each.choosing))
        if own.value is not None
    ]
    return tidy(rows, {"words": str, "arms": str, "value": float, "low": float, "high": float, "pairs": str})


def _correlation_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    words = frame["words"].unique(maintain_order=True).to_list()

    def draw(data: Spec, look: Look, index: int) -> Spec:
        ticks = {
            **{"values": [-1, -0.5, 0, 0.5, 1], "grid": True},
            "title": "← more of it · rank correlation · less of it learns first →",
        }
        across = {"scale": {"domain": [-1.05, 1.05], "nice": False}, "axis": ticks}
        paints = {"range": [look.paint("good"), look.paint("bad")]}
        base = {
            "y": column("words:N", sort=words, axis={**_LABEL, "labelLimit": 270}),
            "yOffset": column("arms:N", scale={"paddingOuter": 0.6}),
            "color": column("arms:N", scale=paints, legend={"title": None, "orient": "top"}),
        }
        interval = {**base, "x": column("low:Q", **across), "x2": {"field": "high"}}
        said = tooltip("words:N", "arms:N", ("value:Q", "value", "+.2f"), "pairs:N")
        values = {**base, "x": column("value:Q", **across), "tooltip": said}
        return layers(
            data,
            _rule(look, zero=0, x=column("zero:Q", **across)),
            mark("rule", interval, where="datum.low !== null", strokeWidth=1.5),
            mark("circle", values, size=64, opacity=1),
        )

    return [
        Panel(
            "Rank correlation with epochs to target",
            frame,
            draw,
            height=34 * len(words),
            width=420,
            wide=True,
        )
    ]


def _rule(look: Look, x: Spec, **value: float) -> Spec:
    """An upright line at the value that tells two sides apart."""
    return mark("rule", {"x": x}, data=one_row(**value), color=look.paint("text"), strokeWidth=1.2)


def kept_keys_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """A row for each task, quantity and number of kept keys; `bound` as in a forest plot, `log` for its axis."""
    kinds: dict[str, type] = {
        "panel": str,
        "task": str,
        "k": float,
        "value": float,
        "bound": str,
        "log": bool,
    }
    return tidy(
        (row for row in rows if row["value"] is not None and (row["value"] > 0 or not row["log"])), kinds
    )


def _kept_keys_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    tasks = frame["task"].unique(maintain_order=True).to_list()
    return [
        _kept_keys_panel(str(name), own, tasks)
        for (name,), own in frame.group_by(["panel"], maintain_order=True)
    ]


def _kept_keys_panel(title: str, own: pl.DataFrame, tasks: Sequence[str]) -> Panel:
    values = own["value"].to_list()
    upwards = logarithmic(values, room=1.3) if own["log"][0] else zoomed(values)
    across = Axis(
        min(own["k"]) / 1.05,
        max(own["k"]) * 1.05 + 0.1,
        "log",
        title="kept keys k",
        ticks=tuple(round_ticks(min(own["k"]), max(own["k"]) + 0.1)),
    )

    def draw(data: Spec, look: Look, index: int) -> Spec:
        hues = [HUES[place % len(HUES)] for place in range(len(tasks))]
        legend = {"title": None, "orient": "bottom", "columns": 2, "labelLimit": 150}
        base = {
            **{"x": across.channel("k"), "y": upwards.channel("value")},
            "color": column("task:N", scale={"domain": list(tasks), "range": hues}, legend=legend),
        }
        dots = {**base, "tooltip": tooltip("task:N", "k:Q", ("value:Q", "value", ".3~g"), "bound:N")}
        hollow: Spec = {"size": 50, "fill": look.paint("paper")}
        return layers(
            data,
            mark("line", base, strokeWidth=1.8),
            mark("circle", dots, where="datum.bound === null", size=40, opacity=1),
            mark("point", dots, where="datum.bound === 'at least'", shape="triangle-up", **hollow),
            mark("point", dots, where="datum.bound === 'at most'", shape="triangle-down", **hollow),
        )

    return Panel(title, own.select("task", "k", "value", "bound"), draw)


def worst_case_frame(cases: Iterable["WorstCase"]) -> pl.DataFrame:
    """A row for each task, layer and seed: the largest dispersion as a share of its a-priori worst case."""
    when = {"start": "untrained", "end": "after training"}
    rows = [
        {"task": each.task, "layer": each.layer + 1, "seed": seed, "when": when[each.when], "share": share}
        for each in cases
        for seed, share in each.shares.items()
    ]
    return tidy(rows, {"task": str, "layer": int, "seed": str, "when": str, "share": float})


def _worst_case_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    tasks = frame["task"].unique(maintain_order=True).to_list()
    high = 1.03 * max([1.0, *frame["share"]])

    def draw(data: Spec, look: Look, index: int) -> Spec:
        whens = ["untrained", "after training"]
        paints = {"domain": whens, "range": [look.paint("soft"), look.paint("good")]}
        title = "largest dispersion / (2 Γ Ξ²); a dot is one layer of one seed"
        ticks = {"format": ".0%", "grid": True, "tickCount": 6, "title": title}
        dots = {
            "x": column("share:Q", scale={"domain": [0, high]}, axis=ticks),
            "y": column("task:N", sort=tasks, axis=_LABEL),
            "yOffset": column("when:N", sort=whens),
            "color": column("when:N", scale=paints, legend={"title": None, "orient": "top"}),
            "tooltip": tooltip("task:N", "layer:Q", "seed:N", "when:N", ("share:Q", "share", ".0%")),
        }
        return layers(data, mark("circle", dots, size=44, opacity=0.75))

    return [
        Panel(
            "Largest dispersion of full attention, share of its worst case",
            frame,
            draw,
            height=36 * len(tasks),
            width=640,
            wide=True,
        )
    ]


def along_frame(lines: Iterable[Line]) -> pl.DataFrame:
    """A row for each arm, seed (or layer), epoch and quantity that was measured along training."""
    return line_frame(lines, is_share=pl.Boolean)


def _along_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    """A panel for each quantity, on axes that fit its values."""

    def draw(title: str, own: pl.DataFrame) -> Panel | None:
        is_share = own["is_share"][0]
        return line_panel(
            title,
            own,
            from_round_share if is_share else value_axis,
            member="seed or layer",
            dots=not is_share,
        )

    return panels_of(frame, draw)


DISPERSION = Figure(
    "dispersion", "Left-hand side of the published condition in W", condition_frame, _condition_panels
)
CORRELATIONS = Figure(
    "correlations", "Rank correlation with epochs to target", correlation_frame, _correlation_panels
)
KEPT_KEYS = Figure("kept-keys", "From few kept keys to all of them", kept_keys_frame, _kept_keys_panels)
WORST_CASE = Figure("worst-case", "Dispersion and its worst case", worst_case_frame, _worst_case_panels)
ALONG = Figure("along", "Along training", along_frame, _along_panels)
