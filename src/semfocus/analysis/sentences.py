"""A comparison in words: who was faster, how sure, and what a reader should know beside."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.statistics import Speedup, smallest_p
from semfocus.analysis.statistics.pooling import PooledSpeedup
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.analysis.statistics.speedup import EQUIVALENT
from semfocus.analysis.verdict import (
    FEWEST_PAIRS,
    enough,
    estimate_order,
    pairs_text,
    verdict_of,
    why_open,
)
from semfocus.analysis.wording import attention, bounded, interval, ratio, short
from semfocus.runs.record import Record
from semfocus.words import count_of, listed, p_value, percent, shortened

if TYPE_CHECKING:
    from semfocus.analysis.comparisons import Comparison
    from semfocus.analysis.findings import Finding
    from semfocus.analysis.summaries import ArmSummary, TaskSummary


Raced = Sequence[tuple["ArmSummary", Speedup]]


def sentence_on(summary: "TaskSummary") -> str:
    """Who reached the target sooner than the baseline, by how much, and how sure that is."""
    arms, goal = summary.arms, summary.goal.words
    parts = _answer(summary, goal)
    reached = any(arm.reached for arm in arms) and any(arm.speedup and arm.speedup.pairs for arm in arms)
    return f"{summary.comparison.title}{f', to {goal}' if reached else ''}: {'; '.join(parts)}."


def _answer(summary: "TaskSummary", goal: str) -> list[str]:
    arms, baseline = summary.arms, summary.baseline
    raced = [(arm, arm.speedup) for arm in arms if arm.speedup is not None and arm.speedup.pairs]
    if not any(arm.label == baseline for arm in arms):
        return [f"there is no run of {baseline} to compare with"]
    if not raced:
        return [f"there is nothing to compare {baseline} with on the same seeds"]
    lost = [
        text
        for arm in arms
        if arm.label == baseline or any(arm is each for each, _ in raced)
        for text in _lost(arm)
    ]
    if not any(arm.reached for arm in arms):
        return [f"no run of any arm reached {goal}", *lost]
    raced = sorted(raced, key=_leading, reverse=True)
    if max(speedup.num_pairs for _, speedup in raced) == 1:
        return [_by_estimate(raced, baseline), *lost, "one seed: a picture, not yet a result"]
    judged = [each for each in raced if enough(each[1])]
    if summary.num_open or not judged:
        why = "not all runs have ended" if summary.num_open else f"{_few(raced)}, {FEWEST_PAIRS} are needed"
        return [f"No verdict: {why}. {_capital(_by_estimate(raced, baseline))}", *lost]
    few = [each for each in raced if not enough(each[1])]
    parts = [*_verdicts(judged, arms, baseline), *_sharpness(raced, summary)]
    parts += [f"too few seeds for a verdict: {_estimates(few)}"] if few else []
    return [*parts, *lost]


def _leading(each: tuple["ArmSummary", Speedup]) -> tuple[bool, bool, float, float]:
    """Large for what is to be named first: top-k, which is the question, then the largest estimate."""
    arm, speedup = each
    return (speedup.is_ahead and _is_sparse(arm), *estimate_order(speedup))


def _is_sparse(arm: "ArmSummary") -> bool:
    return arm.group == "input-dependent" and not arm.is_sharpened


def _verdicts(judged: Raced, arms: Sequence["ArmSummary"], baseline: str) -> list[str]:
    """Who learned faster, by how much and how surely; then who was slower, equivalent, and of whom it is not known."""
    reached = {arm.label for arm in arms if arm.reached}
    ahead, behind, alike, rest = (
        [each for each in judged if verdict_of(each[1]) == verdict]
        for verdict in ("faster", "slower", "equivalent", "undecided")
    )
    parts = []
    if ahead:
        arm, speedup = ahead[0]
        parts.append(
            f"{attention(arm.label)} learned {bounded(speedup)} faster than {attention(baseline)} "
            f"{interval(speedup)}, {_how_sure(speedup)}"
        )
        parts += [
            f"{attention(arm.label)} {bounded(speedup)} {interval(speedup)}" for arm, speedup in ahead[1:]
        ]
    elif reached == {baseline}:
        parts.append(f"only {attention(baseline)} got there")
    else:
        parts.append(f"nothing clearly learned faster than {attention(baseline)}")
    parts += [f"slower: {_estimates(behind)}"] if behind else []
    parts += [f"as fast within a factor of {EQUIVALENT:g}: {_estimates(alike)}"] if alike else []
    parts += [f"undecided: {_estimates(rest, intervals=True)}"] if rest else []
    return parts


def _by_estimate(raced: Raced, baseline: str) -> str:
    """`by estimate top-5 attention was 3.5x as fast as full attention [0.43, 17.1]; ...`, the largest first."""
    known = [
        each for each in raced if each[1].ratio is not None and not (each[1].at_least and each[1].ratio <= 1)
    ]
    if not known:
        return "the runs ended too early to show which arm is faster"
    arm, speedup = known[0]
    rest = [f"{attention(other.label)} {short(own)}" for other, own in known[1:]]
    first = f"by estimate {attention(arm.label)} was {bounded(speedup)} as fast as {attention(baseline)}"
    return "; ".join([" ".join(filter(None, (first, interval(speedup)))), *rest])


def _estimates(raced: Raced, intervals: bool = False) -> str:
    """`full ×4 2.2x, top_k(5) 1.4x`."""
    texts = [f"{arm.label} {short(speedup) if intervals else bounded(speedup)}" for arm, speedup in raced]
    return ", ".join(texts)


def _lost(arm: "ArmSummary") -> list[str]:
    """Runs that were not looked at to the end: a speedup over them is not one over runs that trained."""
    return [
        f"{arm.states[state]} of {count_of(arm.total, 'run')} of {arm.label} {state}"
        for state in ("diverged", "failed")
        if arm.states.get(state)
    ]


def _how_sure(speedup: Speedup) -> str:
    """`8 of 8 seeds (p = 0.0078, the smallest that 8 seeds can give)`; what an interval of few seeds assumes."""
    num = speedup.num_pairs
    ahead = f"{sum(log > 0 for log in speedup.logs)} of {count_of(num, 'seed')}"
    smallest = smallest_p(num)
    assert speedup.p is not None
    if speedup.method == "t":
        return f"{ahead} (assumes log-normal ratios: {count_of(num, 'seed')} alone give no p below {p_value(smallest)})"
    if speedup.p <= smallest * (1 + 1e-9):
        return f"{ahead} (p = {p_value(speedup.p)}, the smallest that {count_of(num, 'seed')} can give)"
    return f"{ahead} (p = {p_value(speedup.p)}; the smallest that {count_of(num, 'seed')} can give is {p_value(smallest)})"


def pooled_sentence(finding: "Finding", brief: bool = False) -> str:
    """What a contrast shows over all tasks: the verdict, for these tasks and (unless `brief`) for others, and
    what it hangs on.
    """
    arm, baseline = attention(finding.contrast.arm), attention(finding.contrast.baseline)
    estimate, limits = bounded(finding.speedup), interval(finding.speedup)
    verdict = {
        "faster": f"{arm} learned {estimate} faster than {baseline} {limits}",
        "slower": f"{arm} learned more slowly than {baseline}: {estimate} as fast {limits}",
        "equivalent": f"{arm} learned as fast as {baseline} within a factor of {EQUIVALENT:g}: {estimate} {limits}",
        "undecided": f"it is undecided whether {arm} learns faster than {baseline}: {estimate} {limits}",
    }[finding.verdict]
    parts = [f"Over {count_of(finding.num_tasks, 'task')} {verdict} ({_pooled_certainty(finding)})"]
    beyond = [
        f"{words} {_limits(limits)}"
        for words, limits in (
            ("for tasks like these on average", finding.on_average),
            ("for a new task", finding.new_task),
        )
        if limits is not None
    ]
    reason = why_open(finding.speedup)
    parts += [f"no verdict: {reason}"] if reason else []
    parts += (
        [f"left out, too few seeds: {listed(map(shortened, finding.left_out))}"] if finding.left_out else []
    )
    parts += [", ".join(beyond)] if beyond and not brief else []
    parts += [f"but {listed(finding.changes)}"] if finding.changes else []
    return f"{'; '.join(parts)}."


def fragile_sentence(finding: "Finding") -> str:
    """Which other targets would have told something else."""
    where = "" if finding.task is None else f"{finding.task}, "
    verdict = f"{finding.verdict} at {finding.goal}"
    return f"Depends on the target: {where}{finding.contrast}: {verdict}, but {listed(finding.changes)}."


def _pooled_certainty(finding: "Finding") -> str:
    """`26 of 30 pairs; p = 0.0001, at best 2e-05`."""
    assert isinstance(finding.speedup, PooledSpeedup)
    assert finding.p is not None
    pairs = f"{finding.speedup.num_ahead} of {count_of(finding.num_pairs, 'pair')}"
    pairs += f", {finding.speedup.num_bounded} known by a bound" if finding.speedup.num_bounded else ""
    corrected = "" if finding.p_adjusted is None else f", corrected {p_value(finding.p_adjusted)}"
    alpha = finding.speedup.alpha
    level = "" if alpha == ALPHA else f"; intervals of {percent(1 - alpha)}"
    return (
        f"{pairs}; p = {p_value(finding.p)}{corrected}, at best {p_value(finding.speedup.smallest_p)}{level}"
    )


def _limits(limits: tuple[float, float]) -> str:
    return f"[{ratio(limits[0])}, {ratio(limits[1])}]"


def _few(raced: Raced) -> str:
    return pairs_text(speedup for _, speedup in raced)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sharpness(raced: Raced, summary: "TaskSummary") -> list[str]:
    """Sparsity or sharpness: the best input-dependent arm against the best sharper full attention, seed by seed."""
    sharper = [each for each in raced if each[0].group == "sharper full attention"]
    sparse = [each for each in raced if _is_sparse(each[0])]
    if not sharper or not sparse:
        return []
    sharp, top = (max(each, key=lambda one: estimate_order(one[1]))[0].label for each in (sharper, sparse))
    of_several = ", the best of their kinds by estimate" if len(sharper) + len(sparse) > 2 else ""
    direct = summary.race(Contrast(sharp, top))
    if direct is None or direct.ratio is None:
        return [f"undecided between {top} and {sharp}{of_several}"]
    if verdict_of(direct) == "slower":
        other = summary.race(Contrast(top, sharp))
        assert other is not None
        return [f"{top} beat {sharp}{of_several}, {bounded(other)} {interval(other)}"]
    if verdict_of(direct) == "faster":
        return [f"{sharp} beat {top}{of_several}, {bounded(direct)} {interval(direct)}"]
    return [f"{sharp} against {top}{of_several}: {verdict_of(direct)}, {short(direct)}"]


_WORDS = {
    "diverged": "diverged (counted as never reaching the target unless it was reached before; no last accuracy)",
    "failed": "failed (counted up to the last epoch)",
    "interrupted": "interrupted (counted up to the last epoch)",
    "unfinished": "not ended yet (counted up to the last epoch)",
    "running": "not ended yet (counted up to the last epoch)",
}


def notes_on(summary: "TaskSummary") -> list[str]:
    """One sentence a note."""
    comparison = summary.comparison
    return [
        *_looks(summary.alpha),
        *_states(comparison),
        *_missing_seeds(comparison, summary.baseline),
        *_between_epochs(comparison),
        *_early_stop(comparison),
        *_machines(comparison),
    ]


def _looks(alpha: float) -> list[str]:
    if alpha == ALPHA:
        return []
    return [
        f"Intervals of speedups hold with {percent(1 - alpha)}, and p must be at most {p_value(alpha)}: the study was to end "
        "as soon as it was decided, and all its looks together may err in 5 %."
    ]


def _states(comparison: "Comparison") -> list[str]:
    notes = []
    for label, records in comparison.arms.items():
        for state, words in _WORDS.items():
            seeds = _seeds([record for record in records if record.get("state") == state])
            if seeds:
                notes.append(
                    f"{label}: {len(seeds)} of {count_of(len(records), 'run')} {words}: {_listed(seeds)}."
                )
    return notes


def _missing_seeds(comparison: "Comparison", baseline: str) -> list[str]:
    if baseline not in comparison.arms:
        return [f"There is no run of {baseline}, so no speedup."]
    base = set(_seeds(comparison.arms[baseline]))
    notes = []
    for label, records in comparison.arms.items():
        unpaired = sorted(set(_seeds(records)) ^ base)
        if unpaired:
            notes.append(
                f"{label} and {baseline} do not share {_listed(unpaired)}: left out of the speedup, not of the medians."
            )
    return notes


def _early_stop(comparison: "Comparison") -> list[str]:
    stop = comparison.setting.get("training.stop_at")
    if stop is None:
        return []
    return [
        f"Runs stopped at {100 * float(stop):g} % training accuracy: last held-out accuracy, gap and 100 % are those of that epoch."
    ]


def _between_epochs(comparison: "Comparison") -> list[str]:
    every = comparison.setting.get("training.evaluate_every")
    if every is None:
        return []
    return [
        f"Training accuracy was measured every {count_of(int(every), 'step')} as well: epochs to the target are parts of epochs; "
        "seconds, and a target sustained for several evaluations, are those of whole epochs."
    ]


def _machines(comparison: "Comparison") -> list[str]:
    hosts = {
        str((record.get("environment") or {}).get("host"))
        for records in comparison.arms.values()
        for record in records
        if record.get("environment")
    }
    return [f"Seconds were measured on {len(hosts)} machines: compare epochs."] if len(hosts) > 1 else []


def _seeds(records: list[Record]) -> list[int]:
    return [record["spec"]["seed"] for record in records]


def _listed(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
