"""controls: is it heavy hitters, or any small set of keys?"""

from semfocus.recipes.arms import compare
from semfocus.runs import RunSpec

QUESTION = "Must the kept keys be the highest scoring, or would the lowest or random ones do?"
FIGURE = "ours: controls"

#: the tasks of length 40 on which full attention generalises in the paper
TASKS = ("even_pairs", "stack_manipulation", "missing_duplicate")
ARMS = ("full", "full x4", "top_k(5)", "bottom_k(5)", "random(5)", "random(5,fixed)")


def specs() -> list[RunSpec]:
    """The paper's setting; bottom_k chooses by score too, random(5) anew at every pass."""
    return [spec for task in TASKS for spec in compare({"task": task}, ARMS)]
