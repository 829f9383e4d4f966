"""Records with planted measurements, so that every answer of a mechanism test is known beforehand."""

import math
from typing import Any

from semfocus.analysis.summaries import TaskSummary, analyse
from semfocus.analysis.why.measured_runs import MeasuredTask, measured_tasks
from semfocus.runs.record import Record

SEEDS = (1, 2, 3, 4, 5)
QUANTILES = ("0", "5", "10", "25", "50", "75", "90", "95", "100")
EPOCHS = 100
TASKS = ("even_pairs", "missing_duplicate", "parity", "cycle_navigation", "stack_manipulation")


def row(quantity: str, value: float | dict[str, float], epoch: int = EPOCHS, **more: Any) -> dict[str, Any]:
    """All quantiles the same, or as given."""
    quantiles = dict.fromkeys(QUANTILES, value) if not isinstance(value, dict) else value
    return {
        "quantity": quantity,
        "layer": None,
        "head": None,
        "pattern": "full",
        "counterfactual": False,
        "num": 10,
        "num_infinite": 0,
        "num_missing": 0,
        "mean": quantiles["50"],
        "quantiles": quantiles,
        "null": None,
        "epoch": epoch,
        "data": "held_out",
        "samples": 8,
        **more,
    }


def both(quantity: str, value: float, **more: Any) -> list[dict[str, Any]]:
    """The same number in the untrained and in the trained model."""
    return [row(quantity, value, epoch, **more) for epoch in (0, EPOCHS)]


def record(
    task: str,
    pattern: str,
    seed: int,
    reached: float,
    rows: list[dict[str, Any]] = (),  # type: ignore[assignment]
    *,
    temperature: float = 1.0,
    last: float | None = None,
    held_out: float = 1.0,
    along: list[dict[str, Any]] = (),  # type: ignore[assignment]
    **more: Any,
) -> Record:
    """A run that reaches its target at that epoch (inf: never) and ends at `last` training accuracy, or at
    100 or 50 %.
    """
    end = last if last is not None else 1.0 if reached <= EPOCHS else 0.5
    train = [0.5 if epoch < reached else 0.96 for epoch in range(EPOCHS)] + [end]
    values = {
        "run": f"{task}-{pattern}-{temperature}-{seed}",
        "spec": {
            "task": task,
            "pattern": pattern,
            "seed": seed,
            "model": {"inverse_temperature": temperature},
            "training": {"length": 40, "epochs": EPOCHS, "num_train": 100},
        },
        "state": "done",
        "curve": {
            "epoch": list(range(EPOCHS + 1)),
            "train_accuracy": train,
            "held_out_accuracy": [0.5] * EPOCHS + [held_out],
            "train_loss": [0.1] * (EPOCHS + 1),
            "held_out_loss": [0.2] * (EPOCHS + 1),
            "train_seconds": [1.0] * (EPOCHS + 1),
        },
        "probes": list(along),
        **more,
    }
    return Record(values, measurements={"inside": list(rows)})


def summaries(records: list[Record]) -> list[TaskSummary]:
    return analyse(records)


def tasks_of(records: list[Record]) -> list[MeasuredTask]:
    return measured_tasks(summaries(records))


NEVER = math.inf
