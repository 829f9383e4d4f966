"""dispersion: the trained models whose scores `semfocus probe` will measure."""

from semfocus.recipes.arms import FEW_ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

QUESTION = "Does top-k attention see less dispersed scores? (trains the models; `semfocus probe` measures)"
FIGURE = "table 6 (proceedings)"

TASKS = ("even_pairs", "missing_duplicate", "parity", "listops")


def specs() -> list[RunSpec]:
    """The four tasks of the table, three seeds; the runs are among those of `curves`."""
    return [spec for task in TASKS for spec in compare({"task": task}, FEW_ARMS, PAPER_SEEDS[:3])]
