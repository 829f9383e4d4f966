"""Which ratios (c1, c2) satisfy the published conditions, with the paper's measurements and the null model drawn in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from semfocus.report.figures.axis import PLAIN
from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, tooltip
from semfocus.report.palette import HUES, Ink
from semfocus.theory import c2_min_w, c2_min_x

DISPERSIONS = (2.0, 5.0, 10.0, 20.0, 50.0)
LOWEST, HIGHEST = 1e-12, 10.0
_SIDE = 430
_TASK_HUES = [
    HUES[group][0][0] for group in ("input-dependent", "input-agnostic", "sharper full attention", "control")
]


@dataclass(frozen=True)
class Mark:
    """A measured pair of ratios; `w` and `x` say whether its own condition holds, None where it has no say."""

    c1: float
    c2: float
    kind: str
    label: str
    tip: str
    w: bool | None = None
    x: bool | None = None
    exact: bool | None = None


def marks_of_table(columns: Sequence[Mapping[str, Any]]) -> list[Mark]:
    """The cells of the published table."""
    return [
        Mark(
            each["c1"],
            each["c2"],
            each["task"],
            str(each["quantile"]),
            f"{each['task']}, q = {each['quantile']}: c1 = {each['c1']:.3f}, c2 = {each['c2']:.2g}, "
            f"δ = {each['dispersion_full']:g}, LHS_W = {each['published']['lhs_w']:.3f}, LHS_X = {each['published']['lhs_x']:.3f}",
            each["published"]["w"],
            each["published"]["x"],
            each["exact"]["b"],
        )
        for each in columns
    ]


def region_frame(marks: Sequence[Mark], beta: float = 1.0) -> pl.DataFrame:
    """For W and for X: marks, and for each dispersion of full attention the least c2 at which the condition holds."""
    rows: list[dict[str, Any]] = []
    titles = {"w": "W: the score matrix", "x": f"X: the input tokens (lines for key load β = {beta:g})"}
    least: dict[str, Callable[[float, Any], Any]] = {"w": c2_min_w, "x": lambda d, c1: c2_min_x(d, c1, beta)}
    for which, title in titles.items():
        for dispersion in DISPERSIONS:
            ratios = np.linspace(0, 1, 201)
            for c1, c2 in zip(ratios.tolist(), least[which](dispersion, ratios).tolist(), strict=True):
                if c2 <= HIGHEST:
                    rows.append({"panel": title, "dispersion": dispersion, "c1": c1, "c2": max(c2, LOWEST)})
        for each in marks:
            holds = getattr(each, which)
            state = "reference" if each.kind == "null" else "holds" if holds else "fails"
            place = {"c2": min(max(each.c2, LOWEST), HIGHEST), "panel": title, "holds": state}
            kind = {"null": "independent Gaussian scores (k = 5, 75 %)", "yours": "these numbers"}.get(
                each.kind, each.kind
            )
            rows.append({**asdict(each), **place, "kind": kind})
    kinds: dict[str, type] = {
        "panel": str,
        "dispersion": float,
        "c1": float,
        "c2": float,
        "kind": str,
        "label": str,
        "tip": str,
        "holds": str,
        "exact": bool,
    }
    return tidy(rows, kinds)


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    kinds = frame["kind"].drop_nulls().unique(maintain_order=True).to_list()
    return [_panel(str(name), own, kinds) for (name,), own in frame.group_by(["panel"], maintain_order=True)]


def _panel(title: str, own: pl.DataFrame, kinds: Sequence[str]) -> Panel:
    def draw(data: Spec, look: Look, index: int) -> Spec:
        across = {"grid": True, "tickCount": 5}
        powers = [10.0**power for power in range(-12, 2, 2)]
        scale = {"type": "log", "domain": [LOWEST, HIGHEST], "nice": False}
        place = {
            "x": column(
                "c1:Q",
                title="c1 = dispersion of top-k / dispersion of full",
                scale={"domain": [0, 1]},
                axis=across,
            ),
            "y": column(
                "c2:Q",
                title="c2 = separation / dispersion of full",
                scale=scale,
                axis={"values": powers, "labelExpr": PLAIN},
            ),
        }
        paints = {
            "these numbers": look.paint("bad"),
            "independent Gaussian scores (k = 5, 75 %)": look.paint("text"),
        }
        hues = [paints.get(kind, _TASK_HUES[place % 4]) for place, kind in enumerate(kinds)]
        colour = column(
            "kind:N",
            scale={"domain": list(kinds), "range": hues},
            legend={"title": None, "orient": "bottom", "labelLimit": 300},
        )
        good = look.paint("good")
        lines = {**place, "detail": column("dispersion:N")}
        line: Spec = {"where": "datum.dispersion !== null", "color": good, "clip": True}
        ends = mark(
            "text",
            {**place, "text": column("words:N")},
            color=good,
            align="left",
            dx=5,
            dy=-8,
            fontWeight=600,
        )
        least = [{"op": "min", "field": name, "as": name} for name in ("c1", "c2")]
        ends["transform"] = [
            {"filter": f"datum.dispersion !== null && datum.c2 > {LOWEST}"},
            {"aggregate": least, "groupby": ["dispersion"]},
            {"calculate": "'δ = ' + datum.dispersion", "as": "words"},
        ]
        marks = {**place, "color": colour, "tooltip": tooltip("tip:N")}
        solid: Spec = {"filled": True, "opacity": 1}
        return layers(
            data,
            mark("area", {**lines, "y2": {"value": 0}}, opacity=0.085, **line),
            mark("line", lines, strokeWidth=1.3, opacity=0.75, **line),
            ends,
            mark(
                "point",
                marks,
                where="datum.holds === 'fails'",
                size=70,
                strokeWidth=1.8,
                fill=look.paint("paper"),
                opacity=1,
            ),
            mark("point", marks, where="datum.holds === 'holds'", size=70, **solid),
            mark("point", marks, where="datum.holds === 'reference'", shape="cross", size=90, **solid),
            mark(
                "text",
                {**marks, "text": column("label:N")},
                where="datum.kind !== null",
                align="left",
                dx=8,
                fontSize=11,
            ),
        )

    judged = own["exact"].drop_nulls()
    subtitle = (
        f"with exact constants (route B) it holds for {judged.sum()} of these {len(judged)}"
        if len(judged)
        else ""
    )
    return Panel(title, own.drop("panel", "exact"), draw, height=_SIDE, width=_SIDE, subtitle=subtitle)


REGIONS_READING = (
    "Above a line top-k has the smaller published bound, for full attention of that dispersion δ: it compares two upper bounds. "
    "Circles are the published measurements, with the quantile beside them; 100 is the only one over all queries. "
    "Filled: the condition holds at the point's own δ and β; hollow: it does not."
)
REGIONS = Figure("regions", "Where the published conditions hold", region_frame, _panels)
