"""How much does one training sample matter to what is learned?

Twin runs: the same start, order and noise, but one of the 100 training samples is another. Two kinds of
attention, three seeds, a tiny model. Change the settings and run again:

    python examples/learn/twins.py
"""

import torch
from picture import Picture

from semfocus import theory
from semfocus.measurements.twins import stability_inputs
from semfocus.runs import RunSpec
from semfocus.training.device import limited_threads
from semfocus.training.twin_training import TwinDistances, train_twins

EPOCHS, SEEDS = 12, (0, 1, 2)
MODEL = {"num_blocks": 1, "d_model": 16, "d_mlp": 16}
TRAINING = {"length": 8, "num_train": 100, "num_held_out": 100, "epochs": EPOCHS, "learning_rate": 0.1}


def twins(pattern: str, seed: int) -> TwinDistances:
    spec = RunSpec(task="even_pairs", pattern=pattern, seed=seed, model=MODEL, training=TRAINING)
    with limited_threads(1):
        return train_twins(spec, replaced=0, device=torch.device("cpu"))[0]


def bound(seen: TwinDistances) -> float:
    """What the theory says for these step sizes, fed with the largest values seen instead of true constants."""
    return theory.stability_schedule(**stability_inputs(seen.as_values()))[0]


def main() -> None:
    picture = Picture("Twins part: what one training sample in a hundred changes", columns=2)
    frame = {"x": (0, EPOCHS), "x_label": "epoch", "log_y": True}
    ticks = (1e-4, 1e-3, 1e-2, 0.1, 1)
    panels = {
        "relative_distance": picture.panel(
            "parameters", y=(1e-4, 0.02), y_label="distance of twins / norm", y_ticks=ticks[:3], **frame
        ),
        "held_out_loss": picture.panel(
            "held-out loss", y=(1e-4, 2), y_label="mean difference of twins", y_ticks=ticks, **frame
        ),
    }
    bounds = []
    for place, (pattern, ink) in enumerate((("full", "full"), ("top_k(3)", "top_k"))):
        every = [twins(pattern, seed) for seed in SEEDS]
        bounds += [bound(seen) for seen in every]
        for column, panel in panels.items():
            for seen in every:
                panel.line(range(1, EPOCHS + 1), [row[column] for row in seen.rows[1:]], ink)
            last = " ".join(f"{seen.rows[-1][column]:.4f}" for seen in every)
            print(f"{pattern}, {column} after {EPOCHS} epochs: {last}")
        panels["relative_distance"].label(EPOCHS, 0.015 - 0.004 * place, pattern, ink, anchor="end")
    panels["held_out_loss"].line([0, EPOCHS], [min(bounds)] * 2, "faint", dashed=True)
    panels["held_out_loss"].label(EPOCHS, 1.5, "the bound says: at most this", "strong", anchor="end")
    picture.save("twins")
    print(f"bound on the difference of a loss: {min(bounds):.2f} to {max(bounds):.2f}")


if __name__ == "__main__":
    main()
