"""If a score moves by this much, how far can the weight move?

Two keys, the second with score 0: the first has weight p = 1/(1 + e^-z). A Lipschitz constant is a slope that no
two points of the curve exceed. Change TOO_SMALL and run again:

    python examples/learn/lipschitz.py
"""

import numpy as np
from picture import Panel, Picture

from semfocus import theory

TOO_SMALL = 0.12


def weight(score: np.ndarray | float) -> np.ndarray:
    return 1 / (1 + np.exp(-score))


def cones(panel: Panel, constant: float, tips: tuple[float, ...], reach: float, ink: str) -> None:
    """Where the curve may go if it passes through the tip and this is its constant."""
    for tip in tips:
        around = np.array([tip - reach, tip, tip + reach])
        spread = constant * abs(around - tip)
        panel.area(around, weight(tip) - spread, weight(tip) + spread, ink)
        panel.dots([tip], [weight(tip)], ink)


def main() -> None:
    # The change of both weights together (l1) is twice that of one, so one has half the constant.
    constant = float(np.exp(theory.log_xi_exact(np.inf, 2, "11"))) / 2
    scores = np.linspace(-6, 6, 241)
    picture = Picture("A Lipschitz constant is a speed limit: the curve never leaves its cones", columns=2)
    for limit, tips, ink, title in (
        (constant, (-2.5, 0.0, 2.5), "exact", f"constant {constant:g}: holds at every point"),
        (TOO_SMALL, (0.0,), "wrong", f"constant {TOO_SMALL:g}: too small"),
    ):
        panel = picture.panel(
            title, x=(-6, 6), y=(-0.25, 1.25), x_label="score z of key 1", y_label="weight of key 1"
        )
        cones(panel, limit, tips, 1.2 if limit == constant else 2.4, ink)
        panel.line(scores, weight(scores), "full")
        if limit < constant:
            away = scores[(abs(scores) < 2.4) & (abs(weight(scores) - 0.5) > limit * abs(scores) + 1e-9)]
            for part in (away[away < 0], away[away > 0]):
                panel.line(part, weight(part), "wrong")
            panel.label(-5.7, 1.12, "red: the curve outside the cone", "wrong")
    picture.save("lipschitz")

    pairs = np.random.default_rng(0).uniform(-6, 6, (2, 100_000))
    measured = abs(weight(pairs[0]) - weight(pairs[1])) / abs(pairs[0] - pairs[1])
    print(f"exact constant of one weight: {constant:.4f}")
    print(f"steepest of 100,000 random pairs: {measured.max():.4f}")
    print(f"local slope at z = 4: {weight(4.0) * (1 - weight(4.0)):.4f}")


if __name__ == "__main__":
    main()
