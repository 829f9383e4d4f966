"""language_unigram: the paper's narrow and deep language models, 4,096 unigram pieces."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

QUESTION = (
    "Do deep, narrow language models with top-k attention learn in fewer epochs? (text: --tasks text:PATH)"
)
FIGURE = "language modelling, unigram"

#: sizes as in the paper; context, samples and optimiser are ours, since the paper does not say them
SETTING = {
    "task": "text:stdlib",
    "model": {"d_model": 32, "d_mlp": 128},
    "training": {"length": 128, "tokenizer": "unigram:4096"},
}
BLOCKS = [8, 16, 32, 64]


def specs() -> list[RunSpec]:
    """Every depth; on a text of one's own with `--tasks text:PATH`, which needs the extra semfocus[text]."""
    return compare(SETTING, ABLATION_ARMS, PAPER_SEEDS[:5], model__num_blocks=BLOCKS)
