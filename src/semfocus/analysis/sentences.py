"""A comparison in words: who was faster, how sure, and what a reader should know beside."""

from collections.abc import Sequence

from semfocus.analysis.comparisons import Comparison
from semfocus.analysis.statistics import Speedup, paired_speedup
from semfocus.analysis.summaries import ArmSummary
from semfocus.analysis.verdict import (
    FEWEST_PAIRS,
    enough,
    estimate_order,
    estimated_above_one,
    is_ahead,
    is_behind,
    pairs_text,
    side,
)
from semfocus.analysis.wording import bounded, interval
from semfocus.runs.record import Record
from semfocus.words import count_of, p_value

_SIGNIFICANT = 0.05
_NOT_OVER = ("unfinished", "running", "interrupted")

Raced = Sequence[tuple[ArmSummary, Speedup]]


def sentence_on(task: str, arms: Sequence[ArmSummary], baseline: str, goal: str) -> str:
    """Who reached the target sooner than the baseline, by how much, and how sure that is."""
    so_far = any(arm.states.get(state) for arm in arms for state in _NOT_OVER)
    parts = _answer(arms, baseline, goal, so_far)
    return f"{task}{' (so far: not all runs have ended)' if so_far else ''}: {'; '.join(parts)}."


def _answer(arms: Sequence[ArmSummary], baseline: str, goal: str, so_far: bool) -> list[str]:
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
    arrived = [arm.label for arm in arms if arm.reached]
    if not arrived:
        return [f"no run of any arm reached {goal}", *lost]
    only_baseline = [f"only {baseline} reached {goal}"] if arrived == [baseline] else []
    if max(speedup.num_pairs for _, speedup in raced) == 1:
        picture = only_baseline or [_fastest(raced, baseline, goal)]
        return [*picture, *lost, "one seed: a picture, not yet a result"]
    judged = [each for each in raced if enough(each[1])]
    if not judged:
        return [*_on_estimates(raced, baseline, goal, only_baseline), *lost]
    few = [each for each in raced if not enough(each[1])]
    ahead = [each for each in judged if is_ahead(each[1])]
    parts = only_baseline or (
        _on_those_ahead(ahead, judged, baseline, goal, so_far)
        if ahead
        else _on_nobody_ahead(judged, baseline, goal, so_far)
    )
    behind = [each for each in judged if is_behind(each[1])]
    parts += [f"behind {baseline}: {_estimates(behind)}"] if behind else []
    parts += [f"too few seeds for a verdict: {_estimates(few)}"] if few else []
    return [*parts, *_sharpness(raced), *lost]


def _on_estimates(raced: Raced, baseline: str, goal: str, lead: list[str]) -> list[str]:
    """Fewer seeds than a verdict takes: that first, then the estimates, the largest first."""
    first, rest = _best(raced), list(raced)
    if not lead:
        lead = [_fastest(raced, baseline, goal, f" ({_how_rough(*first)})")]
        rest.remove(first)
    for above, words in ((True, "also above 1x"), (False, "below 1x"), (None, "at 1x or not known")):
        own = [each for each in rest if estimated_above_one(each[1]) is above]
        lead += [f"{words}: {_estimates(own)}"] if own else []
    too_few = f"No verdict: {pairs_text(speedup for _, speedup in raced)}, {FEWEST_PAIRS} are needed."
    lead[0] = f"{too_few} {lead[0][:1].upper()}{lead[0][1:]}"
    return [*lead, *_sharpness(raced)]


def _estimates(raced: Raced) -> str:
    """`full ×4 2.2x, top_k(5) 1.4x`, the largest first."""
    ordered = sorted(raced, key=lambda each: estimate_order(each[1]), reverse=True)
    return ", ".join(
        arm.label if speedup.ratio is None else f"{arm.label} {bounded(speedup)}" for arm, speedup in ordered
    )


def _on_those_ahead(ahead: Raced, raced: Raced, baseline: str, goal: str, so_far: bool) -> list[str]:
    best, speedup = _best(ahead)
    parts = [
        f"{best.label} needed {bounded(speedup)} fewer epochs than {baseline} to reach {goal} "
        f"({_how_sure(best, speedup, len(raced), so_far)})"
    ]
    others = [each for each in ahead if each[0] is not best]
    parts += [f"also ahead of {baseline}: {_estimates(others)}"] if others else []
    unclear = [each for each in raced if side(each[1]) == "unclear"]
    parts += [f"not clearly ahead: {_estimates(unclear)}"] if unclear else []
    return parts


def _on_nobody_ahead(raced: Raced, baseline: str, goal: str, so_far: bool) -> list[str]:
    how_sure = f" ({_how_sure(*_best(raced), len(raced), so_far)})"
    return [
        f"no arm clearly reached {goal} sooner than {baseline}",
        _fastest(raced, baseline, goal, how_sure),
    ]


def _lost(arm: ArmSummary) -> list[str]:
    """Runs that were not looked at to the end: a speedup over them is not one over runs that trained."""
    return [
        f"{arm.states[state]} of {count_of(arm.total, 'run')} of {arm.label} {state}"
        for state in ("diverged", "failed")
        if arm.states.get(state)
    ]


def _best(raced: Raced) -> tuple[ArmSummary, Speedup]:
    return max(raced, key=lambda each: estimate_order(each[1]))


