"""Recipes: named lists of specs, one file for each figure of the paper and for each question of our own."""

from collections.abc import Mapping
from typing import Protocol

from semfocus.recipes.beyond import (
    ablations,
    as_released,
    causes,
    controls,
    k_sweep,
    language_small,
    length,
    norm,
    pretrain_finetune,
    quick,
    sharpness,
    small,
    temperature,
    tuned,
    twins,
)
from semfocus.recipes.paper import (
    activations,
    adam,
    curves,
    decay,
    depth,
    dispersion,
    heads,
    landscape,
    language,
    learning_rate,
    mask_sizes,
)
from semfocus.recipes.variant import on_even_pairs
from semfocus.runs import RunSpec


class Recipe(Protocol):
    """A module, or anything with these names.

    It may also have `next_stage(records)`, see beyond/tuned.py; `MEASURE`, what is measured in the runs after
    training, see paper/dispersion.py; and `CONTRASTS`, pairs of an arm and its baseline, the first of which is primary,
    see beyond/causes.py.
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
    "activations_short": on_even_pairs(activations.QUESTION, activations.of_three),
    "activations_small": ablations.ACTIVATIONS,
    "mask_sizes": mask_sizes,
    "depth": depth,
    "depth_short": on_even_pairs(depth.QUESTION, depth.specs),
    "depth_small": ablations.DEPTH,
    "heads": heads,
    "heads_short": on_even_pairs(heads.QUESTION, heads.specs),
    "heads_small": ablations.HEADS,
    "learning_rate": learning_rate,
    "learning_rate_short": on_even_pairs(learning_rate.QUESTION, learning_rate.specs),
    "learning_rate_small": ablations.LEARNING_RATE,
    "decay": decay,
    "decay_short": on_even_pairs(decay.QUESTION, decay.specs),
    "decay_small": ablations.DECAY,
    "adam": adam,
    "adam_short": on_even_pairs(adam.QUESTION, adam.specs),
    "adam_small": ablations.ADAM,
    "landscape": landscape,
    "landscape_small": landscape.SMALL,
    "dispersion": dispersion,
    "dispersion_small": dispersion.SMALL,
    "controls": controls,
    "k_sweep": k_sweep,
    "k_sweep_marked_majority": k_sweep.MARKED_MAJORITY,
    "k_sweep_small": k_sweep.SMALL,
    "temperature": temperature,
    "sharpness": sharpness,
    "sharpness_paper": sharpness.PAPER,
    "factorial": causes.FACTORIAL_SMALL,
    "factorial_paper": causes.FACTORIAL_PAPER,
    "clipping": causes.CLIPPING_SMALL,
    "clipping_paper": causes.CLIPPING_PAPER,
    "matched": causes.MATCHED_SMALL,
    "matched_paper": causes.MATCHED_PAPER,
    "which_keys": causes.WHICH_KEYS_SMALL,
    "which_keys_paper": causes.WHICH_KEYS_PAPER,
    "when": causes.WHEN_SMALL,
    "when_paper": causes.WHEN_PAPER,
    "twins": twins,
    "tuned": tuned,
    "tuned_small": tuned.SMALL,
    "tuned_small_adam": tuned.SMALL_ADAM,
    "length": length,
    "norm": norm,
    "language_small": language_small,
    "language_unigram": language.UNIGRAM,
    "language_bpe": language.BPE,
    "pretrain_finetune": pretrain_finetune,
    "as_released": as_released,
}

__all__ = ["RECIPES", "Recipe"]
