"""What does a query do with its keys, and what does top-k leave out?

One query, eight keys. The scores are chosen by hand; change SCORES or K and run again:

    python examples/learn/attention.py
"""

import torch
from picture import Picture

from semfocus import Full, TopK, attention

SCORES = [0.3, 2.0, -0.6, 1.1, 0.2, 2.4, -1.2, 0.6]
K = 3


def main() -> None:
    # One feature: the query is 1, each key is its own score, so that query times key is the score.
    query = torch.ones(1, 1)
    key = torch.tensor(SCORES)[:, None]
    value = torch.arange(1.0, len(SCORES) + 1)[:, None]
    out_full, full = attention(query, key, value, Full(), scale=1.0, return_info=True)
    out_topk, topk = attention(query, key, value, TopK(K), scale=1.0, return_info=True)

    picture = Picture("A query weighs its keys by their scores; top-k weighs only the best", columns=3)
    parts = (
        ("scores of 8 keys", full.scores[0], (-1.5, 2.5), "score", "full"),
        ("full: softmax of all", full.weights[0], (0.0, 0.55), "weight", "full"),
        (f"top_k({K}): softmax of the best {K}", topk.weights[0], (0.0, 0.55), "weight", "top_k"),
    )
    for title, values, limits, unit, ink in parts:
        panel = picture.panel(title, x=(0.4, 8.6), y=limits, x_label="key", y_label=unit, x_ticks=range(1, 9))
        for number, (each, kept) in enumerate(zip(values.tolist(), topk.kept[0].tolist(), strict=True), 1):
            panel.bar(number, each, "top_k" if kept else ink, hollow=not kept and unit == "score")
    picture.save("attention")

    kept_keys = [number for number, kept in enumerate(topk.kept[0].tolist(), 1) if kept]
    print("kept keys:", *kept_keys)
    print(f"weight of key 6: {full.weights[0, 5]:.3f} full, {topk.weights[0, 5]:.3f} top-k")
    print(f"weight that full attention gives to the kept keys: {full.weights[topk.kept].sum():.3f}")
    print(f"output: {out_full.item():.2f} full, {out_topk.item():.2f} top-k")


if __name__ == "__main__":
    main()
