"""A comparison as rows of short texts: the same words in the terminal, in Markdown and on the page."""

from collections.abc import Mapping, Sequence
from statistics import median

from semfocus.analysis.statistics import Estimate, Speedup, Time
from semfocus.analysis.statistics.order import median_place
from semfocus.analysis.summaries import ArmSummary, TaskSummary
from semfocus.analysis.times import perplexities, perplexity_text
from semfocus.analysis.wording import bounded, interval, short
from semfocus.words import at_least, number, p_value, percent, with_span

#: key of a row -> heading
COLUMNS: Mapping[str, str] = {
    "arm": "arm",
    "group": "kind",
    "reached": "reached target",
    "perfect": "reached 100 %",
    "epochs": "epochs to target",
    "seconds": "seconds to target",
    "speedup": "speedup in epochs",
    "short_speedup": "speedup",
    "seconds_speedup": "speedup in seconds",
    "p": "p (Holm)",
    "held_out_epochs": "epochs to held-out target",
    "last_held_out": "last held-out",
    "short_held_out": "last held-out, median",
    "gap": "train minus held-out",
}

EXPLANATION = (
    "Medians over seeds with 95 % intervals [low, high]; with fewer than 6 seeds the range of the seeds (low to high) "
    "instead. > means not reached by then; before a median, that even if every run had arrived right after its last look, "
    "the median would be there. Speedup: time of the baseline / time of the arm, paired by seed; its interval inverts the exact "
    "sign-flip test, and with 3 to 5 seeds assumes log-normal ratios."
)


def summary_rows(summary: TaskSummary) -> list[dict[str, str]]:
    """One row per arm, with a text for every key of COLUMNS."""
    return [
        _row(arm, summary.baseline) | (_text_cells(arm) if summary.by_loss else {}) for arm in summary.arms
    ]


def _row(arm: ArmSummary, baseline: str) -> dict[str, str]:
    is_baseline = arm.label == baseline
    return {
        "arm": arm.label,
        "group": arm.group,
        "reached": f"{arm.reached}/{arm.total}",
        "perfect": f"{round(arm.share_perfect * arm.total)}/{arm.total}",
        "epochs": time_text(arm.epochs_to_target, arm.times),
        "seconds": time_text(arm.seconds_to_target, arm.seconds),
        "speedup": "baseline" if is_baseline else speedup_text(arm.speedup),
        "short_speedup": "" if is_baseline or arm.speedup is None else short(arm.speedup),
        "seconds_speedup": "baseline" if is_baseline else speedup_text(arm.seconds_speedup),
        "p": p_text(arm),
        "held_out_epochs": time_text(arm.epochs_to_held_out, arm.held_out_times),
        "last_held_out": _accuracy(arm.last_held_out),
        "short_held_out": percent(median(arm.last_held_out)) if arm.last_held_out else "",
        "gap": _points(arm.gap),
    }


def _text_cells(arm: ArmSummary) -> dict[str, str]:
    """Where perplexities stand in the place of accuracies."""
    return {
        "perfect": "",
        "last_held_out": perplexity_text(arm.last_held_out_loss),
        "short_held_out": perplexity_text(arm.last_held_out_loss).partition(" (")[0],
        "gap": _perplexity_gap(arm),
    }


def _perplexity_gap(arm: ArmSummary) -> str:
    pairs = zip(perplexities(arm.last_train_loss), perplexities(arm.last_held_out_loss), strict=True)
    gaps = [train - held_out for train, held_out in pairs]
    return f"{median(gaps):+.3g}" if gaps else ""


def time_text(estimate: Estimate, times: Mapping[int, Time]) -> str:
    """7 [4, 13], 7 (4 to 13) with few seeds, > 40 where the median is beyond what was observed; nothing if
    nobody looked.
    """
    if not any(time.reached or time.value > 0 for time in times.values()):
        return ""
    if estimate.value is None:
        return f"> {at_least(estimate.beyond or 0.0)}"
    value = number(estimate.value)
    if len(times) == 1:
        return value
    if median_place(len(times)) is None:
        ordered = sorted(times.values(), key=lambda time: (time.value, not time.reached))
        # a run that was lost sight of before the last one arrived may come later still
        open_end = ordered[-1].reached and not all(time.reached for time in ordered)
        last = seen_text(ordered[-1]) + (" or later" if open_end else "")
        return with_span(value, seen_text(ordered[0]), last)
    return (
        f"{value} [{number(estimate.low or 0.0)}, {'∞' if estimate.high is None else number(estimate.high)}]"
    )


def seen_text(time: Time) -> str:
    """40, or > 40 where it was not reached by then."""
    return number(time.value) if time.reached else f"> {at_least(time.value)}"


def speedup_text(speedup: Speedup | None) -> str:
    """5.7x [3.1, 10.4], at least 2.3x [1.4, ∞]."""
    if speedup is None:
        return ""
    if not speedup.pairs:
        return "no common seed"
    return f"{bounded(speedup)} {interval(speedup)}".strip()


def p_text(arm: ArmSummary) -> str:
    """0.0625 (0.375), at best 0.0625: p, after Holm's correction, and the smallest that the seeds can give."""
    if arm.p is None or arm.p_holm is None or arm.smallest_p is None:
        return ""
    return f"{p_value(arm.p)} ({p_value(arm.p_holm)}), at best {p_value(arm.smallest_p)}"


def _accuracy(values: Sequence[float]) -> str:
    if not values:
        return ""
    middle = percent(median(values))
    return with_span(middle, number(100 * min(values)), number(100 * max(values)))


def _points(values: Sequence[float]) -> str:
    return f"{round(100 * median(values), 1) + 0.0:+.1f} points" if values else ""  # + 0.0: never -0.0
