"""Expressivity against stability: what changes from few kept keys to all of them."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from semfocus.analysis.tables import speedup_text
from semfocus.analysis.why.focus_layers import HOW_CARRIED
from semfocus.analysis.why.measured_runs import MeasuredTask
from semfocus.analysis.why.sweep import Step, Sweep, sweeps_over_k
from semfocus.report.figures import FIGURES
from semfocus.report.palette import Ink
from semfocus.report.why.block import Table, WhyBlock, carrying_lines, shown


@dataclass(frozen=True)
class _Panel:
    title: str
    value: Callable[[Step], float | None]
    logarithmic: bool = False
    #: its numbers may only be known to be at least, or at most, so large
    is_speedup: bool = False


_PANELS = (
    _Panel("speedup over full", lambda step: step.speedup.ratio, logarithmic=True, is_speedup=True),
    _Panel("last training accuracy", lambda step: step.train_accuracy),
    _Panel("last held-out accuracy", lambda step: step.held_out_accuracy),
    _Panel("dispersion (median)", lambda step: step.dispersion, logarithmic=True),
    _Panel("separation (median)", lambda step: step.separation, logarithmic=True),
    _Panel("kept keys that stay under 1 % noise", lambda step: step.mask_agreement),
)
_COLUMNS = ["task", "k", "speedup", "training", "held-out", "dispersion", "separation", "stay kept"]


def block(tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink]) -> WhyBlock | None:
    """None if no task was run at three sizes or more."""
    sweeps = sweeps_over_k(tasks)
    if not sweeps:
        return None
    sizes = dict.fromkeys(f"top_k({step.k})" for each in sweeps for step in each.steps)
    return WhyBlock(
        "kept-keys",
        "How few keys are enough: does what small k wins in stability cost expressivity?",
        "One line per task, from few kept keys to all of them; medians over seeds, after training. Small k should lower the dispersion and may lack expressivity; k near the length is full attention. "
        "In marked_majority(m) the label needs m tokens, so k can be held against m. A triangle: a speedup known only to be at least, or at most, so large. "
        f"{HOW_CARRIED}",
        [FIGURES["kept-keys"].of(_rows(sweeps))],
        [*map(_sentence, sweeps), *carrying_lines(tasks, sizes)],
        "Dispersion and separation of different k are of different trained models. Where full attention never reaches its target the speedup is only a bound, and where neither does there is none.",
        [Table("Every size", _COLUMNS, [_cells(each.task, step) for each in sweeps for step in each.steps])],
    )


def _rows(sweeps: Sequence[Sweep]) -> Iterable[dict[str, Any]]:
    for panel in _PANELS:
        for each in sweeps:
            for step in each.steps:
                bound = "at least" if step.speedup.at_least else "at most" if step.speedup.at_most else None
                yield {
                    **{"panel": panel.title, "task": each.task, "k": step.k, "value": panel.value(step)},
                    **{"bound": bound if panel.is_speedup else None, "log": panel.logarithmic},
                }


def _sentence(sweep: Sweep) -> str:
    parts = _fastest(sweep.steps)
    ended = [step for step in sweep.steps if step.held_out_accuracy is not None]
    if ended:
        top = max(ended, key=lambda step: step.held_out_accuracy or 0.0)
        parts.append(f"best held-out accuracy at k = {top.k} ({top.held_out_accuracy:.1%})")
    spread = [step for step in sweep.steps if step.dispersion is not None]
    if len(spread) > 1:
        ends = (f"{step.dispersion:.3g} at k = {step.k}" for step in (spread[0], spread[-1]))
        parts.append(f"dispersion {', '.join(ends)}")
    return f"{sweep.task}: {'; '.join(parts) or 'nothing to compare'}."


def _fastest(steps: Sequence[Step]) -> list[str]:
    """The k whose speedup is known to be the largest, and those that may be faster still: an `at least` has
    no upper end.
    """
    raced = [step for step in steps if step.speedup.ratio is not None]
    if not raced:
        return []
    best = max(raced, key=lambda step: _range(step)[0])
    rivals = [step for step in raced if step is not best and _range(step)[1] > _range(best)[0]]
    said = [f"k = {step.k} ({speedup_text(step.speedup)})" for step in (best, *rivals)]
    return [f"fastest at {said[0]}" + (f", unless at {' or '.join(said[1:])}" if rivals else "")]


def _range(step: Step) -> tuple[float, float]:
    """Between which numbers the speedup lies."""
    ratio = step.speedup.ratio or 0.0
    return (0.0 if step.speedup.at_most else ratio, math.inf if step.speedup.at_least else ratio)


def _cells(task: str, step: Step) -> list[str]:
    return [
        task,
        str(step.k),
        speedup_text(step.speedup),
        shown(step.train_accuracy, ".1%"),
        shown(step.held_out_accuracy, ".1%"),
        shown(step.dispersion),
        shown(step.separation, ".2g"),
        shown(step.mask_agreement, ".1%"),
    ]
