"""Epochs for epoch.py in a process of its own, of whichever version of semfocus comes first on its path.

    python epoch_child.py NUM_TRAIN NUM_HELD_OUT

Says in one line of JSON what it runs. Then each line read is a pattern, and each line written the milliseconds of the
two parts of one epoch: even_pairs at the paper's setting from the same initial weights, one thread. It uses only what
earlier versions have as well.
"""

import json
import sys

import torch

import semfocus
from semfocus.runs import RunSpec
from semfocus.training import build_model, dataset_of, train
from semfocus.training.observers import EpochResult, Observer
from semfocus.training.optimiser import build_optimiser


class Listener(Observer):
    """Keeps the result of the last epoch."""

    result: EpochResult

    def epoch_ended(self, result: EpochResult) -> None:
        self.result = result


def one_epoch(pattern: str, num_train: int, num_held_out: int) -> dict[str, float]:
    training = {"num_train": num_train, "num_held_out": num_held_out, "epochs": 1}
    spec = RunSpec(task="even_pairs", pattern=pattern, training=training)
    data, model, listener = dataset_of(spec), build_model(spec), Listener()
    optimiser = build_optimiser(model, spec.training)
    train(model, optimiser, data, spec.training, spec.seed, 1, [listener])
    return {
        "training": 1e3 * listener.result.train_seconds,
        "evaluation": 1e3 * listener.result.evaluation_seconds,
    }


def kernels() -> str:
    try:
        from semfocus.mechanisms import kernels_in_use
    except ImportError:
        return "none in this version"
    return kernels_in_use() or "not compiled"


def main() -> None:
    torch.set_num_threads(1)
    num_train, num_held_out = map(int, sys.argv[1:])
    print(json.dumps({"file": semfocus.__file__, "kernels": kernels()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(one_epoch(line.strip(), num_train, num_held_out)), flush=True)


if __name__ == "__main__":
    main()
