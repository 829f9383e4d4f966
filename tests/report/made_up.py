"""Records as a study would leave them, without training: logistic learning curves with noise, some of them stuck."""

import hashlib
import json
import math
import random
from typing import Any

PAPER_SEEDS = (
    *(153476998, 235510766, 205084180, 129959864, 149896109),
    *(140439608, 145017219, 162518970, 245293503, 152674004),
)
SMALL_ARMS = {  # pattern, inverse temperature -> how many times faster than full
    ("full", 1.0): 1.0,
    ("full", 4.0): 4.5,
    ("full", 10.0): 9.0,
    ("banded(5)", 1.0): 0.6,
    ("banded(5)+G1", 1.0): 0.95,
    ("block_local(5)", 1.0): 0.7,
    ("top_k(5)", 1.0): 3.0,
}
TASKS = {  # epochs that full attention needs, chance, held-out accuracy in the end
    "even_pairs": (30, 0.5, 1.0),
    "missing_duplicate": (60, 0.5, 0.99),
    "stack_manipulation": (45, 0.45, 0.97),
    "cycle_navigation": (70, 0.2, 0.3),
    "modular_arithmetic": (80, 0.3, 0.45),
    "solve_equation": (75, 0.25, 0.4),
    "parity": (90, 0.5, 0.5),
    "listops": (40, 0.2, 0.8),
}


