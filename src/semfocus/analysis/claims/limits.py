"""Claims about trade-offs: where sparsity fails, and when it stops to matter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import SIX_TASKS, Claim, Ruling, decide, paper_study, small_study
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, agnostic_labels, gains
from semfocus.analysis.claims.evidence import (
    FEWEST_TASKS,
    HOW_COUNTED,
    NO_GAIN,
    ONLY_THE_END,
    Races,
    diverged,
    left_out,
    lines,
    pooled,
    pooled_race,
    race,
    too_few,
    trained_to_the_end,
)
from semfocus.analysis.claims.generalisation import differences
from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.findings import Finding
from semfocus.analysis.summaries import by_setting
from semfocus.analysis.verdict import FEWEST_PAIRS
from semfocus.analysis.why.break_conditions import MARGIN
from semfocus.analysis.wording import setting_of
from semfocus.runs.arms import top_k_of
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

SOURCE = "Ram et al. 2025, trade-offs and failure signatures"
SINKS = Contrast(f"{HEAVY_HITTERS}+G1", HEAVY_HITTERS)


def _even_pairs(summaries: Sequence["TaskSummary"]) -> Ruling:
    """The input-agnostic arms of even_pairs, where full attention reaches 100 % on every seed."""
    found, counted = [], []
    for summary in trained_to_the_end(summaries):
        if summary.comparison.task != "even_pairs":
            continue
        full = _perfect(summary, "full")
        own = [_perfect(summary, label) for label in agnostic_labels([summary])]
        found += [full, *own] if full.num and own else []
        if full.enough and not full.going_on and full.perfect == full.num:
            counted += [each for each in own if each.enough and not each.going_on]
    fails = any(2 * each.perfect <= each.num for each in counted)
    return decide(fails, bool(counted) and all(each.perfect == each.num for each in counted), lines(found))


@dataclass(frozen=True)
class _Perfect:
    """On how many seeds the runs of an arm that are done reached 100 %."""

    setting: str
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
    ended = [record for record in records if record.get("state") == "done"]
    done = [curve for record in ended if (curve := record["curve"].get("train_accuracy"))]
    perfect = sum(max(accuracies, default=0.0) >= 1 for accuracies in done)
    going_on = sum(record.get("state") not in ("done", "diverged") for record in records)
    return _Perfect(
        setting_of(summary.comparison),
        label,
        perfect,
        len(done),
        going_on,
        left_out(diverged(summary, label)),
    )


def _global_tokens(summaries: Sequence["TaskSummary"]) -> Ruling:
    with_token = [label for label in agnostic_labels(summaries) if label.endswith("+G1")]
    found = [pooled_race(summaries, label, label.removesuffix("+G1")) for label in with_token]
    counted = [each for each in found if each.num_tasks >= FEWEST_TASKS]
    numbers = [line for each in found for line in each.numbers()]
    return decide(
        bool(counted) and all(each.gain for each in counted),
        bool(counted) and all(each.no_gain for each in counted),
        numbers,
    )


def _nearly_all_keys(summaries: Sequence["TaskSummary"]) -> Ruling:
    groups = [[_race_of_nearly_all(each) for each in group] for group in by_setting(summaries)]
    found = max(
        (pooled([each for each in group if each is not None]) for group in groups),
        key=lambda each: (each.num_tasks, len(each.tasks)),
        default=Races(),
    )
    enough = found.num_tasks >= FEWEST_TASKS
    unlike = (found.gain or found.loss) and not found.alike
    return decide(enough and found.alike, enough and unlike, found.numbers())


def _race_of_nearly_all(summary: "TaskSummary") -> Finding | None:
    """The largest k below the length of this comparison, if it is nearly all of it."""
    sizes = {}
    for arm in summary.arms:
        k = top_k_of(arm.label)
        length = summary.comparison.arms[arm.label][0]["spec"].get("training", {}).get("length")
        if k is not None and isinstance(length, int) and 0.9 * length <= k < length:
            sizes[k] = arm.label
    return race(summary, sizes[max(sizes)]) if sizes else None


def _one_key(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = differences(summaries, "top_k(1)")
    counted = [each for each in found if each.counts]
    worse = any(each.high < -MARGIN for each in counted)
    fine = len(counted) >= FEWEST_TASKS and all(each.low > -MARGIN for each in counted)
    return decide(worse, fine, lines(found))


CLAIMS = (
    Claim(
        "input_agnostic_fails_even_pairs",
        "Input-agnostic patterns can fail to reach 100 % training accuracy on even_pairs, where full attention reaches it.",
        Contrast("input-agnostic", "full"),
        SOURCE,
        paper_study("full x1; banded(5)", "even_pairs", stops=False),
        f"Full attention reaches 100 % on each of at least {FEWEST_PAIRS} seeds, and some input-agnostic arm with as many ended runs misses it on half of "
        f"its seeds or more. {ONLY_THE_END}",
        "Full attention does so too, and every input-agnostic arm reaches 100 % on all of its seeds.",
        _even_pairs,
        small_study("full x1; banded(5)", "even_pairs"),
    ),
    Claim(
        "global_tokens_help_input_agnostic",
        "A global token lets input-agnostic patterns learn in fewer epochs.",
        Contrast("input-agnostic+G1", "input-agnostic"),
        SOURCE,
        paper_study("banded(5); banded(5)+G1"),
        f"Every pattern that was run with one global token and without on at least {FEWEST_TASKS} tasks gains by it. {HOW_COUNTED}",
        "No such pattern gains by it.",
        _global_tokens,
        # with the two blocks of `small` banded(5) cannot learn even_pairs: no look-up reaches from one end to the other
        small_study("banded(5); banded(5)+G1", SIX_TASKS, "model.num_blocks=4", "training.stop_at=0.95"),
    ),
    Claim(
        "sinks_help_top_k",
        "A global token (a sink) lets top_k learn in fewer epochs.",
        SINKS,
        SOURCE,
        paper_study("top_k(5); top_k(5)+G1"),
        f"There are at least {FEWEST_TASKS} tasks, and top_k(5)+G1 gains over top_k(5). {HOW_COUNTED}",
        "There are as many tasks, and it has no gain.",
        gains(SINKS),
        small_study("top_k(5); top_k(5)+G1"),
    ),
    Claim(
        "nearly_all_keys_is_full",
        "With k close to the sequence length, top_k behaves like full attention.",
        Contrast("top_k(39)", "full"),
        SOURCE,
        paper_study("full x1; top_k(39)"),
        f"For the largest k of at least 90 % of the length, over at least {FEWEST_TASKS} tasks, the pooled 90 % interval lies within a factor {NO_GAIN:g} of 1. {HOW_COUNTED}",
        "Over as many tasks the verdict is faster or slower, and the 90 % interval does not lie within that factor.",
        _nearly_all_keys,
        small_study("full x1; top_k(15)"),
    ),
    Claim(
        "one_key_is_too_few",
        "A very small k can lack expressivity: top_k(1) ends with lower held-out accuracy than full attention on some task.",
        Contrast("top_k(1)", "full"),
        SOURCE,
        paper_study("full x1; top_k(1)", stops=False),
        f"On some task with at least {FEWEST_PAIRS} pairs, the 95 % interval of the paired difference in last held-out accuracy lies below -{100 * MARGIN:g} points. {ONLY_THE_END}",
        f"On at least {FEWEST_TASKS} such tasks, the interval lies above -{100 * MARGIN:g} points on every one.",
        _one_key,
        small_study("full x1; top_k(1)"),
    ),
)
