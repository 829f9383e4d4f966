"""How much of its worst case the dispersion of full attention uses, layer by layer."""

from collections.abc import Sequence
from dataclasses import dataclass

from semfocus.analysis.why.measured_runs import MeasuredRun, MeasuredTask, When, middle


@dataclass(frozen=True)
class WorstCase:
    """Largest dispersion, its limit 2 Gamma Xi^2, and the quotient by seed, for one layer and head of full
    attention.
    """

    task: str
    layer: int
    head: int
    when: When
    dispersion: float
    limit: float
    shares: dict[int, float]


def worst_cases(tasks: Sequence[MeasuredTask], when: When) -> list[WorstCase]:
    """Gamma: the spectral norm of the score weights with their bias columns, so Xi^2 is the largest squared
    token norm plus 1.
    """
    found = []
    for task in tasks:
        runs = task.of("full")
        places = sorted(
            {
                (layer, head)
                for run in runs.values()
                for quantity, _, other, layer, head in run.rows
                if quantity == "score_norm" and other is None and layer is not None and head is not None
            }
        )
        for layer, head in places:
            known = {
                seed: numbers
                for seed, run in runs.items()
                if (numbers := _numbers(run, when, layer, head)) is not None
            }
            if known:
                dispersion = middle(each[0] for each in known.values())
                limit = middle(each[1] for each in known.values())
                assert dispersion is not None
                assert limit is not None
                shares = {seed: each[0] / each[1] for seed, each in known.items()}
                found.append(WorstCase(task.task, layer, head, when, dispersion, limit, shares))
    return found


def _numbers(run: MeasuredRun, when: When, layer: int, head: int) -> tuple[float, float] | None:
    dispersion = run.value("dispersion", when, "100", layer=layer, head=head)
    gamma = run.value("score_norm", when, "mean", layer=layer, head=head)
    token = run.value("token_norm", when, "100", layer=layer)
    if dispersion is None or not gamma or token is None:
        return None
    return dispersion, 2 * gamma * (token**2 + 1)