def spec_of(task: str, pattern: str, seed: int, temperature: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A spec as it stands in a record; `changes` are flat, with two underscores for a dot."""
    spec: dict[str, Any] = {
        "task": task,
        "pattern": pattern,
        "seed": seed,
        "model": _model(temperature),
        "training": {**_TRAINING},
        "data": None,
        "recipe": None,
        "results_version": 2,
    }
    for key, value in changes.items():
        *parents, last = key.split("__")
        inner = spec
        for parent in parents:
            inner = inner[parent]
        inner[last] = value
    return spec


def _model(temperature: float) -> dict[str, Any]:
    factors = dict.fromkeys(("embedding", "query_key", "value_out", "mlp", "readout"), 1.0)
    return {
        **{"d_model": 32, "d_mlp": 32, "num_blocks": 2, "num_heads": 1, "activation": "relu", "norm": "pre"},
        **{
            "projections": "separate",
            "inverse_temperature": temperature,
            "dropout": 0.01,
            "layer_norm_eps": 1e-5,
        },
        **{"initial_scale": factors, "attention_dropout_in_evaluation": False, "padding_takes_part": False},
        **{"pad_to_multiple": 1, "first_norm_eps": None},
    }


_TRAINING: dict[str, Any] = {
    **{
        "length": 16,
        "num_train": 2000,
        "num_held_out": 1000,
        "epochs": 100,
        "batch_size": 25,
        "optimiser": "sgd",
    },
    **{
        "learning_rate": 0.2,
        "learning_rate_decay": 1.0,
        "momentum": 0.0,
        "weight_decay": 0.0,
        "clip_norm": 0.5,
    },
    "learning_rate_scale": dict.fromkeys(("embedding", "query_key", "value_out", "mlp", "readout"), 1.0),
    **{"stop_at": None, "drop_samples_per_epoch": 0},
}


def record_of(
    spec: dict[str, Any],
    *,
    middle: float,
    chance: float = 0.5,
    held_out: float = 1.0,
    state: str = "done",
    reason: str | None = None,
    last: int | None = None,
    noise: float = 0.01,
) -> dict[str, Any]:
    """A run that gets to 95 % training accuracy near epoch `middle` (inf: never)."""
    draw = random.Random(json.dumps(spec, sort_keys=True))
    epochs = spec["training"]["epochs"] if last is None else last
    rows = [_row(epoch, middle, chance, held_out, draw, noise) for epoch in range(epochs + 1)]
    stop = spec["training"].get("stop_at")
    if stop is not None:
        end = next((row["epoch"] for row in rows if row["train_accuracy"] >= stop), epochs)
        rows = rows[: end + 1]
    reached = next((row["epoch"] for row in rows if row["train_accuracy"] >= 0.95), None)
    return {
        "run": hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:20],
        "spec": spec,
        "state": state,
        "reason": reason,
        "curve": {key: [row[key] for row in rows] for key in rows[0]},
        "summary": {
            "target_accuracy": 0.95,
            "epochs_to_target": reached,
            "seconds_to_target": None if reached is None else 1.3 * reached,
            "epochs": rows[-1]["epoch"],
            "seconds": 1.3 * rows[-1]["epoch"],
            "last_train_accuracy": rows[-1]["train_accuracy"],
            "last_held_out_accuracy": rows[-1]["held_out_accuracy"],
            "best_held_out_accuracy": max(row["held_out_accuracy"] for row in rows),
            "best_epoch": max(rows, key=lambda row: row["held_out_accuracy"])["epoch"],
        },
        "num_parameters": 14210,
        "num_train": 2000,
        "num_held_out": 1000,
        "held_out_overlap": 0,
        "attempts": 1,
        "problems": [],
        "environment": {
            "semfocus": "0.1.0",
            "python": "3.11.9",
            "host": "somewhere",
            "time": "2025-01-01T00:00:00+00:00",
            "numerics": {"torch": "2.13.0", "threads": 1},
        },
    }


def _row(
    epoch: int, middle: float, chance: float, held_out: float, draw: random.Random, noise: float
) -> dict[str, Any]:
    rise = 0.0 if math.isinf(middle) else 1 / (1 + math.exp(-(epoch - 0.8 * middle) / max(0.5, middle / 15)))
    start = 0.0 if math.isinf(middle) else 1 / (1 + math.exp(12))
    share = 0.15 * (1 - math.exp(-epoch / 20)) if math.isinf(middle) else max(0.0, rise - start)
    wobble = draw.gauss(0, noise) * (0.2 + share * (1 - share) * 4)
    train = min(1.0, max(0.0, round(2000 * (chance + (1 - chance) * share + wobble)) / 2000))
    test = min(
        1.0,
        max(
            0.0,
            round(1000 * (chance + (held_out - chance) * share + wobble + draw.gauss(0, noise / 2))) / 1000,
        ),
    )
    return {
        "epoch": epoch,
        "train_loss": 0.7 * (1 - train) + 0.001,
        "train_accuracy": train,
        "held_out_loss": 0.7 * (1 - test) + 0.002,
        "held_out_accuracy": test,
        "train_seconds": 1.3 if epoch else 0.0,
        "evaluation_seconds": 0.2,
        "learning_rate": 0.2,
    }


def study(
    tasks: int = 8,
    seeds: int = 5,
    *,
    epochs: int = 100,
    arms: dict[tuple[str, float], float] | None = None,
    **changes: Any,
) -> list[dict[str, Any]]:
    """Every arm of `small` on so many tasks and seeds; banded gets stuck on even_pairs, and one run diverges."""
    records = []
    for task, (slow, chance, held_out) in list(TASKS.items())[:tasks]:
        for (pattern, temperature), factor in (arms or SMALL_ARMS).items():
            for place, seed in enumerate(PAPER_SEEDS[:seeds]):
                spec = spec_of(task, pattern, seed, temperature, training__epochs=epochs, **changes)
                draw = random.Random(f"{task}{pattern}{temperature}{seed}")
                middle = slow * epochs / 100 / factor * math.exp(draw.gauss(0, 0.25))
                if (
                    task == "even_pairs"
                    and pattern.startswith(("banded(5)", "block"))
                    and "+G" not in pattern
                ):
                    middle = math.inf
                if task == "parity":
                    middle *= {"top_k(5)": 2.8}.get(pattern, 1.0)
                diverges = task == "listops" and temperature == 10 and place == 0
                records.append(
                    record_of(
                        spec,
                        middle=max(1.0, middle),
                        chance=chance,
                        held_out=held_out,
                        state="diverged" if diverges else "done",
                        reason="loss is nan at epoch 7, batch 12" if diverges else None,
                        last=6 if diverges else None,
                    )
                )
    return records
