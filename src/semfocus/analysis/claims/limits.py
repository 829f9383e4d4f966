"""Claims about trade-offs: where sparsity fails, and when it stops to matter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import Claim, Ruling, decide
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, agnostic_labels, faster_over_tasks
from semfocus.analysis.claims.evidence import (
    FEWEST_TASKS,
    HOW_COUNTED,
    ONLY_THE_END,
    RaceResult,
    diverged,
    left_out,
    lines,
    majority,
    one_a_task,
    race,
    too_few,
    trained_to_the_end,
)
from semfocus.analysis.claims.generalisation import differences
from semfocus.analysis.verdict import FEWEST_PAIRS
from semfocus.analysis.why.break_conditions import MARGIN
from semfocus.runs.arms import top_k_of
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.analysis.contrasts import TaskSummary

SOURCE = "Ram et al. 2025, trade-offs and failure signatures"
#: two arms whose ratio stays within this factor behave alike
ALIKE = 1.25


def _even_pairs(summaries: Sequence["TaskSummary"]) -> Ruling:
    """The input-agnostic arms of even_pairs, where full attention reaches 100 % on every seed."""
    found, counted = [], []
    for summary in trained_to_the_end(summaries):
        if summary.comparison.task != "even_pairs":
            continue
        full = _perfect(summary, "full")
        own = [_perfect(summary, label) for label in agnostic_labels([summary])]
        found += [full, *own] if full.num and own else []
        if full.enough and full.perfect == full.num:
            counted += [each for each in own if each.enough and not each.going_on]
    fails = any(2 * each.perfect <= each.num for each in counted)
    return decide(fails, bool(counted) and all(each.perfect == each.num for each in counted), lines(found))


@dataclass(frozen=True)
class _Perfect:
    """On how many seeds the runs of an arm that are done reached 100 %."""

    summary: "TaskSummary"
    label: str
    perfect: int
    num: int
    going_on: int
    note: str

    @property
    def enough(self) -> bool:
        return self.num >= FEWEST_PAIRS

    def __str__(self) -> str:
        going_on = f" ({self.going_on} not ended)" if self.going_on else ""
        reached = f"reached 100 % training accuracy on {self.perfect} of {count_of(self.num, 'seed')}"
        return f"even_pairs: {self.label} {reached}{self.note}{going_on}{too_few(self.num)}"


def _perfect(summary: "TaskSummary", label: str) -> _Perfect:
    records = summary.comparison.arms.get(label, [])
    done = [record["curve"].get("train_accuracy", []) for record in records if record.get("state") == "done"]
    perfect = sum(max(accuracies, default=0.0) >= 1 for accuracies in done)
    going_on = sum(record.get("state") not in ("done", "diverged") for record in records)
    return _Perfect(summary, label, perfect, len(done), going_on, left_out(diverged(summary, label)))


def _global_tokens(summaries: Sequence["TaskSummary"]) -> Ruling:
    with_token = [label for label in agnostic_labels(summaries) if label.endswith("+G1")]
    races = [each for label in with_token for each in one_a_task(summaries, label, label.removesuffix("+G1"))]
    return faster_over_tasks(races)


def _sinks(summaries: Sequence["TaskSummary"]) -> Ruling:
    return faster_over_tasks(one_a_task(summaries, f"{HEAVY_HITTERS}+G1", HEAVY_HITTERS))


def _nearly_all_keys(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = [each for summary in summaries for each in _races_with_nearly_all(summary)]
    races = [each for each in found if each.enough]
    alike = [each for each in races if _within(each, ALIKE)]
    unlike = [each for each in races if each.gain or each.loss]
    enough = len({each.summary.comparison.task for each in races}) >= FEWEST_TASKS
    return decide(enough and majority(alike, races), enough and majority(unlike, races), lines(found))


def _races_with_nearly_all(summary: "TaskSummary") -> list[RaceResult]:
    found = []
    for arm in summary.arms:
        k = top_k_of(arm.label)
        length = summary.comparison.arms[arm.label][0]["spec"].get("training", {}).get("length")
        if k is not None and isinstance(length, int) and 0.9 * length <= k < length:
            found.append(race(summary, arm.label))
    return [each for each in found if each is not None]


def _within(result: RaceResult, factor: float) -> bool:
    low, high = result.speedup.low, result.speedup.high
    return low is not None and high is not None and low > 1 / factor and high < factor


def _one_key(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = differences(summaries, "top_k(1)")
    counted = [each for each in found if each.num >= FEWEST_PAIRS]
    worse = any(each.high < -MARGIN for each in counted)
    fine = len(counted) >= FEWEST_TASKS and all(each.low > -MARGIN for each in counted)
    return decide(worse, fine, lines(found))


CLAIMS = (
    Claim(
        "input_agnostic_fails_even_pairs",
        "Input-agnostic patterns can fail to reach 100 % training accuracy on even_pairs, where full attention reaches it.",
        SOURCE,
        "curves",
        f"Full attention reaches 100 % on each of at least {FEWEST_PAIRS} seeds, and some input-agnostic arm with as many ended runs misses it on half of "
        f"its seeds or more. {ONLY_THE_END}",
        "Full attention does so too, and every input-agnostic arm reaches 100 % on all of its seeds.",
        _even_pairs,
    ),
    Claim(
        "global_tokens_help_input_agnostic",
        "A global token lets input-agnostic patterns learn in fewer epochs.",
        SOURCE,
        "mask_sizes",
        f"Over at least {FEWEST_TASKS} pairs of task and pattern, the pattern with one global token gains over the same without on more than half, with a "
        "loss on none. " + HOW_COUNTED,
        "Over as many, it has no gain on more than half.",
        _global_tokens,
    ),
    Claim(
        "sinks_help_top_k",
        "A global token (a sink) lets top_k learn in fewer epochs.",
        SOURCE,
        "mask_sizes",
        f"On at least {FEWEST_TASKS} tasks top_k(5)+G1 gains over top_k(5) on more than half, with a loss on none. "
        + HOW_COUNTED,
        "On as many tasks it has no gain on more than half.",
        _sinks,
    ),
    Claim(
        "nearly_all_keys_is_full",
        "With k close to the sequence length, top_k behaves like full attention.",
        SOURCE,
        "k_sweep",
        f"For k of at least 90 % of the length, on at least {FEWEST_TASKS} tasks with at least {FEWEST_PAIRS} pairs, the interval of the speedup lies within a factor {ALIKE} of 1 "
        "on more than half.",
        "On as many tasks the interval leaves out 1 on more than half.",
        _nearly_all_keys,
    ),
    Claim(
        "one_key_is_too_few",
        "A very small k can lack expressivity: top_k(1) ends with lower held-out accuracy than full attention on some task.",
        SOURCE,
        "k_sweep",
        f"On some task with at least {FEWEST_PAIRS} pairs, the 95 % interval of the paired difference in last held-out accuracy lies below -{100 * MARGIN:g} points. {ONLY_THE_END}",
        f"On at least {FEWEST_TASKS} such tasks, the interval lies above -{100 * MARGIN:g} points on every one.",
        _one_key,
    ),
)
