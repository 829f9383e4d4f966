"""Draws what attention_speed.py measured: milliseconds against length, on logarithmic axes.

    python benchmarks/plot.py [--input benchmarks/results/attention.csv] [--output docs/images]

Forward and backward, k = 5, one thread. The batches of the measurement differ in size, so times are those of one
sequence. Needs matplotlib (`pip install matplotlib`).
"""

import argparse
import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
#: the least distance of two labels, as a factor on the vertical axis
LABEL_DISTANCE = 1.5

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


def label_heights(ends: dict[str, float]) -> dict[str, float]:
    """Where the labels stand: in the order of the curves' ends, moved apart, around where they were."""
    names = sorted(ends, key=lambda name: ends[name])
    wanted = [math.log(ends[name]) for name in names]
    gap, heights = math.log(LABEL_DISTANCE), list(wanted)
    for _ in range(200):
        for low in range(len(names) - 1):
            missing = gap - (heights[low + 1] - heights[low])
            if missing > 0:
                heights[low] -= missing / 2
                heights[low + 1] += missing / 2
    return dict(zip(names, map(math.exp, heights), strict=True))


def draw(curves: Curves) -> Any:
    """The figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    lengths = sorted({length for points in curves.values() for length, _ in points})
    heights = label_heights({method: points[-1][1] for method, points in curves.items()})
    for method, points in curves.items():
        colour, is_ours = COLOURS.get(method, "#777777"), method == OURS
        axes.plot(
            *zip(*points, strict=True),
            color=colour,
            linewidth=3.5 if is_ours else 1.5,
            marker="o",
            markersize=6 if is_ours else 3.5,
            zorder=3 if is_ours else 2,
        )
        axes.annotate(
            f"{method} (k = 5)" if is_ours else method,
            points[-1],
            xytext=(lengths[-1] * 1.25, heights[method]),
            textcoords="data",
            color=colour,
            weight="bold" if is_ours else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 4},
        )
    axes.set(xscale="log", yscale="log", xlabel="length", ylabel="milliseconds a sequence")
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    axes.set_title("Attention, forward and backward, one thread, width 64", loc="left")
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", type=Path, default=RESULTS / "attention.csv")
    parser.add_argument("--output", type=Path, default=IMAGES, help="folder (default docs/images)")
    arguments = parser.parse_args(words)
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("the plot needs matplotlib: pip install matplotlib") from None
    if not arguments.input.exists():
        raise SystemExit(f"{arguments.input} is not there: run benchmarks/attention_speed.py first")
    matplotlib.rcParams |= {"svg.hashsalt": "semfocus", "svg.fonttype": "none", "font.size": 10}
    figure = draw(read_curves(arguments.input))
    arguments.output.mkdir(parents=True, exist_ok=True)
    for suffix, metadata in (("svg", {"Date": None}), ("png", {})):
        path = arguments.output / f"attention_cost.{suffix}"
        figure.savefig(path, dpi=150, metadata=metadata)
        print(f"written: {path}")


if __name__ == "__main__":
    main()
