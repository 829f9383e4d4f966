"""Draws what attention_speed.py measured: milliseconds against length, on logarithmic axes.

    python benchmarks/plot.py [--input benchmarks/results/attention.csv] [--output docs/images]

Forward and backward, k = 5, one thread. The batches of the measurement differ in size, so times are those of one
sequence.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import vl_convert

from semfocus.report.figures.axis import round_ticks
from semfocus.report.figures.figure import Look
from timing import RESULTS

IMAGES = Path(__file__).parents[1] / "docs" / "images"
#: colours that the colour-blind can tell apart (Okabe and Ito)
COLOURS = {
    "ours top_k": "#0072B2",
    "ours top_k, torch": "#56B4E9",
    "ours full": "#000000",
    "SDPA full": "#D55E00",
    "gathered top-k": "#009E73",
    "dense-masked top-k": "#CC79A7",
    "x-transformers top-k": "#E69F00",
}
OURS = "ours top_k"
FUSED = "SDPA full"

Curves = dict[str, list[tuple[int, float]]]


def read_curves(path: Path, k: str = "5", threads: str = "1", direction: str = "forward+backward") -> Curves:
    """For each method (length, milliseconds of one sequence), by length."""
    curves: Curves = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if (row["threads"], row["direction"]) == (threads, direction) and row["k"] in (k, ""):
                time = float(row["median milliseconds"]) / int(row["batch"])
                curves.setdefault(row["method"], []).append((int(row["length"]), time))
    if not curves:
        raise SystemExit(f"{path} has no rows with k = {k}, threads = {threads}, {direction}")
    return {method: sorted(points) for method, points in curves.items()}


def draw(curves: Curves) -> alt.LayerChart:
    """The figure: a line a method, ours thick; SDPA lies on our full attention and is dashed."""
    names = {method: f"{method} (k = 5)" if method == OURS else method for method in curves}
    rows = [
        {"method": names[method], "length": length, "time": time, "ours": method == OURS}
        for method, points in curves.items()
        for length, time in points
    ]
    lengths = sorted({row["length"] for row in rows})
    times = [row["time"] for row in rows]
    methods = list(names.values())
    colours = alt.Scale(domain=methods, range=[COLOURS.get(method, "#777777") for method in curves])
    dashes = alt.Scale(domain=methods, range=[[5, 4] if method == FUSED else [1, 0] for method in curves])
    x = alt.X(
        "length:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=lengths, format="d", grid=True),
    )
    y = alt.Y(
        "time:Q",
        title="milliseconds per sequence",
        scale=alt.Scale(type="log", nice=False, domain=[min(times) / 1.3, max(times) * 1.3]),
        axis=alt.Axis(values=round_ticks(min(times), max(times)), format="~g"),
    )
    legend = alt.Legend(title=None, labelLimit=300, symbolType="stroke", symbolStrokeWidth=3)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x,
        y,
        alt.Color("method:N", scale=colours, sort=None, legend=legend),
        alt.StrokeDash("method:N", scale=dashes, sort=None, legend=alt.Legend(title=None)),
    )
    width = alt.condition("datum.ours", alt.value(3.5), alt.value(1.8))
    size = alt.condition("datum.ours", alt.value(55), alt.value(20))
    title = alt.TitleParams("Attention, forward and backward, one thread, width 64", anchor="start")
    drawn = alt.layer(
        base.mark_line().encode(strokeWidth=width), base.mark_circle(opacity=1).encode(size=size)
    ).properties(width=560, height=300, title=title, padding=12)
    drawn.config = alt.Config.from_dict(Look().config())
    return drawn


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, default=RESULTS / "attention.csv")
    parser.add_argument("--output", type=Path, default=IMAGES, help="folder (default docs/images)")
    arguments = parser.parse_args(words)
    if not arguments.input.exists():
        raise SystemExit(f"{arguments.input} is not there: run benchmarks/attention_speed.py first")
    spec = draw(read_curves(arguments.input)).to_dict()
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "attention_cost.svg"
    path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
