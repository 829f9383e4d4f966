"""The question that each quantity answers, and how to read the answer, in the order of a page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """`asks` stands above the figure, `reading` below it."""

    asks: str
    reading: str


QUESTIONS = {
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
TITLES = {
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
