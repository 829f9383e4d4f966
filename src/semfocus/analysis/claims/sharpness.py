"""Claims of our own: is it sparsity, or is it sharpness?"""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import Claim, Rule, Ruling, decide, paper_study, small_study
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, TIMES, faster_over_tasks, gains
from semfocus.analysis.claims.evidence import HOW_COUNTED, pooled_race
from semfocus.analysis.comparisons import Contrast

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
BANDED = Contrast(f"banded(5) {SHARP}", "full")


def _banded(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = pooled_race(summaries, *BANDED)
    enough = found.num_tasks >= FEWEST_TASKS_HERE
    return decide(enough and found.no_gain, enough and found.gain, found.numbers())


def _start(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = pooled_race(summaries, _near(summaries, START, LARGER_START))
    return faster_over_tasks(found, FEWEST_TASKS_HERE)


def _start_not_speed(summaries: Sequence["TaskSummary"]) -> Ruling:
    starts, rates = _near(summaries, START, LARGER_START), _near(summaries, RATE, LARGER_RATE)
    return faster_over_tasks(pooled_race(summaries, starts, rates), FEWEST_TASKS_HERE)


def _near(summaries: Sequence["TaskSummary"], words: str, wanted: float) -> list[str]:
    """Labels that say this control with nearly this value and nothing else: 3.16 is √10 too."""
    labels = sorted({arm.label for each in summaries for arm in each.arms})
    found = [(label, re.fullmatch(rf"{re.escape(words)}([\d.]+)", label)) for label in labels]
    return [label for label, said in found if said and math.isclose(float(said[1]), wanted, rel_tol=0.01)]


_ALL = f"There are at least {FEWEST_TASKS_HERE} tasks, and it has a gain. {HOW_COUNTED}"
_NONE = f"There are at least {FEWEST_TASKS_HERE} tasks, and it has no gain."


def _claim(
    name: str,
    text: str,
    contrast: Contrast,
    arms: str,
    *,
    rule: Rule | None = None,
    supported_if: str = "",
    contradicted_if: str = _NONE,
) -> Claim:
    """`arms`: those of `semfocus study --patterns`; without a rule of its own, whether the contrast has a gain."""
    return Claim(
        name,
        text,
        contrast,
        SOURCE,
        paper_study(arms, _TWO_TASKS),
        supported_if or f"The race is {contrast}. {_ALL}",
        contradicted_if,
        rule or gains(contrast, FEWEST_TASKS_HERE),
        small_study(arms),
    )


_LARGER_START = Contrast(f"{START}{LARGER_START:.5g}", "full")

CLAIMS = (
    _claim(
        "sharper_full_beats_full",
        "Full attention with scores multiplied by 10 learns in fewer epochs than full attention.",
        Contrast(f"full {SHARP}", "full"),
        "full x1; full x10",
    ),
    _claim(
        "sharper_full_beats_top_k",
        "Full attention with scores multiplied by 10 learns in fewer epochs than top_k(5), although its dispersion is larger.",
        Contrast(f"full {SHARP}", HEAVY_HITTERS),
        "full x10; top_k(5)",
    ),
    _claim(
        "sparsity_helps_at_equal_sharpness",
        "With scores multiplied by 10 in both, top_k(5) still learns in fewer epochs than full attention.",
        Contrast(f"{HEAVY_HITTERS} {SHARP}", f"full {SHARP}"),
        "full x10; top_k(5) x10",
    ),
    _claim(
        "sharpness_does_not_rescue_banded",
        "A fixed pattern gains nothing by sharper scores: banded(5) with scores multiplied by 10 is not faster than plain full attention.",
        BANDED,
        "full x1; banded(5) x10",
        rule=_banded,
        supported_if=f"The race is {BANDED}: at least {FEWEST_TASKS_HERE} tasks, and no gain. {HOW_COUNTED}",
        contradicted_if=f"There are at least {FEWEST_TASKS_HERE} tasks, and it has a gain.",
    ),
    _claim(
        "a_sharper_start_is_enough",
        "Query and key weights that only start larger are enough to make full attention faster.",
        _LARGER_START,
        "full x1; full q/k start x3.1623",
        rule=_start,
        supported_if=f"The race is full with query and key weights started √10 times larger against full. {_ALL}",
    ),
    _claim(
        "start_matters_more_than_speed",
        "A larger start of the query and key weights matters more than a larger learning rate for them.",
        Contrast(_LARGER_START.arm, f"{RATE}{LARGER_RATE:g}"),
        "full q/k start x3.1623; full q/k rate x10",
        rule=_start_not_speed,
        supported_if=f"The race is full with query and key weights started √10 times larger against full with 10 times their learning rate. {_ALL}",
    ),
    _claim(
        "sharpness_needs_no_larger_gradient",
        "Scores multiplied by 10 make full attention faster even if their gradient is divided by 10 again.",
        Contrast(f"full {SHARP} gradient ÷10", "full"),
        "full x1; full x10 gradient /10",
    ),
    _claim(
        "small_dispersion_is_enough",
        "Full attention whose scores are clipped, so that their dispersion stays below 2, learns in fewer epochs than full attention.",
        Contrast("full clipped at 1", "full"),
        "full x1; full clipped at 1",
    ),
)
