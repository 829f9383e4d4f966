"""Does a small dispersion under top-k show that the model has learned something?

Scores that are pure noise, so nothing was learned. Change LENGTH or K and run again:

    python examples/learn/dispersion.py
"""

import numpy as np
from picture import Picture

from semfocus import theory

LENGTH, K, SIZES = 40, 5, (2, 3, 5, 7, 9, 12, 16, 20, 25, 30, 35, 38, 40)


def main() -> None:
    random = np.random.default_rng(1)
    row = random.standard_normal(LENGTH)
    kept = {
        "full": np.full(LENGTH, True),
        f"random({K})": np.isin(np.arange(LENGTH), random.choice(LENGTH, K, replace=False)),
        f"top_k({K})": theory.topk_support(row, K),
    }
    inks = ("full", "fixed", "top_k")

    picture = Picture("Top-k makes dispersion small even for pure noise", columns=2)
    panel = picture.panel(
        f"{LENGTH} Gaussian scores; the span softmax sees",
        x=(-3, 3), y=(0, 4), x_label="score", y_ticks=(),
    )  # fmt: skip
    for height, (name, support), ink in zip((3.2, 2.0, 0.8), kept.items(), inks, strict=True):
        panel.dots(row, [height] * LENGTH, "faint", size=2.5, hollow=True)
        panel.dots(row[support], [height] * support.sum(), ink, size=3.5)
        low, high = row[support].min(), row[support].max()
        panel.line([low, high], [height - 0.3] * 2, ink)
        panel.label(-3, height + 0.45, f"{name}: δ = {high - low:.2f}", ink)

    nulls = {size: theory.gaussian_null(LENGTH, size, 4000) for size in SIZES}
    panel = picture.panel(
        "mean over 4,000 such rows", x=(0, LENGTH), y=(0, 5), x_label="kept keys k", y_label="dispersion δ"
    )
    panel.line([0, LENGTH], [nulls[K]["delta_full"]] * 2, "full")
    for name, ink in (("delta_random", "fixed"), ("delta_topk", "top_k")):
        panel.line(SIZES, [nulls[size][name] for size in SIZES], ink)
        panel.dots([K], [nulls[K][name]], ink)
    panel.label(1, nulls[K]["delta_full"] + 0.3, "full", "full")
    panel.label(9, 2.5, "random keys", "fixed")
    panel.label(16, 1.35, "top-k", "top_k")
    picture.save("dispersion")

    at = nulls[K]
    print(f"noise, {LENGTH} keys, full: dispersion {at['delta_full']:.2f}")
    print(f"random({K}): dispersion {at['delta_random']:.2f}, {at['c1_random']:.2f} of full")
    print(
        f"top_k({K}): dispersion {at['delta_topk']:.2f}, {at['c1']:.2f} of full, separation {at['separation']:.2f}"
    )


if __name__ == "__main__":
    main()
