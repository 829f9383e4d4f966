"""quick: does top-k learn faster than full attention? Two runs on a small even_pairs setting."""

from semfocus.runs import RunSpec
from semfocus.studies import grid

QUESTION = "Does attention to the 5 best keys learn faster than full attention?"


def specs() -> list[RunSpec]:
    """Full attention and top_k(5), the same seed, data and order; minutes on one core."""
    return grid(
        {
            "task": "even_pairs",
            "seed": 153476998,
            "model": {"num_blocks": 2, "d_model": 32, "d_mlp": 32},
            "training": {
                "length": 16,
                "num_train": 2000,
                "num_held_out": 1000,
                "epochs": 40,
                "learning_rate": 0.2,
            },
        },
        pattern=["full", "top_k(5)"],
    )
