"""Claims of our own about what goes with fast learning: dispersion, or how many keys are attended to."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import FOUR_TASKS, Claim, Ruling, decide, paper_study
from semfocus.analysis.claims.convergence import TIMES
from semfocus.analysis.claims.evidence import (
    FEWEST_TASKS,
    HOW_COUNTED,
    HOW_MEASURED,
    counts,
    majority,
    measured_lines,
    pooled,
    races_of,
    seeds_enough,
)
from semfocus.analysis.comparisons import Contrast

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary
    from semfocus.analysis.why.measured_runs import MeasuredTask

SOURCE = "semfocus: sparsity or sharpness?"
FEWEST_TASKS_HERE = 2
SHARPER = f"full {TIMES}10"
_ARMS = "full x1; full x10"
FEWEST_ARMS, FEWEST_SEEDS_HERE = 4, 3
#: a rank correlation above this orders
ORDERS = 0.5


def _disperses_more_yet_faster(summaries: Sequence["TaskSummary"]) -> Ruling:
    from semfocus.analysis.why.measured_runs import measured_tasks
    from semfocus.analysis.why.ratio import dispersion_ratios

    tasks = measured_tasks(summaries)
    races = races_of(tasks, SHARPER)
    numbers, larger, counted = [], [], []
    for task in tasks:
        sides = [dispersion_ratios(task, SHARPER, when, False) for when in ("start", "end")]
        if task.task not in races or not all(sides):
            continue
        raced = races[task.task]
        untrained, trained = (median(own.values()) for own in sides)
        few = "" if all(map(seeds_enough, sides)) else ", too few measured seeds"
        numbers.append(
            f"{raced}; dispersion times {untrained:.1f} untrained, times {trained:.1f} trained{few}"
        )
        if counts(raced) and all(map(seeds_enough, sides)):
            counted.append(raced)
            larger.append(untrained > 1 and trained > 1)
    found = pooled(counted)
    many = found.num_tasks >= FEWEST_TASKS_HERE
    numbers += [each.text for each in found.numbers_together()]
    return decide(
        many and all(larger) and found.gain,
        many and (found.no_gain or majority([each for each in larger if not each], larger)),
        measured_lines(numbers, summaries),
    )


def _keys_order_arms(summaries: Sequence["TaskSummary"]) -> Ruling:
    from semfocus.analysis.why.measured_runs import measured_tasks
    from semfocus.analysis.why.yardsticks import yardsticks

    tasks = [task for task in measured_tasks(summaries) if _counts(task)]
    found = {each.quantity: each for each in yardsticks(tasks)}
    numbers = [
        f"{each.words}: rank correlation with epochs to target {_text(each.correlation)}; without fixed patterns {_text(each.choosing)}"
        for each in found.values()
        if each.correlation.value is not None
    ]
    keys = found.get("effective_keys")
    if (
        keys is None
        or keys.correlation.value is None
        or keys.correlation.low is None
        or keys.correlation.high is None
    ):
        return Ruling("undecided", measured_lines(numbers, summaries))
    many = len(tasks) >= FEWEST_TASKS
    orders = keys.correlation.value > ORDERS and keys.correlation.low > 0
    return decide(
        many and orders, many and keys.correlation.high < ORDERS, measured_lines(numbers, summaries)
    )


def _counts(task: "MeasuredTask") -> bool:
    """Arms and seeds enough, and no run goes on; a task that a study has only begun must not undo what the
    others decide.
    """
    return (
        not task.num_open()
        and len(task.labels) >= FEWEST_ARMS
        and len({run.seed for run in task.runs}) >= FEWEST_SEEDS_HERE
    )


def _text(found: "object") -> str:
    value, low, high = (getattr(found, name) for name in ("value", "low", "high"))
    if value is None:
        return "unknown"
    return f"{value:+.2f}" if low is None else f"{value:+.2f} ({low:+.2f} to {high:+.2f})"


CLAIMS = (
    Claim(
        "larger_dispersion_yet_faster",
        "Full attention with scores multiplied by 10 has a larger dispersion than full attention and yet learns in fewer epochs: small dispersion cannot be the whole reason.",
        Contrast(SHARPER, "full"),
        SOURCE,
        paper_study(_ARMS, "even_pairs, missing_duplicate", "sharpness_paper", stops=False),
        f"There are at least {FEWEST_TASKS_HERE} tasks, on every one {SHARPER} has the larger dispersion (75 % quantile), untrained and trained, and it has a gain over full. {HOW_MEASURED} {HOW_COUNTED}",
        "On more than half of as many tasks its dispersion is not larger, or it has no gain.",
        _disperses_more_yet_faster,
        f'sharpness --patterns "{_ARMS}"',
    ),
    Claim(
        "effective_keys_order_arms",
        "How many keys an untrained model effectively attends to orders the arms: the fewer, the sooner it learns.",
        None,
        SOURCE,
        f'dispersion --tasks "{FOUR_TASKS}"',
        f"Over at least {FEWEST_TASKS} tasks with at least {FEWEST_ARMS} arms and {FEWEST_SEEDS_HERE} seeds each, arms compared on the same task and seed, the rank correlation of the effective number of keys at epoch 0 and the epochs to target "
        f"is above {ORDERS} with an interval above 0 (bootstrap over tasks, and over seeds inside them). All arms count, fixed patterns too.",
        f"With as many, the whole interval lies below {ORDERS}.",
        _keys_order_arms,
        "dispersion_small",
    ),
)
