"""Expressivity against stability: what changes with the number of kept keys."""

from collections.abc import Sequence
from dataclasses import dataclass

from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.statistics.speedup import Speedup
from semfocus.analysis.why.focus_layers import carried
from semfocus.analysis.why.masks import kept
from semfocus.analysis.why.measured_runs import MeasuredTask, middle

#: fewer sizes than this are no sweep
FEWEST_SIZES = 3


@dataclass(frozen=True)
class Step:
    """One k on one task: medians over seeds, each None where it does not exist."""

    k: int
    speedup: Speedup
    train_accuracy: float | None
    held_out_accuracy: float | None
    dispersion: float | None
    separation: float | None
    mask_agreement: float | None


@dataclass(frozen=True)
class Sweep:
    """One task from few kept keys to many."""

    task: str
    length: int
    steps: list[Step]


def sweeps_over_k(tasks: Sequence[MeasuredTask]) -> list[Sweep]:
    """Tasks on which top-k was measured at three sizes or more; plain top-k alone, trained."""
    found = []
    for task in tasks:
        sizes = sorted({k for run in task.runs if run.label == run.pattern and (k := kept(run)) is not None})
        if len(sizes) >= FEWEST_SIZES:
            found.append(Sweep(task.task, task.runs[0].length, [_step(task, k) for k in sizes]))
    return found


def _step(task: MeasuredTask, k: int) -> Step:
    label = f"top_k({k})"
    runs = list(task.of(label).values())
    separation = middle(carried(run, "separation", "end") for run in runs)
    return Step(
        k,
        task.summary.race(Contrast(label, "full")) or Speedup(None, None, None),
        middle(run.last_train_accuracy for run in runs),
        middle(run.last_held_out_accuracy for run in runs),
        middle(carried(run, "dispersion", "end") for run in runs),
        None if separation == float("inf") else separation,
        middle(carried(run, "mask_agreement_0.01", "end", "mean") for run in runs),
    )
