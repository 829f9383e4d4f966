"""One quantity layer by layer: for every run, and every pattern on its scores, its mean and spread."""

from collections.abc import Mapping, Sequence

import polars as pl

from semfocus.report.figures.axis import value_axis
from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, tooltip
from semfocus.report.palette import Ink
from semfocus.report.probed_runs import Row, slot_text, slots_of

_COLUMNS: Mapping[str, type] = {
    **{"arm": str, "place": str, "heads": bool, "mean": float, "null": float, "hollow": bool, "words": str},
    **{f"q{percent}": float for percent in (5, 25, 50, 75, 95)},
}

#: what a pointer shows of each number
_SAID = {
    "mean": "mean",
    "null": "of noise or by chance",
    "q50": "median",
    "q25": "lower quartile",
    "q75": "upper quartile",
    "q5": "5 %",
    "q95": "95 %",
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

    def draw(data: Spec, look: Look, index: int) -> Spec:
        title = "layer.head" if frame["heads"].any() else "layer"
        x = column("place:N", sort=places, title=title, axis={"labelAngle": 0, "labelOverlap": True})
        offset = column("arm:N", sort=arms)
        fade, paper = look.picked(1, 0.1), look.paint("paper")
        numbers = [(f"{name}:Q", words, ".3~g") for name, words in _SAID.items()]
        said = tooltip(("arm:N", "model"), ("place:N", title), *numbers, ("words:N", "left out"))
        base = {"x": x, "xOffset": offset, "color": look.colours(arms, "square"), "opacity": fade}
        y = {name: {"y": axis.y(look, index, name)} for name in ("mean", "null", "q5", "q25")}
        middle = {**base, **y["q25"], "y2": {"field": "q75"}, "tooltip": said}
        outlined = {**middle, "stroke": look.strokes(arms), "color": {"value": paper}}
        means = {
            **base,
            **y["mean"],
            "tooltip": said,
            "stroke": {"value": paper},
            "strokeWidth": {"value": 1},
        }
        nulls = {**base, **y["null"], "tooltip": said, "color": {"value": look.paint("text")}}
        spread = "datum.q5 !== datum.q95"
        marks = [
            mark("rule", {**base, **y["q5"], "y2": {"field": "q95"}}, where=spread),
            mark("bar", middle, where=f"{spread} && !datum.hollow", size=6),
            mark("bar", outlined, where=f"{spread} && datum.hollow", size=6, strokeWidth=1.2),
            mark("point", means, filled=True, size=34),
            mark("tick", nulls, where="datum.null !== null", thickness=1.6, size=11),
        ]
        return layers(data, *marks, params=[look.pick] if look.live else [])

    kind = ("layers", *arms, *places, axis.kind)
    return [Panel("", frame.drop("heads"), draw, values=axis.values, kind=kind)]


LAYERS = Figure("layers", "Layer by layer", layer_frame, _panels)
