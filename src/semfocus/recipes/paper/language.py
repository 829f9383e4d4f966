"""language: the paper's language models, deep and narrow with unigram pieces, wider with BPE pieces."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.recipes.variant import Variant
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

#: sizes as in the paper; context, samples and optimiser are ours, since the paper does not say them
UNIGRAM_SETTING = {
    "task": "text:stdlib",
    "model": {"d_model": 32, "d_mlp": 128},
    "training": {"length": 128, "tokenizer": "unigram:4096"},
}
BPE_SETTING = {
    "task": "text:stdlib",
    "model": {"d_model": 128, "d_mlp": 512, "num_heads": 4},
    "training": {"length": 128, "tokenizer": "bpe:10000"},
}


def unigram_specs() -> list[RunSpec]:
    """Every depth; on a text of one's own with `--tasks text:PATH`, which needs the extra semfocus[text]."""
    return compare(UNIGRAM_SETTING, ABLATION_ARMS, PAPER_SEEDS[:5], model__num_blocks=[8, 16, 32, 64])


def bpe_specs() -> list[RunSpec]:
    """Every depth, likewise."""
    return compare(BPE_SETTING, ABLATION_ARMS, PAPER_SEEDS[:5], model__num_blocks=[6, 10, 15])


UNIGRAM = Variant(
    "Do deep, narrow language models with top-k attention learn in fewer epochs? (text: --tasks text:PATH)",
    "language modelling, unigram",
    unigram_specs,
)
BPE = Variant(
    "Do wider language models with top-k attention learn in fewer epochs? (text: --tasks text:PATH)",
    "language modelling, BPE",
    bpe_specs,
)
