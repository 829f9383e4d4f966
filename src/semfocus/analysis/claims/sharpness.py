"""Claims of our own: is it sparsity, or is it sharpness?"""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import Claim, Ruling, decide, paper_study, small_study
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, TIMES, faster_over_tasks
from semfocus.analysis.claims.evidence import HOW_COUNTED, Races, pooled_race

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

SOURCE = "semfocus: sparsity or sharpness?"
FEWEST_TASKS_HERE = 2
#: a look-up by position, and one by content
_TWO_TASKS = "even_pairs, missing_duplicate"
SHARP = f"{TIMES}10"
START, RATE = f"full q/k start {TIMES}", f"full q/k rate {TIMES}"
#: scores are products of two, so weights √10 times larger start scores 10 times larger
LARGER_START, LARGER_RATE = math.sqrt(10), 10.0


def _on_all(found: Races) -> Ruling:
    return faster_over_tasks(found, FEWEST_TASKS_HERE)


def _sharper_than_full(summaries: Sequence["TaskSummary"]) -> Ruling:
    return _on_all(pooled_race(summaries, f"full {SHARP}"))


def _sharper_than_top_k(summaries: Sequence["TaskSummary"]) -> Ruling:
    return _on_all(pooled_race(summaries, f"full {SHARP}", HEAVY_HITTERS))


def _sparsity_on_top(summaries: Sequence["TaskSummary"]) -> Ruling:
    return _on_all(pooled_race(summaries, f"{HEAVY_HITTERS} {SHARP}", f"full {SHARP}"))


def _banded(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = pooled_race(summaries, f"banded(5) {SHARP}")
    enough = found.num_tasks >= FEWEST_TASKS_HERE
    return decide(enough and found.no_gain, enough and found.gain, found.numbers())


def _start(summaries: Sequence["TaskSummary"]) -> Ruling:
    return _on_all(pooled_race(summaries, _near(summaries, START, LARGER_START)))


def _start_not_speed(summaries: Sequence["TaskSummary"]) -> Ruling:
    starts, rates = _near(summaries, START, LARGER_START), _near(summaries, RATE, LARGER_RATE)
    return _on_all(pooled_race(summaries, starts, rates))


def _no_larger_gradient(summaries: Sequence["TaskSummary"]) -> Ruling:
    return _on_all(pooled_race(summaries, f"full {SHARP} gradient ÷10"))


def _small_dispersion(summaries: Sequence["TaskSummary"]) -> Ruling:
    return _on_all(pooled_race(summaries, "full clipped at 1"))


def _near(summaries: Sequence["TaskSummary"], words: str, wanted: float) -> list[str]:
    """Labels that say this control with nearly this value and nothing else: 3.16 is √10 too."""
    labels = sorted({arm.label for each in summaries for arm in each.arms})
    found = [(label, re.fullmatch(rf"{re.escape(words)}([\d.]+)", label)) for label in labels]
    return [label for label, said in found if said and math.isclose(float(said[1]), wanted, rel_tol=0.01)]


def _claim(
    name: str,
    text: str,
    supported_if: str,
    contradicted_if: str,
    rule: "object",
    arms: str,
) -> Claim:
    recipe, small = paper_study(arms, _TWO_TASKS), small_study(arms)
    return Claim(name, text, SOURCE, recipe, supported_if, contradicted_if, rule, small)  # type: ignore[arg-type]


_ALL = f"There are at least {FEWEST_TASKS_HERE} tasks, and it has a gain. {HOW_COUNTED}"
_NONE = f"There are at least {FEWEST_TASKS_HERE} tasks, and it has no gain."

CLAIMS = (
    _claim(
        "sharper_full_beats_full",
        "Full attention with scores multiplied by 10 learns in fewer epochs than full attention.",
        f"The race is full {SHARP} against full. {_ALL}",
        _NONE,
        _sharper_than_full,
        "full x1; full x10",
    ),
    _claim(
        "sharper_full_beats_top_k",
        "Full attention with scores multiplied by 10 learns in fewer epochs than top_k(5), although its dispersion is larger.",
        f"The race is full {SHARP} against top_k(5). {_ALL}",
        _NONE,
        _sharper_than_top_k,
        "full x10; top_k(5)",
    ),
    _claim(
        "sparsity_helps_at_equal_sharpness",
        "With scores multiplied by 10 in both, top_k(5) still learns in fewer epochs than full attention.",
        f"The race is top_k(5) {SHARP} against full {SHARP}. {_ALL}",
        _NONE,
        _sparsity_on_top,
        "full x10; top_k(5) x10",
    ),
    _claim(
        "sharpness_does_not_rescue_banded",
        "A fixed pattern gains nothing by sharper scores: banded(5) with scores multiplied by 10 is not faster than plain full attention.",
        f"The race is banded(5) {SHARP} against full: at least {FEWEST_TASKS_HERE} tasks, and no gain. {HOW_COUNTED}",
        f"There are at least {FEWEST_TASKS_HERE} tasks, and it has a gain.",
        _banded,
        "full x1; banded(5) x10",
    ),
    _claim(
        "a_sharper_start_is_enough",
        "Query and key weights that only start larger are enough to make full attention faster.",
        f"The race is full with query and key weights started √10 times larger against full. {_ALL}",
        _NONE,
        _start,
        "full x1; full q/k start x3.1623",
    ),
    _claim(
        "start_matters_more_than_speed",
        "A larger start of the query and key weights matters more than a larger learning rate for them.",
        f"The race is full with query and key weights started √10 times larger against full with 10 times their learning rate. {_ALL}",
        _NONE,
        _start_not_speed,
        "full q/k start x3.1623; full q/k rate x10",
    ),
    _claim(
        "sharpness_needs_no_larger_gradient",
        "Scores multiplied by 10 make full attention faster even if their gradient is divided by 10 again.",
        f"The race is full {SHARP} gradient ÷10 against full. {_ALL}",
        _NONE,
        _no_larger_gradient,
        "full x1; full x10 gradient /10",
    ),
    _claim(
        "small_dispersion_is_enough",
        "Full attention whose scores are clipped, so that their dispersion stays below 2, learns in fewer epochs than full attention.",
        f"The race is full clipped at 1 against full. {_ALL}",
        _NONE,
        _small_dispersion,
        "full x1; full clipped at 1",
    ),
)
