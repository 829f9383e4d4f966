"""Records made by hand: a run that reaches the target at a given epoch, or never."""

from typing import Any

LAST_EPOCH = 60


def record(
    pattern: str = "full",
    seed: int = 0,
    reached_at: int | None = None,
    *,
    task: str = "even_pairs",
    last: int = LAST_EPOCH,
    state: str = "done",
    inverse_temperature: float = 1.0,
    seconds: float = 2.0,
    held_out: float = 0.9,
    **spec: Any,
) -> dict[str, Any]:
    """Accuracy 0.5 before `reached_at` (None: always), and 1 from then on; `seconds` an epoch."""
    epochs = list(range(last + 1))
    accuracy = [1.0 if reached_at is not None and epoch >= reached_at else 0.5 for epoch in epochs]
    return {
        "run": f"{task}-{pattern}-{inverse_temperature}-{seed}",
        "spec": {
            "task": task,
            "pattern": pattern,
            "seed": seed,
            "model": {"inverse_temperature": inverse_temperature, **spec.pop("model", {})},
            "training": {"epochs": LAST_EPOCH, **spec.pop("training", {})},
            **spec,
        },
        "state": state,
        "reason": None,
        "curve": {
            "epoch": epochs,
            "train_accuracy": accuracy,
            "held_out_accuracy": [held_out * value for value in accuracy],
            "train_loss": [1 - value for value in accuracy],
            "held_out_loss": [1.5 - value for value in accuracy],
            "train_seconds": [0.001, *[seconds] * last],
            "evaluation_seconds": [0.1] * (last + 1),
            "learning_rate": [0.1] * (last + 1),
        },
    }


def arm(pattern: str, reached_at: list[int | None], **settings: Any) -> list[dict[str, Any]]:
    """Records of one arm, with seeds 0, 1, 2, ..."""
    return [record(pattern, seed, epoch, **settings) for seed, epoch in enumerate(reached_at)]
