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


TEN = list(range(40, 50))
UNFINISHED: dict[str, Any] = {"last": 9, "state": "unfinished"}
#: what may happen in a comparison -> its arms
CASES: dict[str, list[list[dict[str, Any]]]] = {
    "five seeds": [arm("full", [40, 47, 58, 44, 50]), arm("top_k(5)", [7, 7, 13, 8, 9])],
    "three seeds": [arm("full", [40, 47, 58]), arm("top_k(5)", [7, 7, 13]), arm("banded(5)", [None] * 3)],
    "two seeds that agree": [
        arm("full", [59, 36], last=60),
        arm("banded(5)", [53, 32], last=60),
        arm("full", [35, 20], inverse_temperature=4.0, last=60),
    ],
    "one seed": [arm("full", [40]), arm("top_k(5)", [7])],
    "an arm with too few seeds": [
        arm("full", TEN[:5]),
        arm("top_k(5)", [5, 6, 5, 6, 5]),
        arm("top_k(9)", [2, 2]),
        arm("banded(5)", [59] * 5),
    ],
    "the largest estimate is unsure": [
        arm("full", [40, 47, 58, 44, 50]),
        arm("full", [20, 22, 30, 21, 24], inverse_temperature=4.0),
        arm("full", [1, 60, 2, 60, 3], inverse_temperature=10.0, last=60),
    ],
    "significant": [arm("full", TEN[:6]), arm("top_k(5)", [2] * 6)],
    "never significant with six seeds and four arms": [
        arm("full", TEN[:6]),
        *(arm(f"top_k({k})", [2] * 6) for k in (3, 5, 7, 9)),
    ],
    "not significant": [arm("full", [20, 40] * 5), arm("top_k(5)", [40, 20, 40, 20, 40, 20, 40, 20, 40, 19])],
    "full never arrives": [arm("full", [None] * 5), arm("top_k(5)", [6, 7, 10, 7, 8])],
    "nothing beats full": [
        arm("full", [10, 11, 12, 11, 12]),
        arm("top_k(5)", [9, 13, 12, 10, 13]),
        arm("banded(5)", [40, 41, 47, 42, 46]),
    ],
    "nothing but a slower arm": [arm("full", [10, 11, 12, 11, 12]), arm("banded(5)", [40, 41, 47, 42, 46])],
    "full alone arrives": [arm("full", [10, 11, 12, 11, 10]), arm("top_k(5)", [None] * 5)],
    "full alone arrives, three seeds": [arm("full", [10, 11, 12]), arm("top_k(5)", [None] * 3)],
    "full alone arrives, one seed": [arm("full", [10]), arm("top_k(5)", [None])],
    "sharpness wins": [
        arm("full", [40, 47, 58, 44, 50]),
        arm("top_k(5)", [12, 14, 20, 13, 16]),
        arm("full", [3, 3, 4, 3, 4], inverse_temperature=10.0),
    ],
    "sparsity wins": [
        arm("full", [40, 47, 58, 44, 50]),
        arm("top_k(5)", [12, 14, 20, 13, 16]),
        arm("full", [30, 35, 45, 33, 40], inverse_temperature=4.0),
    ],
    "neither wins": [
        arm("full", [40, 47, 58, 44, 50]),
        arm("top_k(5)", [12, 14, 20, 13, 16]),
        arm("full", [11, 15, 19, 12, 18], inverse_temperature=4.0),
    ],
    "nobody arrives": [arm("full", [None] * 3), arm("top_k(5)", [None] * 3)],
    "no baseline": [arm("top_k(5)", [4, 5])],
    "nothing but the baseline": [arm("full", [4, 5])],
    "no seed in common": [[record("full", 1, 4)], [record("top_k(5)", 2, 4)]],
    "still running": [
        arm("full", [40, 47, 58]),
        [record("top_k(5)", seed, 7, **UNFINISHED) for seed in range(3)],
    ],
    "still running, six seeds": [
        arm("full", TEN[:6]),
        [record("top_k(5)", seed, 2, **UNFINISHED) for seed in range(6)],
    ],
    "runs that diverged": [arm("full", [None] * 3, last=4, state="diverged"), arm("top_k(5)", [6, 7, 10])],
    "a run that failed": [
        arm("full", [40, 47, 58]),
        [*arm("top_k(5)", [6, 7]), record("top_k(5)", 2, None, last=3, state="failed")],
    ],
    "ended too early": [arm("full", [None] * 3, last=10), arm("top_k(5)", [40, 41, 42])],
}
