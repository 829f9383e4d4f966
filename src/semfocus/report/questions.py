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
        "The paper's explanation starts here: keeping the highest scores makes this smaller, a fixed pattern need not. "
        "Smaller than noise of the same size would be is what counts.",
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
        "The share of attention on them. At chance attention does not know them; above it, it has found them.",
    ),
    "focus_share": Question(
        "Are the tokens that decide the label among the kept keys?",
        "Their share of the kept keys, against their share of all keys.",
    ),
    "received_mass": Question(
        "Does all attention end on a few keys?",
        "What all queries together give to a key; 1 is the average. A long upper whisker is a sink.",
    ),
    "key_load": Question(
        "Are some keys kept by every query?",
        "How many queries keep a key, relative to the average; the largest is the paper's beta.",
    ),
    "retained_mass": Question(
        "How much of full attention do the kept keys hold?",
        "The mass that full attention on the same scores would give to the kept keys.",
    ),
    "mask_agreement_0.01": Question(
        "Do the kept keys survive a little noise?",
        "Share of kept keys that stay kept when the embeddings are moved by a hundredth of their size.",
    ),
    "lambda_w_local": Question(
        "How steep is the layer, here and now, in its score matrix?",
        "The exact local Lipschitz constant, mask fixed: what the paper's bounds are bounds of.",
    ),
    "gradient_norm_query_key": Question(
        "How much gradient reaches queries and keys?",
        "Norm for single sequences. Without it attention cannot learn where to look.",
    ),
    "gradient_norm_value_out": Question(
        "How much gradient reaches values and outputs?",
        "The same for the weights that decide what is passed on.",
    ),
    "attended_covariance": Question(
        "How different are the tokens that a query mixes?",
        "Spectral norm of their covariance under the weights: the part of the local constant that the selection decides.",
    ),
}


def question_of(quantity: str, meaning: str) -> Question:
    """That of the catalogue, or one made of the quantity's own meaning."""
    return QUESTIONS.get(quantity) or Question(quantity.replace("_", " ") + "?", meaning)
