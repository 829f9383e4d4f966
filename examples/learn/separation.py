"""How much noise does it take to change which keys are kept?

Rows of Gaussian scores; each gets noise of a growing size until its kept keys change. Change LENGTH or K and run again:

    python examples/learn/separation.py
"""

import numpy as np
from picture import Picture

from semfocus import theory

LENGTH, K, ROWS = 40, 5, 400


def size_at_first_flip(scores: np.ndarray, noise: np.ndarray, kept: np.ndarray) -> float:
    """The smallest η for which scores + η noise has other top keys: some masked key overtakes some kept one."""
    ahead = scores[kept][:, None] - scores[~kept]
    catching_up = noise[~kept] - noise[kept][:, None]
    return float((ahead[catching_up > 0] / catching_up[catching_up > 0]).min())


def main() -> None:
    random = np.random.default_rng(0)
    scores = random.standard_normal((ROWS, LENGTH))
    noise = random.uniform(-1, 1, (ROWS, LENGTH))  # η noise moves no score by more than η
    kept = theory.topk_support(scores, K)
    separation = theory.row_stats(scores, kept)["separation"]
    flips = np.array([size_at_first_flip(*row) for row in zip(scores, noise, kept, strict=True)])

    picture = Picture("A mask is safe while no score moves by half its separation", columns=2)
    panel = picture.panel(
        f"{ROWS} rows of noise: when does top_k({K}) change?",
        x=(0, 0.5), y=(0, 1), x_label="separation Δ of the row", y_label="noise η at the first change",
    )  # fmt: skip
    shown = (separation < 0.5) & (flips < 1)
    panel.area([0, 0.5], [0, 0], [0, 0.25], "exact")
    panel.line([0, 0.5], [0, 0.25], "exact")
    panel.dots(separation[shown], flips[shown], "top_k", size=2.2, hollow=True)
    panel.label(0.49, 0.1, "safe: η < Δ/2", "exact", anchor="end")

    panel = picture.panel(
        "the smaller the separation, the sooner",
        x=(0, 0.5), y=(0, 1), x_label="noise η", y_label="share of rows with other keys kept",
    )  # fmt: skip
    sizes = np.linspace(0, 0.5, 101)
    low, high = np.quantile(separation, [0.25, 0.75])
    groups = {"smallest": separation <= low, "largest": separation >= high}
    for (name, rows), ink, place in zip(groups.items(), ("fixed", "top_k"), (0.92, 0.14), strict=True):
        panel.line(sizes, [(flips[rows] <= size).mean() for size in sizes], ink)
        panel.label(0.49, place, f"quarter with the {name} Δ", ink, anchor="end")
    picture.save("separation")

    print(f"smallest flip / separation: {(flips / separation).min():.3f} (never below 0.5)")
    print(f"median separation: {np.median(separation):.3f}")
    for name, rows in groups.items():
        print(
            f"changed by noise of size 0.1, quarter with the {name} separation: {(flips[rows] <= 0.1).mean():.2f}"
        )


if __name__ == "__main__":
    main()
