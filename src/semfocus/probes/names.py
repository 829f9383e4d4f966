"""Every quantity that can be probed, in words: name, meaning, unit, and the question it answers; needs no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from semfocus.settings import GroupFactors

Per = Literal["query", "key", "head", "model"]

#: standard deviations of the noise of mask agreement, in units of the root mean square of the embedding's entries
NOISE_SIZES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
#: groups of parameters, each with its own gradient norm
GROUPS = tuple(GroupFactors.model_fields)


@dataclass(frozen=True)
class Quantity:
    """`per` says what has one value: a query, a key, a head (of one sequence), or the model.

    `measure` gives (batch, heads, L) per query or key, (batch, heads) per head, (queries, heads) for a sample
    of queries, (batch, L) for the tokens, which have no head. It is None here, and where a quantity is not
    made of one trace: `semfocus.probes.QUANTITIES` has it.
    """

    name: str
    meaning: str
    per: Per
    unit: str
    #: a function of a semfocus.probes.View
    measure: Callable[[Any], Any] | None = None
    #: a sample of queries, not all
    sampled: bool = False
    #: whether another pattern on the same scores could change it
    of_pattern: bool = True
    #: the value where the scores are noise: "twin" measures it on a Gaussian twin, a name takes that quantity's mean
    null: str | None = None
    #: quantities of a trace whose values it is made of
    parts: tuple[str, ...] = ()
    #: what must be given or known: "relevant", "labels", "projections", "classifier", "embedding"
    needs: str | None = None


@dataclass(frozen=True)
class Question:
    """What a quantity answers: `asks` stands above its figure, `reading` below it."""

    asks: str
    reading: str


def agreement_name(size: float) -> str:
    """mask_agreement_0.001"""
    return f"mask_agreement_{size:g}"


def _of_scores(name: str, meaning: str, unit: str, per: Per = "query") -> Quantity:
    """A quantity of scores and kept keys alone, so that a Gaussian twin has it too."""
    return Quantity(name, meaning, per, unit, null="twin")


def _of_tokens(name: str, meaning: str, unit: str, needs: str | None = None) -> Quantity:
    """A quantity of attended tokens, for a sample of queries."""
    return Quantity(name, meaning, "query", unit, sampled=True, needs=needs)


_SCORES = [
    _of_scores("dispersion", "Highest minus lowest kept score (δ).", "logits"),
    _of_scores("dispersion_ratio", "Dispersion of the kept over that of all allowed scores (c1).", "ratio"),
    _of_scores("separation", "Lowest kept minus highest masked score (Δ).", "logits"),
    _of_scores("separation_ratio", "Separation over the dispersion of all allowed scores (c2).", "ratio"),
    _of_scores(
        "key_load",
        "Queries that keep a key, over the mean number of keys that a query keeps.",
        "ratio",
        "key",
    ),
    _of_scores("key_degree", "Queries that keep a key.", "queries", "key"),
    _of_scores("largest_key_load", "Largest key load of a sequence (β).", "ratio", "head"),
    _of_scores("received_mass", "Attention that all queries together give to a key.", "mass", "key"),
    _of_scores("largest_received_mass", "Largest received mass of a sequence (C).", "mass", "head"),
    _of_scores(
        "retained_mass", "Mass that full attention on the same scores would give to the kept keys.", "mass"
    ),
    _of_scores("num_kept", "Keys that a query keeps.", "keys"),
    _of_scores("entropy", "Entropy of the attention weights.", "nats"),
    _of_scores("effective_keys", "e to the entropy: how many keys a query effectively attends to.", "keys"),
    _of_scores("participation", "1 / Σ p²: the same, counted by squared weights.", "keys"),
    _of_scores("jacobian_11", "Softmax Jacobian, l1 to l1.", "norm"),
    _of_scores("jacobian_22", "Softmax Jacobian, spectral norm.", "norm"),
    _of_scores("jacobian_22_upper", "Softmax Jacobian, upper bound on the spectral norm.", "norm"),
    _of_scores("jacobian_inf1_low", "Softmax Jacobian, l∞ to l1, lower bound.", "norm"),
    _of_scores("jacobian_inf1_high", "Softmax Jacobian, l∞ to l1, upper bound.", "norm"),
    _of_scores("jacobian_frobenius", "Softmax Jacobian, Frobenius norm.", "norm"),
]

_TOKENS = [
    Quantity(
        "token_norm", "Norm of an attention input (Xi is the largest).", "key", "norm", of_pattern=False
    ),
    _of_tokens("attended_covariance", "Spectral norm of the covariance of the attended tokens.", "norm²"),
    _of_tokens("attended_diameter", "Largest distance between two kept tokens.", "norm"),
    _of_tokens(
        "lambda_w_local",
        "Exact local Lipschitz constant of a query's output in W, mask fixed.",
        "norm³",
        "projections",
    ),
    _of_tokens("lambda_w_ratio", "That constant over its worst case Upsilon Xi³.", "ratio", "projections"),
    _of_tokens(
        "lambda_w_diameter",
        "Upper bound on that constant from the diameter of the kept tokens.",
        "norm³",
        "projections",
    ),
]

_FOCUS = [
    Quantity(
        "focus_mass",
        "Attention mass on the tokens that decide the label.",
        "query",
        "mass",
        null="focus_chance",
        needs="relevant",
    ),
    Quantity(
        "focus_share",
        "Share of the kept keys that decide the label.",
        "query",
        "share",
        null="focus_chance",
        needs="relevant",
    ),
    Quantity(
        "focus_chance",
        "Share of the allowed keys that decide the label: what uniform attention would give.",
        "query",
        "share",
        of_pattern=False,
        needs="relevant",
    ),
]

_GAPS = [
    Quantity(name, meaning, "head", unit, null="twin", parts=("separation", "num_kept"))
    for name, meaning, unit in (
        ("gap_density", "Share of small separations over their size (rho0).", "1/logits"),
        ("average_slope", "1 + 4 rho0 / k: average move of the weights per move of a score.", "ratio"),
    )
]

_AGREEMENT = [
    Quantity(
        agreement_name(size),
        f"Share of kept keys that stay kept under noise of {size:g} times the size of the embeddings.",
        "query",
        "share",
        needs="embedding",
    )
    for size in NOISE_SIZES
]

_WEIGHTS = [
    Quantity(name, f"Spectral norm of {what}.", "model", "norm", of_pattern=False, needs="classifier")
    for name, what in (
        ("score_norm", "W, the scaled query-key product with bias columns (Gamma)"),
        ("value_norm", "V, the output-value product with its bias column (Upsilon)"),
        ("expand_norm", "the MLP's first map with its bias column (P)"),
        ("contract_norm", "the MLP's second map with its bias column (R)"),
    )
]

_GRADIENTS = [
    Quantity(
        f"{kind}_{group}",
        f"{what}, parameters of {group}.",
        "model",
        "norm",
        of_pattern=False,
        needs="labels",
    )
    for kind, what in (
        ("gradient_norm", "Gradient norm of the loss of single sequences (a sample of them)"),
        ("mean_gradient_norm", "Norm of the gradient of the mean loss"),
    )
    for group in GROUPS
]

#: by name, without their measures
NAMES: Mapping[str, Quantity] = {
    each.name: each for each in (*_SCORES, *_GAPS, *_TOKENS, *_FOCUS, *_AGREEMENT, *_WEIGHTS, *_GRADIENTS)
}

#: in the order of a page
QUESTIONS: Mapping[str, Question] = {
    "dispersion": Question(
        "How far apart are the scores that the softmax sees?",
        "The paper's explanation starts here. Models have scores of different sizes, so compare each with its own bar, "
        "not with another model: the bar is noise in place of its scores, with the mean and the spread that each query's "
        "scores have, under the same selection.",
    ),
    "dispersion_ratio": Question(
        "How much of the dispersion do the kept keys have?",
        "Dispersion of the kept over that of all scores of the same query. Keeping few keys makes it small whatever was "
        "learned: what counts is a dot below the bar of noise, or above it.",
    ),
    "separation": Question(
        "How clear is the cut between kept and masked keys?",
        "The lowest kept score minus the highest masked one. Below zero a masked key scored higher than a kept one, "
        "as under fixed patterns; near zero a small change flips the choice. Full attention has none.",
    ),
    "effective_keys": Question(
        "On how many keys does a query really look?",
        "e to the entropy of its weights: 1 is a single key, the sequence length is uniform attention.",
    ),
    "focus_mass": Question(
        "Do queries look at the tokens that decide the label?",
        "The share of attention on them, on average over queries. A dot at the bar of chance: attention does not know "
        "them; far above it: it has found them.",
    ),
    "focus_share": Question(
        "Are the tokens that decide the label among the kept keys?",
        "Their share of the kept keys, against their share of all keys.",
    ),
    "received_mass": Question(
        "Does all attention end on a few keys?",
        "What all queries together give to a key; the mean is 1 in every model. A long upper whisker is a sink.",
    ),
    "key_load": Question(
        "Are some keys kept by every query?",
        "How many queries keep a key, relative to the average, which is 1 in every model; the largest is the paper's beta.",
    ),
    "retained_mass": Question(
        "How much of full attention do the kept keys hold?",
        "The mass that full attention on the same scores would give to the kept keys.",
    ),
    "mask_agreement_0.1": Question(
        "Do the kept keys survive a little noise?",
        "Share of kept keys that stay kept when the embeddings are moved by a tenth of their size. "
        "Full attention and fixed patterns keep the same keys always.",
    ),
    "lambda_w_local": Question(
        "How steep is the layer, here and now, in its score matrix?",
        "The exact local Lipschitz constant, mask fixed: what the paper's bounds are bounds of.",
    ),
    "gradient_norm_query_key": Question(
        "How much gradient reaches queries and keys?",
        "Norm for single sequences. It falls with the loss: a model that has learned has little of it left. Compare models "
        "before they learn (epoch 0, or along training), or at an equal training accuracy.",
    ),
    "gradient_norm_value_out": Question(
        "How much gradient reaches values and outputs?",
        "The same for the weights that decide what is passed on; it falls with the loss, too.",
    ),
    "attended_covariance": Question(
        "How different are the tokens that a query mixes?",
        "Spectral norm of their covariance under the weights: the part of the local constant that the selection decides.",
    ),
}


#: over the panels of what was measured along training
TITLES: Mapping[str, str] = {
    "dispersion": "Dispersion of the scores",
    "separation": "Separation of kept from masked scores",
    "effective_keys": "On how many keys queries look",
    "focus_mass": "Attention on the tokens that decide",
    "received_mass": "Attention that the busiest 5 % of keys get",
    "lambda_w_local": "Local Lipschitz constant in W",
    "gradient_norm_query_key": "Gradient of queries and keys",
    "gradient_norm_value_out": "Gradient of values and outputs",
    "mask_agreement_0.01": "Kept keys that survive noise of 1 %",
}


def question_of(quantity: str, meaning: str) -> Question:
    """That of the catalogue, or the quantity's own name and meaning."""
    return QUESTIONS.get(quantity) or Question(quantity.replace("_", " "), meaning)


def title_of(quantity: str) -> str:
    """What stands over its panel along training."""
    return TITLES.get(quantity) or quantity.replace("_", " ")
