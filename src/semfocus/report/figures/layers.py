"""One quantity layer by layer: for every run, and every pattern on its scores, its mean and spread."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from semfocus.report.figures.axis import value_axis
from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.palette import Ink
from semfocus.report.probed import Row, slot_text, slots_of

_COLUMNS: Mapping[str, type] = {
    **{"arm": str, "place": str, "heads": bool, "mean": float, "null": float, "hollow": bool, "words": str},
    **{f"q{percent}": float for percent in (5, 25, 50, 75, 95)},
}


def layer_frame(series: Mapping[str, Sequence[Row]]) -> pl.DataFrame:
    """A row for each series in each layer and head: mean, quantiles, and the mean that noise would give.

    The null of a row is a mean, and few keys make skewed values, whose median would be beside it for no other reason.
    """
    found = {label: slots_of(rows) for label, rows in series.items()}
    slots = sorted(
        {slot for rows in found.values() for slot in rows},
        key=lambda slot: tuple(-1 if each is None else each for each in slot),
    )
    num_heads = len({slot[1] for slot in slots if slot[1] is not None})
    rows = []
    for slot in slots:
        for label, own in found.items():
            row = own.get(slot)
            quantiles = (
                {f"q{percent}": row["quantiles"].get(str(percent)) for percent in (5, 25, 50, 75, 95)}
                if row
                else {}
            )
            if row is None or any(each is None for each in quantiles.values()):
                continue
            left_out = [
                f"{row.get(key)} {word}"
                for key, word in (("num_infinite", "infinite"), ("num_missing", "missing"))
                if row.get(key)
            ]
            rows.append(
                {
                    **{
                        "arm": label,
                        "place": slot_text(slot, num_heads),
                        "heads": num_heads > 1,
                        **quantiles,
                    },
                    **{
                        "mean": row["mean"],
                        "null": row.get("null"),
                        "hollow": bool(row.get("counterfactual")),
                    },
                    "words": " and ".join(left_out) or None,
                }
            )
    return tidy(rows, _COLUMNS)


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    arms = frame["arm"].unique(maintain_order=True).to_list()
    places = frame["place"].unique(maintain_order=True).to_list()
    axis = value_axis([*frame["mean"], *frame["q5"], *frame["q95"], *frame["null"].drop_nulls()])

    def draw(data: Any, look: Look, index: int) -> Any:
        title = "layer.head" if frame["heads"].any() else "layer"
        x = alt.X("place:N", sort=places, title=title, axis=alt.Axis(labelAngle=0, labelOverlap=True))
        base = alt.Chart(data).encode(x, alt.XOffset("arm:N", sort=arms), color=look.colours(arms, "square"))
        fade, paper = look.picked(1, 0.1), look.paint("paper")
        said = [
            *(alt.Tooltip("arm:N", title="model"), alt.Tooltip("place:N", title=title)),
            *(
                alt.Tooltip(f"{name}:Q", title=words, format=".3~g")
                for name, words in (
                    ("mean", "mean"),
                    ("null", "of noise or by chance"),
                    ("q50", "median"),
                    ("q25", "lower quartile"),
                    ("q75", "upper quartile"),
                    ("q5", "5 %"),
                    ("q95", "95 %"),
                )
            ),
            alt.Tooltip("words:N", title="left out"),
        ]
        y = {name: axis.y(look, index, name) for name in ("mean", "null", "q5", "q25")}
        spread = base.transform_filter("datum.q5 !== datum.q95")
        layers = [
            spread.mark_rule().encode(y["q5"], y2="q95:Q", opacity=fade),
            spread.transform_filter("!datum.hollow")
            .mark_bar(size=6)
            .encode(y["q25"], y2="q75:Q", opacity=fade, tooltip=said),
            spread.transform_filter("datum.hollow")
            .mark_bar(size=6, strokeWidth=1.2)
            .encode(
                y["q25"],
                y2="q75:Q",
                opacity=fade,
                stroke=look.strokes(arms),
                color=alt.ColorValue(paper),
                tooltip=said,
            ),
            base.mark_point(filled=True, size=34).encode(
                y["mean"],
                opacity=fade,
                tooltip=said,
                stroke=alt.StrokeValue(paper),
                strokeWidth=alt.StrokeWidthValue(1),
            ),
            base.transform_filter("datum.null !== null")
            .mark_tick(thickness=1.6, size=11, color=look.paint("text"))
            .encode(y["null"], opacity=fade, tooltip=said, color=alt.ColorValue(look.paint("text"))),
        ]
        if look.live:
            layers[0] = layers[0].add_params(look.pick)
        return alt.layer(*layers)

    kind = ("layers", *arms, *places, axis.kind)
    return [Panel("", frame.drop("heads"), draw, values=axis.values, kind=kind)]


LAYERS = Figure("layers", "Layer by layer", layer_frame, _panels)
