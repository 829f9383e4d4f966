"""Claims of our own: is it sparsity, or is it sharpness?"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.report.claims.claim import Claim, Finding, decide
from semfocus.report.claims.convergence import HEAVY_HITTERS, TIMES
from semfocus.report.claims.evidence import (
    HOW_COUNTED,
    RaceResult,
    arm_named,
    lines,
    majority,
    one_a_task,
    race_of_times,
)
from semfocus.report.robustness import sweeps

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary
    from semfocus.studies.statistics.speedup import Time

SOURCE = "semfocus: sparsity or sharpness?"
FEWEST_TASKS_HERE = 2
SHARP = f"{TIMES}10"
INITIAL = "model.initial_scale.query_key"
RATE = "training.learning_rate_scale.query_key"
#: scores are products of two, so weights √10 times larger start scores 10 times larger
LARGER_START, LARGER_RATE = math.sqrt(10), 10.0


def _on_all(races: Sequence[RaceResult]) -> Finding:
    """A gain on every task; or no gain on more than half."""
    counted = [each for each in races if each.enough]
    enough = len(counted) >= FEWEST_TASKS_HERE
    none = [each for each in counted if each.no_gain]
    return decide(
        enough and all(each.gain for each in counted), enough and majority(none, counted), lines(races)
    )


def _sharper_than_full(summaries: Sequence["TaskSummary"]) -> Finding:
    return _on_all(one_a_task(summaries, f"full {SHARP}"))


def _sharper_than_top_k(summaries: Sequence["TaskSummary"]) -> Finding:
    return _on_all(one_a_task(summaries, f"full {SHARP}", HEAVY_HITTERS))


def _sparsity_on_top(summaries: Sequence["TaskSummary"]) -> Finding:
    return _on_all(one_a_task(summaries, f"{HEAVY_HITTERS} {SHARP}", f"full {SHARP}"))


def _banded(summaries: Sequence["TaskSummary"]) -> Finding:
    races = one_a_task(summaries, f"banded(5) {SHARP}")
    counted = [each for each in races if each.enough]
    enough = len(counted) >= FEWEST_TASKS_HERE
    gains = [each for each in counted if each.gain]
    return decide(
        enough and all(each.no_gain for each in counted), enough and majority(gains, counted), lines(races)
    )


def _start(summaries: Sequence["TaskSummary"]) -> Finding:
    found = _full_over(summaries, INITIAL, LARGER_START)
    return _on_all(
        [race_of_times(after, "larger start", "full", plain, times) for after, plain, times in found.values()]
    )


def _start_not_speed(summaries: Sequence["TaskSummary"]) -> Finding:
    starts, rates = _full_over(summaries, INITIAL, LARGER_START), _full_over(summaries, RATE, LARGER_RATE)
    return _on_all(
        [
            race_of_times(
                starts[task][0], "larger start", "larger learning rate", rates[task][2], starts[task][2]
            )
            for task in starts
            if task in rates
        ]
    )


Times = dict[int, "Time"]


def _full_over(
    summaries: Sequence["TaskSummary"], key: str, wanted: float
) -> dict[str, tuple["TaskSummary", Times, Times]]:
    """For every task full attention at the plain value (1) and at the wanted value of the key, all else equal.

    Of several such pairs the one with the most common seeds, then the nearest to the paper's setting.
    """
    found: dict[str, tuple[tuple[int, int], tuple[TaskSummary, Times, Times]]] = {}
    for sweep in sweeps(summaries):
        steps = (
            [(value, each, arm_named(each, "full")) for value, each in sweep.steps]
            if sweep.key == key
            else []
        )
        plain = next((arm for value, _, arm in steps if value == 1 and arm is not None), None)
        for value, each, arm in steps:
            if plain is not None and arm is not None and math.isclose(value, wanted, rel_tol=0.01):
                weight = (len(plain.times.keys() & arm.times.keys()), -len(sweep.fixed))
                if sweep.task not in found or weight > found[sweep.task][0]:
                    found[sweep.task] = (weight, (each, plain.times, arm.times))
    return {task: result for task, (_, result) in found.items()}


def _claim(name: str, text: str, supported_if: str, contradicted_if: str, rule: "object") -> Claim:
    return Claim(name, text, SOURCE, "temperature", supported_if, contradicted_if, rule)  # type: ignore[arg-type]


_ALL = f"There are at least {FEWEST_TASKS_HERE} tasks, and it gains on every one. {HOW_COUNTED}"
_NONE = f"There are at least {FEWEST_TASKS_HERE} tasks, and it has no gain on more than half."

CLAIMS = (
    _claim(
        "sharper_full_beats_full",
        "Full attention with scores multiplied by 10 learns in fewer epochs than full attention.",
        f"The race is full {SHARP} against full. {_ALL}",
        _NONE,
        _sharper_than_full,
    ),
    _claim(
        "sharper_full_beats_top_k",
        "Full attention with scores multiplied by 10 learns in fewer epochs than top_k(5), although its dispersion is larger.",
        f"The race is full {SHARP} against top_k(5). {_ALL}",
        _NONE,
        _sharper_than_top_k,
    ),
    _claim(
        "sparsity_helps_at_equal_sharpness",
        "With scores multiplied by 10 in both, top_k(5) still learns in fewer epochs than full attention.",
        f"The race is top_k(5) {SHARP} against full {SHARP}. {_ALL}",
        _NONE,
        _sparsity_on_top,
    ),
    _claim(
        "sharpness_does_not_rescue_banded",
        "A fixed pattern gains nothing by sharper scores: banded(5) with scores multiplied by 10 is not faster than plain full attention.",
        f"The race is banded(5) {SHARP} against full: at least {FEWEST_TASKS_HERE} tasks, and no gain on every one. {HOW_COUNTED}",
        f"There are at least {FEWEST_TASKS_HERE} tasks, and it gains on more than half.",
        _banded,
    ),
    _claim(
        "a_sharper_start_is_enough",
        "Query and key weights that only start larger are enough to make full attention faster.",
        f"The race is full with query and key weights started √10 times larger against full. {_ALL}",
        _NONE,
        _start,
    ),
    _claim(
        "start_matters_more_than_speed",
        "A larger start of the query and key weights matters more than a larger learning rate for them.",
        f"The race is full with query and key weights started √10 times larger against full with 10 times their learning rate. {_ALL}",
        _NONE,
        _start_not_speed,
    ),
)
