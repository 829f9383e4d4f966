"""The outcome of a run: its best epoch, when it reached the target, and a summary of its epochs."""

import math
from collections.abc import Mapping
from typing import Any

#: training accuracy that counts as converged, as in the paper
TARGET_ACCURACY = 0.95


def is_text(task: str) -> bool:
    """Whether a task, by its name in a spec, is to predict the next token: judged by loss, not by accuracy."""
    return task.startswith("text:")


def held_out_score(row: Mapping[str, Any], by_loss: bool) -> float:
    """What makes an epoch the best: held-out accuracy, for text the lowest held-out loss."""
    return -row["held_out_loss"] if by_loss else row["held_out_accuracy"]


def summarise(rows: list[dict[str, Any]], task: str = "") -> dict[str, Any]:
    """Numbers most people ask for. `epochs_to_target` is None for a run that never got there (censored).

    For text no accuracy is the target: what counts as one is decided where runs are compared.
    """
    if not rows:
        return {}
    if is_text(task):
        return _text_summary(rows)
    reached = next((row for row in rows if row["train_accuracy"] >= TARGET_ACCURACY), None)
    last, best = rows[-1], max(rows, key=lambda row: row["held_out_accuracy"])
    return {
        "target_accuracy": TARGET_ACCURACY,
        "epochs_to_target": reached["epoch"] if reached else None,
        "seconds_to_target": _seconds(rows, reached["epoch"]) if reached else None,
        "epochs": last["epoch"],
        "seconds": _seconds(rows, last["epoch"]),
        "last_train_accuracy": last["train_accuracy"],
        "last_held_out_accuracy": last["held_out_accuracy"],
        "best_held_out_accuracy": best["held_out_accuracy"],  # selected on the held-out set
        "best_epoch": best["epoch"],
    }


def _text_summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    last, best = rows[-1], max(rows, key=lambda row: held_out_score(row, True))
    return {
        "target_accuracy": None,
        "epochs_to_target": None,
        "seconds_to_target": None,
        "epochs": last["epoch"],
        "seconds": _seconds(rows, last["epoch"]),
        "last_train_accuracy": last["train_accuracy"],
        "last_held_out_accuracy": last["held_out_accuracy"],
        "last_train_perplexity": math.exp(min(last["train_loss"], 700.0)),
        "last_held_out_perplexity": math.exp(min(last["held_out_loss"], 700.0)),
        "best_held_out_perplexity": math.exp(
            min(best["held_out_loss"], 700.0)
        ),  # selected on the held-out set
        "best_epoch": best["epoch"],
    }


def _seconds(rows: list[dict[str, Any]], epoch: int) -> float:
    """Seconds of training up to the end of an epoch, evaluation not counted."""
    return sum(row["train_seconds"] for row in rows if row["epoch"] <= epoch)
