"""Recipes: named lists of specs, one file for each figure of the paper and for each question of our own."""

from collections.abc import Mapping
from typing import Protocol

from semfocus.recipes import (
    activations,
    adam,
    as_released,
    controls,
    curves,
    decay,
    depth,
    dispersion,
    dispersion_small,
    heads,
    k_sweep,
    k_sweep_marked_majority,
    k_sweep_small,
    landscape,
    landscape_small,
    language_bpe,
    language_small,
    language_unigram,
    learning_rate,
    length,
    mask_sizes,
    norm,
    pretrain_finetune,
    quick,
    sharpness,
    sharpness_paper,
    small,
    temperature,
    tuned,
    twins,
)
from semfocus.recipes.short import OnEvenPairs
from semfocus.runs import RunSpec


class Recipe(Protocol):
    """A module, or anything with these names.

    It may also have `next_stage(records)`, see tuned.py, and say what follows the training: `PROBES`, see dispersion.py, `LANDSCAPES`,
    see landscape_small.py, `TWINS`, see twins.py.
    """

    @property
    def QUESTION(self) -> str: ...
    @property
    def FIGURE(self) -> str: ...
    def specs(self) -> list[RunSpec]: ...


RECIPES: Mapping[str, Recipe] = {
    "quick": quick,
    "small": small,
    "curves": curves,
    "activations": activations,
    "mask_sizes": mask_sizes,
    "depth": depth,
    "depth_short": OnEvenPairs(depth.QUESTION, depth.specs),
    "heads": heads,
    "heads_short": OnEvenPairs(heads.QUESTION, heads.specs),
    "learning_rate": learning_rate,
    "learning_rate_short": OnEvenPairs(learning_rate.QUESTION, learning_rate.specs),
    "decay": decay,
    "decay_short": OnEvenPairs(decay.QUESTION, decay.specs),
    "adam": adam,
    "adam_short": OnEvenPairs(adam.QUESTION, adam.specs),
    "landscape": landscape,
    "landscape_small": landscape_small,
    "dispersion": dispersion,
    "dispersion_small": dispersion_small,
    "controls": controls,
    "k_sweep": k_sweep,
    "k_sweep_marked_majority": k_sweep_marked_majority,
    "k_sweep_small": k_sweep_small,
    "temperature": temperature,
    "sharpness": sharpness,
    "sharpness_paper": sharpness_paper,
    "twins": twins,
    "tuned": tuned,
    "length": length,
    "norm": norm,
    "language_small": language_small,
    "language_unigram": language_unigram,
    "language_bpe": language_bpe,
    "pretrain_finetune": pretrain_finetune,
    "as_released": as_released,
}

__all__ = ["RECIPES", "Recipe"]
