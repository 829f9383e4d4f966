"""Claims about who learns in fewer epochs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import (
    FOUR_TASKS,
    RACE,
    SIX_TASKS,
    Claim,
    Rule,
    Ruling,
    decide,
    paper_study,
    small_study,
)
from semfocus.analysis.claims.evidence import (
    FEWEST_TASKS,
    HOW_COUNTED,
    Races,
    pooled_race,
)
from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.statistics import holm

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

HEAVY_HITTERS = "top_k(5)"
#: before the inverse temperature in the label of an arm
TIMES = "×"  # noqa: RUF001
PAPER = "Ram et al. 2025, the main claim"
#: the contrast of the paper
TOP_K = Contrast(HEAVY_HITTERS, "full")
AGNOSTIC = "full x1; banded(5); banded(5)+G1; block_local(5)"


def faster_over_tasks(found: Races, fewest: int = FEWEST_TASKS) -> Ruling:
    """A gain over all tasks together, or none."""
    enough = found.num_tasks >= fewest
    return decide(enough and found.gain, enough and found.no_gain, found.numbers())


def gains(contrast: Contrast, fewest: int = FEWEST_TASKS, *, held_out: bool = False) -> Rule:
    """Whether the arm gains over the other, at the setting that says most."""

    def rule(summaries: Sequence["TaskSummary"]) -> Ruling:
        return faster_over_tasks(pooled_race(summaries, *contrast, held_out=held_out), fewest)

    return rule


def agnostic_labels(summaries: Sequence["TaskSummary"]) -> list[str]:
    """The fixed patterns without sharper scores."""
    labels = {arm.label for each in summaries for arm in each.arms if arm.group == "input-agnostic"}
    return sorted(label for label in labels if TIMES not in label)


def _agnostic_no_benefit(summaries: Sequence["TaskSummary"]) -> Ruling:
    by_arm = {label: pooled_race(summaries, label) for label in agnostic_labels(summaries)}
    numbers = [line for found in by_arm.values() for line in found.numbers()]
    counted = {label: found for label, found in by_arm.items() if found.num_tasks >= FEWEST_TASKS}
    together = {label: found.together for label, found in counted.items() if found.together}
    adjusted = holm({label: each.p for label, each in together.items() if each.p is not None})
    benefits = [
        label
        for label, each in together.items()
        if counted[label].gain and adjusted[label] <= each.speedup.alpha
    ]
    none = [label for label, found in counted.items() if found.no_gain]
    return decide(bool(counted) and len(none) == len(counted), bool(benefits), numbers)


_FASTER = f"There are at least {FEWEST_TASKS} tasks, and top_k(5) gains over full over all of them together. {HOW_COUNTED}"
_NOT_FASTER = f"There are at least {FEWEST_TASKS} tasks, and top_k(5) has no gain."

CLAIMS = (
    Claim(
        "top_k_trains_faster",
        "Attention to the highest-scoring keys (top_k) reaches the training target in fewer epochs than full attention.",
        TOP_K,
        PAPER,
        paper_study(RACE),
        _FASTER,
        _NOT_FASTER,
        gains(TOP_K),
        small_study(RACE),
    ),
    Claim(
        "top_k_held_out_earlier",
        "top_k reaches a given held-out accuracy earlier than full attention.",
        TOP_K,
        PAPER,
        paper_study(RACE, stops=False),
        f"{_FASTER} Here the target is on held-out data.",
        f"{_NOT_FASTER} Here the target is on held-out data.",
        gains(TOP_K, held_out=True),
        # with 1,000 samples what is learned of these holds on held-out data too
        small_study(RACE, FOUR_TASKS, "training.num_train=1000", "training.epochs=200"),
    ),
    Claim(
        "input_agnostic_no_benefit",
        "Input-agnostic sparsity (banded, block-local, with or without global tokens) shows no such benefit.",
        Contrast("input-agnostic", "full"),
        PAPER,
        paper_study(AGNOSTIC),
        f"No input-agnostic arm that was run on at least {FEWEST_TASKS} tasks has a gain. {HOW_COUNTED}",
        "Some input-agnostic arm does what is asked of top_k, after Holm's correction over these arms.",
        _agnostic_no_benefit,
        small_study(AGNOSTIC, SIX_TASKS),
    ),
)
