"""Claim: even_pairs at the paper's setting reaches 95 % at the same epoch on the kernels and on the reference.

Trains the same run (task, pattern, seed, order, dropout) until 95 % of the training set is right: on the
kernels of each instruction set of this machine, and with every operation from the reference (dense scores,
PyTorch's own layers). The runs differ in rounding alone. Prints the training loss after each epoch side by
side, and the epochs of the target; where they differ, how soon and how far the kernels of two instruction
sets part tells what rounding alone does.

    python benchmarks/same_epoch.py [--pattern "top_k(5)"] [--seed 153476998] [--epochs 100] [--double]
"""

import argparse
import json
import os
import subprocess
import sys

import torch

from semfocus.kernels.cpu.layout import INSTRUCTION_SETS
from semfocus.kernels.cpu.library import load_library
from semfocus.mechanisms.dispatch import IMPLEMENTATIONS
from semfocus.runs import RunSpec
from semfocus.training import build_model, dataset_of, train
from semfocus.training.observers import EpochResult, Observer
from semfocus.training.optimiser import build_optimiser
from timing import print_table

TARGET = 0.95


class Speaker(Observer):
    """One line of JSON an epoch."""

    def epoch_ended(self, result: EpochResult) -> None:
        print(json.dumps([result.train_loss, result.train_accuracy]), flush=True)


def train_here(arguments: argparse.Namespace) -> None:
    """The run itself, in a child process."""
    torch.set_num_threads(1)
    if arguments.path == "reference":
        for name in [name for name in IMPLEMENTATIONS if name != "reference"]:
            del IMPLEMENTATIONS[name]
    training = {"epochs": arguments.epochs, "stop_at": TARGET}
    spec = RunSpec(task="even_pairs", pattern=arguments.pattern, seed=arguments.seed, training=training)
    model = build_model(spec)
    if arguments.double:
        model.double()
    train(
        model,
        build_optimiser(model, spec.training),
        dataset_of(spec),
        spec.training,
        spec.seed,
        0,
        [Speaker()],
    )


def start(path: str, arguments: argparse.Namespace) -> subprocess.Popen[str]:
    own = {"SEMFOCUS_KERNELS": "none"} if path == "reference" else {"SEMFOCUS_INSTRUCTION_SET": path}
    options = [
        "--pattern",
        arguments.pattern,
        "--seed",
        str(arguments.seed),
        "--epochs",
        str(arguments.epochs),
    ]
    return subprocess.Popen(
        [sys.executable, __file__, *options, "--path", path, *(["--double"] if arguments.double else [])],
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        text=True,
    )


def compare(arguments: argparse.Namespace) -> None:
    library = load_library()
    sets = INSTRUCTION_SETS[: INSTRUCTION_SETS.index(library.best) + 1] if library else ()
    paths = ["reference", *reversed(sets)]
    curves: dict[str, list[list[float]]] = {}
    for first in range(0, len(paths), 2):  # two at a time
        children = {path: start(path, arguments) for path in paths[first : first + 2]}
        for path, child in children.items():
            output, _ = child.communicate()
            if child.returncode:
                raise SystemExit(f"the run on {path} failed")
            curves[path] = [json.loads(line) for line in output.splitlines()]
    print(f"even_pairs, {arguments.pattern}, seed {arguments.seed}: training loss after each epoch")
    rows = [
        [epoch, *(f"{curve[epoch][0]:.6f}" if epoch < len(curve) else "" for curve in curves.values())]
        for epoch in range(max(map(len, curves.values())))
    ]
    print_table(["epoch", *curves], rows)
    reached = {path: len(curve) - 1 if curve[-1][1] >= TARGET else None for path, curve in curves.items()}
    print(f"\nepoch of {TARGET:.0%}: " + ", ".join(f"{path} {epoch}" for path, epoch in reached.items()))
    same = reached["reference"] is not None and len(set(reached.values())) == 1
    print("the same epoch on every path: " + ("holds" if same else "does NOT hold"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pattern", default="top_k(5)")
    parser.add_argument("--seed", type=int, default=153476998)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument(
        "--double", action="store_true", help="in float64, where rounding takes longer to matter"
    )
    parser.add_argument("--path", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    (train_here if arguments.path else compare)(arguments)


if __name__ == "__main__":
    main()
