"""The answer to a comparison in one sentence that can be quoted without its table."""

from collections.abc import Sequence

from semfocus.studies.statistics import Speedup, paired_speedup
from semfocus.studies.summaries import ArmSummary
from semfocus.studies.wording import bounded, interval, p_value, percent, seeds

_SIGNIFICANT = 0.05


def sentence_on(task: str, arms: Sequence[ArmSummary], baseline: str, target: float) -> str:
    """Who reached the target sooner than the baseline, by how much, and how sure that is."""
    goal = f"{percent(target)} training accuracy"
    raced = [(arm, arm.speedup) for arm in arms if arm.speedup is not None and arm.speedup.pairs]
    if not raced:
        return f"{task}: there is nothing to compare {baseline} with on the same seeds."
    if not any(arm.reached for arm in arms):
        return f"{task}: no run of any arm reached {goal}."
    if max(speedup.num_pairs for _, speedup in raced) < 2:
        return f"{task}: {_fastest(raced, baseline, goal)}, with one seed: a picture, not yet a result."
    ahead = [(arm, speedup) for arm, speedup in raced if is_ahead(speedup)]
    if not ahead:
        return f"{task}: no arm clearly reached {goal} sooner than {baseline}; {_fastest(raced, baseline, goal)}{_how_sure(*_best(raced), len(raced))}."
    best, speedup = _best(ahead)
    parts = [
        f"{task}: {best.label} reached {goal} {bounded(speedup)} sooner than {baseline}{_how_sure(best, speedup, len(raced))}",
        *_sharpness(ahead, arms),
    ]
    others = [f"{arm.label} {bounded(speedup)}" for arm, speedup in ahead if arm is not best]
    if others:
        parts.append(f"also sooner: {', '.join(others)}")
    behind = [arm.label for arm, speedup in raced if not is_ahead(speedup)]
    if behind:
        parts.append(f"not clearly sooner: {', '.join(behind)}")
    return "; ".join(parts) + "."


def is_ahead(speedup: Speedup) -> bool:
    """Whether the whole interval lies above 1."""
    return speedup.low is not None and speedup.low > 1


def _best(raced: Sequence[tuple[ArmSummary, Speedup]]) -> tuple[ArmSummary, Speedup]:
    """The largest median speedup; one that is only bounded from above comes after all others."""
    return max(raced, key=lambda each: (not each[1].at_most, each[1].ratio or 0.0, each[1].low or 0.0))


def _fastest(raced: Sequence[tuple[ArmSummary, Speedup]], baseline: str, goal: str) -> str:
    arm, speedup = _best(raced)
    if speedup.ratio is None or arm.reached == 0:
        return f"the runs do not tell which arm reaches {goal} first"
    if speedup.ratio <= 1 and not speedup.at_least:
        return f"{baseline} was as fast as any (next: {arm.label}, {bounded(speedup)} its speed)"
    return f"the fastest arm was {arm.label}, {bounded(speedup)} as fast as {baseline}"


def _how_sure(arm: ArmSummary, speedup: Speedup, num_arms: int) -> str:
    """The interval, the number of seeds and p; the word significant only where it can be earned and is."""
    assert arm.p is not None
    assert arm.p_holm is not None
    assert arm.smallest_p is not None
    test = f"sign-flip p = {p_value(arm.p)}"
    if num_arms > 1:
        test += f", {p_value(arm.p_holm)} after correction for {num_arms} arms"
    if arm.smallest_p > _SIGNIFICANT:
        test += f"; {seeds(speedup.num_pairs)} cannot give a p below {p_value(arm.smallest_p)}"
    else:
        verdict = "significant" if arm.p_holm <= _SIGNIFICANT else "not significant"
        test += f": {verdict} at 0.05; smallest attainable p {p_value(arm.smallest_p)}"
    return f" (95 % interval {interval(speedup)}, {seeds(speedup.num_pairs)}, {test})"


def _sharpness(ahead: Sequence[tuple[ArmSummary, Speedup]], arms: Sequence[ArmSummary]) -> list[str]:
    """Whether full attention at a higher inverse temperature beat the input-dependent arms."""
    sharper = [each for each in ahead if each[0].group == "sharper full attention"]
    sparse = [
        (arm, arm.speedup)
        for arm in arms
        if arm.group == "input-dependent" and "×" not in arm.label and arm.speedup is not None  # noqa: RUF001
    ]
    if not sharper or not sparse:
        return []
    sharp_arm, sparse_arm = _best(sharper)[0], _best(sparse)[0]
    direct = paired_speedup(sparse_arm.times, sharp_arm.times)
    if is_ahead(direct):
        return [f"{sharp_arm.label} beat {sparse_arm.label} as well, {bounded(direct)} {interval(direct)}"]
    return []
