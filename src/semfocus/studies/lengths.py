"""Trained runs at other lengths than their own: accuracies, kept in the run's directory once computed."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from semfocus.runs import RunDirectory, RunSpec, Store
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.runner import longest
from semfocus.training.trained_run import load_run

#: multiples of the training length: 40, 42, 50, 60, 80, 120, 200, 300, 400, 500 for 40
_MULTIPLES = (1, 1.05, 1.25, 1.5, 2, 3, 5, 7.5, 10, 12.5)
_LARGEST = 500
#: seconds to wait for another process that adds its own evaluations
_PATIENCE = 10.0

Row = dict[str, Any]


def lengths_for(spec: RunSpec) -> list[int]:
    """From the training length up to 500, or twice as far for longer ones; each the next that the task allows."""
    own = longest(spec.training.length)
    found = []
    for multiple in _MULTIPLES:
        length = round(own * multiple)
        if length <= max(_LARGEST, 2 * own):
            allowed = (
                each for each in range(length, length + 8) if spec.task_value.allows_length(each) is None
            )
            found.append(next(allowed, None))
    return sorted({length for length in found if length is not None})


def accuracy_by_length(
    spec: RunSpec,
    store: Store,
    lengths: Sequence[int],
    *,
    num: int = 1000,
    device: str = "auto",
    threads: int = 1,
) -> list[Row]:
    """Loss and accuracy of the run's last checkpoint on `num` new samples of each length."""
    directory = store.directory(spec)
    known = _known(directory)
    missing = [length for length in lengths if (length, num) not in known]
    if missing:
        trained = load_run(directory, "last", resolve_device(device))
        with limited_threads(threads):
            for length in missing:
                result = asdict(trained.at_length(length, num))
                known[length, num] = {"length": length, "num": num, "epoch": trained.epoch, **result}
        with directory.owned(_PATIENCE):
            both = _known(directory) | known  # another process may have added some meanwhile
            directory.write_evaluations([both[key] for key in sorted(both)])
    return [known[length, num] for length in lengths]


def _known(directory: RunDirectory) -> dict[tuple[int, int], Row]:
    return {(row["length"], row["num"]): row for row in directory.evaluations()}
