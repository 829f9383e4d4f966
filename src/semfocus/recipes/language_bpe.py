"""language_bpe: the paper's wider language models, 10,000 BPE pieces."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

QUESTION = "Do wider language models with top-k attention learn in fewer epochs? (text: --tasks text:PATH)"
FIGURE = "language modelling, BPE"

#: sizes as in the paper; context, samples and optimiser are ours, since the paper does not say them
SETTING = {
    "task": "text:stdlib",
    "model": {"d_model": 128, "d_mlp": 512, "num_heads": 4},
    "training": {"length": 128, "tokenizer": "bpe:10000"},
}
BLOCKS = [6, 10, 15]


def specs() -> list[RunSpec]:
    """Every depth; on a text of one's own with `--tasks text:PATH`, which needs the extra semfocus[text]."""
    return compare(SETTING, ABLATION_ARMS, PAPER_SEEDS[:5], model__num_blocks=BLOCKS)
