"""temperature: full, banded and top-k attention with scores multiplied by a constant."""

from semfocus.measurements import Inside
from semfocus.recipes.arms import compare
from semfocus.runs import RunSpec

QUESTION = "Sparsity or sharpness: does full attention with sharper scores learn as fast as top-k?"
FIGURE = "ours: a question to the paper's explanation"

MEASURE = [Inside(epochs=("0", "last"))]

TASKS = ("even_pairs", "missing_duplicate")
FACTORS = (1, 2, 4, 10, 30)
ARMS = tuple(f"{pattern} x{factor}" for pattern in ("full", "banded(5)", "top_k(5)") for factor in FACTORS)
PAIR = ("full", "top_k(5)")


def specs() -> list[RunSpec]:
    """The paper's setting, and two controls that separate causes.

    In the first, query and key weights only start larger, by the root of 4 and 10, so that scores start
    4 and 10 times larger; in the second they only learn at 4 and 10 times the learning rate.
    """
    return [
        spec
        for task in TASKS
        for spec in (
            *compare({"task": task}, ARMS),
            *compare({"task": task}, PAIR, model__initial_scale__query_key=[2.0, 3.1623]),
            *compare({"task": task}, PAIR, training__learning_rate_scale__query_key=[4.0, 10.0]),
        )
    ]
