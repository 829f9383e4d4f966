"""What happens to top-k when two scores change places?

One score rises past another. Full attention follows smoothly; top-k exchanges the two keys. Change K and run again:

    python examples/learn/tie.py
"""

import numpy as np
from picture import Picture

from semfocus import theory

LENGTH, K = 40, 5


def weights(scores: np.ndarray, k: int) -> np.ndarray:
    kept = theory.topk_support(scores, k)
    powers = np.where(kept, np.exp(scores - scores.max()), 0.0)
    return powers / powers.sum()


def main() -> None:
    picture = Picture("Top-k jumps where the last kept and the first masked score tie", columns=2)
    panel = picture.panel(
        "two keys, the other score is 0",
        x=(-3, 3), y=(0, 1), x_label="score of key 1", y_label="weight of key 1",
    )  # fmt: skip
    moves = np.linspace(-3, 3, 121)
    panel.line(moves, [weights(np.array([each, 0.0]), 2)[0] for each in moves], "full")
    for side in (moves[moves < 0], moves[moves > 0]):
        panel.line(side, [weights(np.array([each, 0.0]), 1)[0] for each in side], "top_k")
    panel.line([0, 0], [0, 1], "faint", dashed=True)
    panel.label(-2.8, 0.2, "full", "full")
    panel.label(0.3, 0.93, "top_k(1)", "top_k")

    # The first masked key of a row of noise rises past the last kept one.
    scores = np.sort(np.random.default_rng(0).standard_normal(LENGTH))[::-1]
    gap = float(theory.row_stats(scores[None], theory.topk_support(scores, K)[None])["separation"][0])
    rises = np.append(np.linspace(0, gap, 40, endpoint=False), np.linspace(gap + 1e-9, 0.3, 60))
    changes = {}
    for k in (LENGTH, K):
        start = weights(scores, k)
        changes[k] = [
            abs(weights(scores + rise * (np.arange(LENGTH) == K), k) - start).sum() for rise in rises
        ]
    panel = picture.panel(
        f"{LENGTH} keys, the first masked score rises",
        x=(0, 0.3), y=(0, 0.5), x_label="rise of one score", y_label="change of all weights (l1)",
    )  # fmt: skip
    panel.line([0, 0.3], [2 / K] * 2, "exact", dashed=True)
    panel.label(0.295, 2 / K + 0.03, "most that one exchange can do: 2/k", "exact", anchor="end")
    panel.line(rises, changes[LENGTH], "full")
    for side in (rises <= gap, rises > gap):
        panel.line(rises[side], np.array(changes[K])[side], "top_k")
    panel.line([gap, gap], [0, changes[K][40]], "faint", dashed=True)
    panel.label(0.295, 0.06, "full", "full", anchor="end")
    panel.label(0.295, 0.3, f"top_k({K})", "top_k", anchor="end")
    picture.save("tie")

    jump = changes[K][40]
    print(f"separation: {gap:.3f}")
    print(f"jump of top_k({K}) at the tie: {jump:.3f}, most possible {float(theory.topk_quasi(0, K)[1]):.1f}")
    print(f"change of full attention there: {changes[LENGTH][40]:.4f}")


if __name__ == "__main__":
    main()