def _fastest(raced: Raced, baseline: str, goal: str, how_sure: str = "") -> str:
    arm, speedup = _best(raced)
    if speedup.ratio is None or arm.reached == 0:
        return f"the runs do not tell which arm reaches {goal} first"
    if estimated_above_one(speedup):
        return f"by estimate {arm.label} was the fastest to {goal}, {bounded(speedup)} as fast as {baseline} in epochs{how_sure}"
    if speedup.at_least:  # at least 0.5x says nothing: it may as well be 5x
        return f"the runs ended too early to tell whether {arm.label} is faster than {baseline}{how_sure}"
    return (
        f"by estimate none was faster than {baseline} to {goal}, "
        f"the next was {arm.label}, {bounded(speedup)} as fast in epochs{how_sure}"
    )


def _how_sure(arm: ArmSummary, speedup: Speedup, num_arms: int, so_far: bool) -> str:
    """The interval, the number of seeds and p; significance is a word only where the seeds could earn it."""
    assert arm.p is not None
    assert arm.p_holm is not None
    assert arm.smallest_p is not None
    parts = [f"95 % interval {interval(speedup)}"] if interval(speedup) else []
    parts += [count_of(speedup.num_pairs, "seed"), f"sign-flip p = {p_value(arm.p)}"]
    if num_arms > 1:
        parts.append(f"{p_value(arm.p_holm)} after Holm's correction for {num_arms} arms")
    if so_far:  # whoever stops when a test first looks good finds something in noise
        return f"{', '.join(parts)}; no verdict before all runs have ended"
    smallest = (
        f"the smallest p that {count_of(speedup.num_pairs, 'seed')} can give is {p_value(arm.smallest_p)}"
    )
    if arm.smallest_p * num_arms > _SIGNIFICANT:
        return f"{', '.join(parts)}; {smallest}"
    verdict = "significant" if arm.p_holm <= _SIGNIFICANT else "not significant"
    return f"{', '.join(parts)}: {verdict} at 0.05; {smallest}"


def _how_rough(arm: ArmSummary, speedup: Speedup) -> str:
    """The interval and p, of which so few seeds can give no small one."""
    assert arm.p is not None
    assert arm.smallest_p is not None
    parts = [f"95 % interval {interval(speedup)}"] if interval(speedup) else []
    smallest = (
        f"the smallest that {count_of(speedup.num_pairs, 'seed')} can give is {p_value(arm.smallest_p)}"
    )
    return f"{', '.join([*parts, f'sign-flip p = {p_value(arm.p)}'])}; {smallest}"


def _sharpness(raced: Raced) -> list[str]:
    """Sparsity or sharpness: the best input-dependent arm against the best sharper full attention, seed by seed."""
    sharper = [each for each in raced if each[0].group == "sharper full attention"]
    sparse = [each for each in raced if each[0].group == "input-dependent" and not each[0].is_sharpened]
    if not sharper or not sparse:
        return []
    sharp_arm, sparse_arm = _best(sharper)[0], _best(sparse)[0]
    of_several = ", the best of their kinds by estimate" if len(sharper) + len(sparse) > 2 else ""
    direct = paired_speedup(sparse_arm.times, sharp_arm.times)
    if side(direct) == "faster":
        return [
            f"{sharp_arm.label} beat {sparse_arm.label}{of_several}, {bounded(direct)} {interval(direct)}"
        ]
    if side(direct) == "slower":
        other = paired_speedup(sharp_arm.times, sparse_arm.times)
        return [f"{sparse_arm.label} beat {sharp_arm.label}{of_several}, {bounded(other)} {interval(other)}"]
    if direct.ratio is None:
        return [f"undecided between {sparse_arm.label} and {sharp_arm.label}{of_several}"]
    against = f"{sharp_arm.label} was {bounded(direct)} {interval(direct)}".rstrip()
    undecided = f"undecided between {sparse_arm.label} and {sharp_arm.label}{of_several}: "
    return [f"{undecided if enough(direct) else ''}{against} as fast as {sparse_arm.label}"]


_WORDS = {
    "diverged": "diverged (counted as never reaching the target unless it was reached before; no last accuracy)",
    "failed": "failed (counted up to the last epoch)",
    "interrupted": "interrupted (counted up to the last epoch)",
    "unfinished": "not ended yet (counted up to the last epoch)",
    "running": "not ended yet (counted up to the last epoch)",
}


def notes_on(comparison: Comparison, baseline: str) -> list[str]:
    """One sentence a note."""
    return [
        *_states(comparison),
        *_missing_seeds(comparison, baseline),
        *_early_stop(comparison),
        *_machines(comparison),
    ]


def _states(comparison: Comparison) -> list[str]:
    notes = []
    for label, records in comparison.arms.items():
        for state, words in _WORDS.items():
            seeds = _seeds([record for record in records if record.get("state") == state])
            if seeds:
                notes.append(
                    f"{label}: {len(seeds)} of {count_of(len(records), 'run')} {words}: {_listed(seeds)}."
                )
    return notes


def _missing_seeds(comparison: Comparison, baseline: str) -> list[str]:
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


def _early_stop(comparison: Comparison) -> list[str]:
    stop = comparison.setting.get("training.stop_at")
    if stop is None:
        return []
    return [
        f"Runs stopped at {100 * float(stop):g} % training accuracy: last held-out accuracy, gap and 100 % are those of that epoch."
    ]


def _machines(comparison: Comparison) -> list[str]:
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
