"""Does a larger dispersion make attention less smooth?

Random tokens and a random score matrix, multiplied by a growing scale. Change the sizes and run again:

    python examples/learn/peaked.py
"""

import numpy as np
from picture import Picture

from semfocus import theory

FEATURES, LENGTH, K, ROUNDS = 16, 40, 5, 40
SCALES = np.geomspace(0.05, 5, 21)


def one_round(seed: int) -> np.ndarray:
    """(dispersion, local constant full, local constant top-k) x scales, constants in units of |V| Ξ³."""
    random = np.random.default_rng(seed)
    tokens = random.standard_normal((FEATURES, LENGTH))
    weights = random.standard_normal((FEATURES, FEATURES)) / np.sqrt(FEATURES)
    query = tokens[:, 0]
    scores = SCALES[:, None] * (tokens.T @ weights @ query)
    unit = np.linalg.norm(tokens, axis=0).max() ** 3
    found = [np.ptp(scores, axis=1)]
    for kept in (np.full(scores.shape, True), theory.topk_support(scores, K)):
        powers = np.where(kept, np.exp(scores - scores.max(axis=1, keepdims=True)), 0.0)
        attended = powers / powers.sum(axis=1, keepdims=True)
        found.append(theory.lambda_w_local(tokens, attended, np.eye(FEATURES), query) / unit)
    return np.array(found)


def main() -> None:
    dispersion, full, topk = np.median([one_round(seed) for seed in range(ROUNDS)], axis=0)
    published = np.exp(theory.log_lambda_w(1, 1, dispersion, LENGTH, kind="published"))

    picture = Picture("The published bound explodes; the measured constant falls in the end", columns=2)
    ticks = (0.1, 1, 10)
    panel = picture.panel(
        "full attention, in units of ΥΞ³",
        x=(0.05, 10), y=(1e-9, 1e40), log_x=True, log_y=True, x_ticks=ticks,
        y_ticks=(1, 1e10, 1e20, 1e30, 1e40), x_label="scores multiplied by",
    )  # fmt: skip
    panel.line(SCALES, published, "published", dashed=True)
    panel.line(SCALES, full, "full")
    panel.label(1.6, 1e21, "published e^δ", "published", anchor="end")
    panel.label(0.06, 3e-6, "measured", "full")
    panel = picture.panel(
        "the same measured constant, and top-k's",
        x=(0.05, 10), y=(0, 0.15), log_x=True, x_ticks=ticks, x_label="scores multiplied by",
    )  # fmt: skip
    panel.line(SCALES, full, "full")
    panel.line(SCALES, topk, "top_k")
    panel.label(0.06, 0.045, "full", "full")
    panel.label(0.06, 0.127, f"top_k({K})", "top_k")
    picture.save("peaked")

    for place in (0, len(SCALES) // 2, -1):
        print(
            f"scale {SCALES[place]:.2f}: dispersion {dispersion[place]:.1f}, published {published[place]:.1e}, "
            f"measured {full[place]:.3f} full, {topk[place]:.3f} top-k"
        )


if __name__ == "__main__":
    main()
