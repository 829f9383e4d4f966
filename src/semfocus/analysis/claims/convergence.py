"""Claims about who learns in fewer epochs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import Claim, Ruling, decide
from semfocus.analysis.claims.evidence import (
    FEWEST_TASKS,
    HOW_COUNTED,
    RaceResult,
    lines,
    majority,
    one_a_task,
)

if TYPE_CHECKING:
    from semfocus.analysis.contrasts import TaskSummary

HEAVY_HITTERS = "top_k(5)"
#: before the inverse temperature in the label of an arm
TIMES = "×"  # noqa: RUF001
PAPER = "Ram et al. 2025, the main claim"


def faster_over_tasks(races: Sequence[RaceResult]) -> Ruling:
    """Gains on more than half of the tasks and losses on none; or no gain on more than half."""
    counted = [each for each in races if each.enough]
    enough = len(counted) >= FEWEST_TASKS
    gains, none = [each for each in counted if each.gain], [each for each in counted if each.no_gain]
    supported = enough and majority(gains, counted) and not any(each.loss for each in counted)
    return decide(supported, enough and majority(none, counted), lines(races))


def _trains_faster(summaries: Sequence["TaskSummary"]) -> Ruling:
    return faster_over_tasks(one_a_task(summaries, HEAVY_HITTERS))


def _held_out_earlier(summaries: Sequence["TaskSummary"]) -> Ruling:
    races = one_a_task(summaries, HEAVY_HITTERS, held_out=True)
    return faster_over_tasks([each for each in races if _anybody_there(each)])


def _anybody_there(result: RaceResult) -> bool:
    return any(
        time.reached
        for arm in result.summary.arms
        if arm.label in (result.arm, result.base)
        for time in arm.held_out_times.values()
    )


def agnostic_labels(summaries: Sequence["TaskSummary"]) -> list[str]:
    """The fixed patterns without sharper scores."""
    labels = {arm.label for each in summaries for arm in each.arms if arm.group == "input-agnostic"}
    return sorted(label for label in labels if TIMES not in label)


def _agnostic_no_benefit(summaries: Sequence["TaskSummary"]) -> Ruling:
    by_arm = {label: one_a_task(summaries, label) for label in agnostic_labels(summaries)}
    numbers = [line for races in by_arm.values() for line in lines(races)]
    counted = {label: [each for each in races if each.enough] for label, races in by_arm.items()}
    counted = {label: races for label, races in counted.items() if len(races) >= FEWEST_TASKS}
    benefits = [label for label, races in counted.items() if faster_over_tasks(races).verdict == "supported"]
    none = [
        label for label, races in counted.items() if majority([each for each in races if each.no_gain], races)
    ]
    return decide(bool(counted) and len(none) == len(counted), bool(benefits), numbers)


_FASTER = (
    f"There are at least {FEWEST_TASKS} tasks, top_k(5) gains over full on more than half of them, and has a loss on none. "
    + HOW_COUNTED
)
_NOT_FASTER = f"There are at least {FEWEST_TASKS} tasks and top_k(5) has no gain on more than half of them."

CLAIMS = (
    Claim(
        "top_k_trains_faster",
        "Attention to the highest-scoring keys (top_k) reaches the training target in fewer epochs than full attention.",
        PAPER,
        "curves",
        _FASTER,
        _NOT_FASTER,
        _trains_faster,
    ),
    Claim(
        "top_k_held_out_earlier",
        "top_k reaches a given held-out accuracy earlier than full attention.",
        PAPER,
        "curves",
        f"{_FASTER} Here the target is on held-out data; tasks on which no seed of either reaches it are left out.",
        f"{_NOT_FASTER} Tasks on which no seed of either reaches the held-out target are left out.",
        _held_out_earlier,
    ),
    Claim(
        "input_agnostic_no_benefit",
        "Input-agnostic sparsity (banded, block-local, with or without global tokens) shows no such benefit.",
        PAPER,
        "curves",
        f"Every input-agnostic arm that was run on at least {FEWEST_TASKS} tasks has no gain on more than half of them. "
        + HOW_COUNTED,
        "Some input-agnostic arm does what is asked of top_k: gains on more than half of at least "
        f"{FEWEST_TASKS} tasks and a loss on none.",
        _agnostic_no_benefit,
    ),
)
