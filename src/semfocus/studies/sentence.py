"""The answer to a comparison in one sentence that can be quoted without its table."""

from collections.abc import Sequence

from semfocus.studies.statistics import Speedup, paired_speedup
from semfocus.studies.summaries import ArmSummary
from semfocus.studies.wording import bounded, interval, p_value, percent, seeds

_SIGNIFICANT = 0.05
_NOT_OVER = ("unfinished", "running", "interrupted")

Raced = Sequence[tuple[ArmSummary, Speedup]]


def sentence_on(task: str, arms: Sequence[ArmSummary], baseline: str, target: float) -> str:
    """Who reached the target sooner than the baseline, by how much, and how sure that is."""
    so_far = any(arm.states.get(state) for arm in arms for state in _NOT_OVER)
    parts = _answer(arms, baseline, f"{percent(target)} training accuracy", so_far)
    return f"{task}{' (so far: not all runs have ended)' if so_far else ''}: {'; '.join(parts)}."


def is_ahead(speedup: Speedup) -> bool:
    """Whether the whole interval lies above 1."""
    return speedup.low is not None and speedup.low > 1


def is_behind(speedup: Speedup) -> bool:
    """Whether the whole interval lies below 1."""
    return speedup.high is not None and speedup.high < 1


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
    ahead = [each for each in raced if is_ahead(each[1])]
    parts = only_baseline or (
        _on_those_ahead(ahead, raced, baseline, goal, so_far)
        if ahead
        else _on_nobody_ahead(raced, baseline, goal, so_far)
    )
    behind = [f"{arm.label} {bounded(speedup)}" for arm, speedup in raced if is_behind(speedup)]
    if behind:
        parts.append(f"behind {baseline}: {', '.join(behind)}")
    return [*parts, *_sharpness(raced), *lost]


def _on_those_ahead(ahead: Raced, raced: Raced, baseline: str, goal: str, so_far: bool) -> list[str]:
    best, speedup = _best(ahead)
    parts = [
        f"{best.label} needed {bounded(speedup)} fewer epochs than {baseline} to reach {goal} "
        f"({_how_sure(best, speedup, len(raced), so_far)})"
    ]
    others = [f"{arm.label} {bounded(speedup)}" for arm, speedup in ahead if arm is not best]
    if others:
        parts.append(f"also ahead of {baseline}: {', '.join(others)}")
    undecided = [arm.label for arm, speedup in raced if not is_ahead(speedup) and not is_behind(speedup)]
    if undecided:
        parts.append(f"not clearly ahead: {', '.join(undecided)}")
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
        f"{arm.states[state]} of {arm.total} runs of {arm.label} {state}"
        for state in ("diverged", "failed")
        if arm.states.get(state)
    ]


def _best(raced: Raced) -> tuple[ArmSummary, Speedup]:
    """The largest median speedup; one that is only bounded from above comes after all others."""
    return max(raced, key=lambda each: (not each[1].at_most, each[1].ratio or 0.0, each[1].low or 0.0))


def _fastest(raced: Raced, baseline: str, goal: str, how_sure: str = "") -> str:
    arm, speedup = _best(raced)
    if speedup.ratio is None or arm.reached == 0:
        return f"the runs do not tell which arm reaches {goal} first"
    if speedup.ratio > 1:
        return f"the fastest was {arm.label}, {bounded(speedup)} as fast as {baseline}{how_sure}"
    if speedup.at_least:  # at least 0.5x says nothing: it may as well be 5x
        return f"the runs ended too early to tell whether {arm.label} is faster than {baseline}{how_sure}"
    return f"none was faster than {baseline}, the next was {arm.label}, {bounded(speedup)} as fast{how_sure}"


def _how_sure(arm: ArmSummary, speedup: Speedup, num_arms: int, so_far: bool) -> str:
    """The interval, the number of seeds and p; significance is a word only where the seeds could earn it."""
    assert arm.p is not None
    assert arm.p_holm is not None
    assert arm.smallest_p is not None
    parts = [f"95 % interval {interval(speedup)}"] if interval(speedup) else []
    parts += [seeds(speedup.num_pairs), f"sign-flip p = {p_value(arm.p)}"]
    if num_arms > 1:
        parts.append(f"{p_value(arm.p_holm)} after Holm's correction for {num_arms} arms")
    if so_far:  # whoever stops when a test first looks good finds something in noise
        return f"{', '.join(parts)}; no verdict before all runs have ended"
    smallest = f"the smallest p that {seeds(speedup.num_pairs)} can give is {p_value(arm.smallest_p)}"
    if arm.smallest_p * num_arms > _SIGNIFICANT:
        return f"{', '.join(parts)}; {smallest}: too few seeds for a verdict"
    verdict = "significant" if arm.p_holm <= _SIGNIFICANT else "not significant"
    return f"{', '.join(parts)}: {verdict} at 0.05; {smallest}"


def _sharpness(raced: Raced) -> list[str]:
    """Sparsity or sharpness: the best input-dependent arm against the best sharper full attention, seed by seed."""
    sharper = [each for each in raced if each[0].group == "sharper full attention"]
    sparse = [each for each in raced if each[0].group == "input-dependent" and not each[0].is_sharpened]
    if not sharper or not sparse:
        return []
    sharp_arm, sparse_arm = _best(sharper)[0], _best(sparse)[0]
    direct = paired_speedup(sparse_arm.times, sharp_arm.times)
    if is_ahead(direct):
        return [f"{sharp_arm.label} beat {sparse_arm.label}, {bounded(direct)} {interval(direct)}"]
    if is_behind(direct):
        other = paired_speedup(sharp_arm.times, sparse_arm.times)
        return [f"{sparse_arm.label} beat {sharp_arm.label}, {bounded(other)} {interval(other)}"]
    return [f"undecided between {sparse_arm.label} and {sharp_arm.label}"]
