"""Can the weights change more than the published bound e^δ/n allows?

n keys; one score lies δ above the others and is moved a little. Change NUM_KEYS or MOVE and run again:

    python examples/learn/softmax_stability.py
"""

import numpy as np
from picture import Picture

from semfocus import theory

NUM_KEYS = 40
MOVE = 0.05


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def measured(delta: float) -> float:
    """Change of all weights over change of the scores, both summed (l1), when one score goes up to δ."""
    before, after = np.zeros(NUM_KEYS), np.zeros(NUM_KEYS)
    before[0], after[0] = delta - MOVE, delta
    return float(abs(softmax(after) - softmax(before)).sum() / MOVE)


def main() -> None:
    def published(delta: float) -> float:
        return float(np.exp(theory.log_xi_published(delta, NUM_KEYS)))

    def exact(delta: float) -> float:
        return float(np.exp(theory.log_xi_exact(delta, NUM_KEYS, "11")))

    critical = float(theory.critical_dispersion(NUM_KEYS))
    picture = Picture("The published bound is too small for close scores, then far too large")
    panel = picture.panel(
        f"softmax over {NUM_KEYS} keys: how much weights change per change of scores (l1)",
        x=(0, 8), y=(0.02, 100), log_y=True, y_ticks=(0.1, 1, 10, 100), x_label="dispersion δ",
    )  # fmt: skip
    deltas = np.linspace(0, 8, 161)
    panel.area([0, critical], [0.02, 0.02], [100, 100], "wrong")
    panel.label(0.1, 55, "here pairs exist that break e^δ/n", "wrong")
    panel.line(deltas, [published(each) for each in deltas], "published", dashed=True)
    panel.line(deltas, [exact(each) for each in deltas], "exact")
    panel.line(deltas[1:], [measured(each) for each in deltas[1:]], "full")
    panel.dots([MOVE], [measured(MOVE)], "wrong", size=5)
    panel.label(0.1, 0.4, f"{measured(MOVE) / published(MOVE):.1f} times what it allows", "wrong")
    panel.label(5.6, 12, "published e^δ/n", "published", anchor="end")
    panel.label(7.9, 0.85, "exact worst case: at most 1/2", "exact", anchor="end")
    panel.label(6.5, 0.07, "measured: a peaked softmax hardly moves", "full", anchor="end")
    picture.save("softmax_stability")

    for delta in (MOVE, 2.0, 8.0):
        print(
            f"δ = {delta:g}: measured {measured(delta):.4f}, exact {exact(delta):.4f}, published {published(delta):.4f}"
        )
    print(f"measured over published at δ = {MOVE:g}: {measured(MOVE) / published(MOVE):.2f}")
    print(f"published fails below δ = {critical:.2f}, at worst by a factor of {2 * (1 - 1 / NUM_KEYS):.2f}")


if __name__ == "__main__":
    main()
