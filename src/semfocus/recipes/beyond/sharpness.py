"""sharpness: sharper full attention beside the controls that separate what sharpness changes."""

from semfocus.measurements import Inside
from semfocus.recipes.arms import compare
from semfocus.recipes.beyond import small
from semfocus.recipes.beyond.temperature import TASKS
from semfocus.recipes.variant import Variant
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

QUESTION = "Sparsity or sharpness: which part of sharper scores makes full attention learn faster?"
FIGURE = "ours: sparsity or sharpness, with controls, scaled down"

MEASURE = [Inside(epochs=("0", "last"), every=20)]

ARMS = (
    "full",
    "full x4",
    "full x10",
    "top_k(5)",
    "top_k(5) x4",  # do masks stay as stable where scores are spread out?
    "top_k(5) x10",
    "banded(5)",
    "full q/k start x3.1623",  # scores only start 10 times larger
    "full q/k rate x10",  # query and key weights only learn faster
    "full x10 gradient /10",  # a sharper softmax, and what is learned from it as before
    "full gradient x10",  # the softmax as before, and the larger gradient
    "full clipped at 1",  # small dispersion with every key kept
)

#: the last one is at the same dispersion: top_k(5) x4 has that of plain full attention
CONTRASTS = [("full x4", "full"), ("top_k(5)", "full"), ("full x4", "top_k(5)"), ("top_k(5) x4", "full")]


def specs() -> list[RunSpec]:
    """At the setting of `small`, whose runs it shares where they are the same, on the tasks of `temperature`."""
    return [
        spec for task in TASKS for spec in compare({"task": task, **small.SETTING}, ARMS, PAPER_SEEDS[:5])
    ]


def paper_specs() -> list[RunSpec]:
    """The paper's setting and seeds; most runs without a control are among those of `temperature`."""
    return [spec for task in TASKS for spec in compare({"task": task}, ARMS)]


PAPER = Variant(
    QUESTION,
    "ours: sparsity or sharpness, with controls",
    paper_specs,
    [Inside(epochs=("0", "last"), every=10)],
    CONTRASTS,
)
