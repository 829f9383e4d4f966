"""Claim: a point of a loss landscape costs little more than one evaluation of the model: at most 1.15 times.

A point is an evaluation after the weights were moved in place; nothing is loaded or built again. Both are measured in
turns in one process with one thread, at the paper's model and length, on part of the training samples.
"""

from collections.abc import Sequence

import torch

from semfocus.measurements.landscape.place import grid_axis
from semfocus.measurements.landscape.plan import ModelLoss, samples_of
from semfocus.probes.loss_surface.loss_grid import direction_pair, losses_along_row
from semfocus.runs import RunSpec
from semfocus.training import build_model
from timing import benchmark_parser, interleaved, print_claim, print_table, started

PATTERNS = ("full", "top_k(5)", "banded(5)")
MOST = 1.15


def main(words: Sequence[str] | None = None) -> None:
    arguments = started(benchmark_parser(__doc__, repeats=15), words)
    torch.set_num_threads(1)
    num, repeats = (20, 1) if arguments.smoke else (1000, arguments.repeats)
    rows, ratios = [], []
    for pattern in PATTERNS:
        milliseconds = measured(pattern, num, repeats)
        ratios.append(milliseconds["point"] / milliseconds["evaluation"])
        rows.append((pattern, milliseconds["evaluation"], milliseconds["point"], ratios[-1]))
    print_table(("even_pairs", "evaluation, ms", "grid point, ms", "ratio"), rows)
    print_claim(f"a grid point over an evaluation of {num} samples, at worst", max(ratios), at_most=MOST)


def measured(pattern: str, num: int, repeats: int) -> dict[str, float]:
    spec = RunSpec(task="even_pairs", pattern=pattern)
    model = build_model(spec)
    loss = ModelLoss(model, samples_of(spec, "train", num), spec.seed, 0)
    centre = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
    directions = direction_pair(centre, spec.seed)
    # Small steps, so that the numbers, and with them the work, stay those of the model.
    axis = grid_axis(3, 1e-3)
    return interleaved(
        {
            "evaluation": loss.own,
            "point": lambda: list(losses_along_row(loss, centre, directions, axis[2:], axis[2])),
        },
        repeats,
    )


if __name__ == "__main__":
    main()
