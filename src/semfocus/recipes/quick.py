"""quick: does top-k learn faster than full attention? Five arms, three seeds, minutes."""

from semfocus.recipes.arms import compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

QUESTION = "Does attention to the 5 best keys learn faster than full attention?"
FIGURE = "ours: figure 1 (proceedings) scaled down"

SETTING = {
    "task": "even_pairs",
    "model": {"num_blocks": 2, "d_model": 32, "d_mlp": 32},
    "training": {
        "length": 16,
        "num_train": 2000,
        "num_held_out": 1000,
        "epochs": 40,
        "learning_rate": 0.2,
    },
}
ARMS = ("full", "full x4", "banded(5)", "block_local(5)", "top_k(5)")


def specs() -> list[RunSpec]:
    """A setting far smaller than the paper's."""
    return compare(SETTING, ARMS, PAPER_SEEDS[:3])
