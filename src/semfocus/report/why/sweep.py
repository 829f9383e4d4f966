"""Expressivity against stability: what changes from few kept keys to all of them."""

from collections.abc import Callable, Mapping, Sequence

from semfocus.report.palette import Ink
from semfocus.report.why.block import Block, Table, shown
from semfocus.report.why.sweep_figure import Place, sweep_figure
from semfocus.studies.mechanism_tests.looked import LookedTask
from semfocus.studies.mechanism_tests.sweep import Step, Sweep, sweeps_over_k
from semfocus.studies.tables import speedup_text

#: title, which number of a step, whether the axis must be logarithmic
_PANELS: tuple[tuple[str, Callable[[Step], float | None], bool], ...] = (
    ("speedup over full", lambda step: step.speedup.ratio, True),
    ("last training accuracy", lambda step: step.train_accuracy, False),
    ("last held-out accuracy", lambda step: step.held_out_accuracy, False),
    ("dispersion (median)", lambda step: step.dispersion, True),
    ("separation (median)", lambda step: step.separation, True),
    ("kept keys that stay under 1 % noise", lambda step: step.mask_agreement, False),
)
_COLUMNS = ["task", "k", "speedup", "training", "held-out", "dispersion", "separation", "stay kept"]


def block(tasks: Sequence[LookedTask], inks: Mapping[str, Ink]) -> Block | None:
    """None if no task was run at three sizes or more."""
    sweeps = sweeps_over_k(tasks)
    if not sweeps:
        return None
    figures = []
    for title, value, logarithmic in _PANELS:
        lines = {each.task: _places(each, value) for each in sweeps}
        figure = sweep_figure(title, lines, logarithmic)
        figures += [figure] if figure is not None else []
    return Block(
        "How few keys are enough: does what small k wins in stability cost expressivity?",
        "One line a task, from few kept keys to all of them; medians over seeds, after training. Small k should lower the dispersion and may lack expressivity; k near the length is full attention. "
        "In marked_majority(m) the label needs m tokens, so k can be held against m. A triangle: a speedup known only to be at least, or at most, so large.",
        figures,
        [_sentence(each) for each in sweeps],
        "Dispersion and separation of different k are of different trained models. Where full attention never reaches its target the speedup is only a bound, and where neither does there is none.",
        [Table("Every size", _COLUMNS, [_cells(each.task, step) for each in sweeps for step in each.steps])],
    )


def _places(sweep: Sweep, value: Callable[[Step], float | None]) -> list[Place]:
    found = []
    for step in sweep.steps:
        number = value(step)
        if number is not None:
            is_speed = number == step.speedup.ratio
            beyond = (
                1 if is_speed and step.speedup.at_least else -1 if is_speed and step.speedup.at_most else 0
            )
            found.append(Place(step.k, number, beyond))
    return found


def _sentence(sweep: Sweep) -> str:
    raced = [step for step in sweep.steps if step.speedup.ratio is not None]
    ended = [step for step in sweep.steps if step.held_out_accuracy is not None]
    parts = []
    if raced:
        best = max(raced, key=lambda step: step.speedup.ratio or 0.0)
        parts.append(f"fastest at k = {best.k} ({speedup_text(best.speedup)})")
    if ended:
        top = max(ended, key=lambda step: step.held_out_accuracy or 0.0)
        parts.append(f"best held-out accuracy at k = {top.k} ({top.held_out_accuracy:.1%})")
    spread = [step.dispersion for step in sweep.steps if step.dispersion is not None]
    if len(spread) > 1:
        parts.append(
            f"dispersion {spread[0]:.3g} at k = {sweep.steps[0].k}, {spread[-1]:.3g} at k = {sweep.steps[-1].k}"
        )
    return f"{sweep.task}: {'; '.join(parts) or 'nothing to compare'}."


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
