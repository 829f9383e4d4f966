"""A verdict in words."""

import math

from semfocus.studies.statistics import smallest_p
from semfocus.trial.verdict import Ratio, Verdict, seeds_needed


def too_few(num_seeds: int, num_arms: int = 1) -> str:
    """Why a trial has no verdict."""
    return (
        f"{num_seeds} seed{'s' * (num_seeds != 1)} cannot show a difference (the smallest possible p is "
        f"{smallest_p(num_seeds):.2g}): use {seeds_needed(num_arms)} or more. So far:"
    )


def sentence(verdict: Verdict) -> str:
    """What was found in steps, with its uncertainty, or what could have been."""
    arm, num, of_steps = verdict.arm, verdict.num_seeds, interval(verdict.steps)
    if verdict.finding == "faster":
        return f"{arm} reached full attention's final loss in {of_steps} of the steps, {num} seeds."
    if verdict.finding == "slower":
        missed = num - verdict.num_reached
        return (
            f"{arm} needed {of_steps} times the steps of full attention for the same loss, {num} seeds; "
            f"it missed full attention's final loss in {missed} of them."
        )
    if verdict.finding == "too few seeds":
        return f"{arm} took {verdict.steps.value:.2f} of the steps of full attention for the same loss, single seeds {_seeds(verdict)}."
    seen = verdict.detectable
    return (
        f"no evidence of a difference between {arm} and full attention ({of_steps} of the steps); "
        f"with {num} seeds a factor of {_factor(seen)} would have been seen."
    )


def time_sentence(verdict: Verdict) -> str:
    """The same in seconds on the machine that trained."""
    cost = verdict.seconds.value / verdict.steps.value
    if not math.isfinite(cost):
        return "Time was not measured."
    return f"In time: {interval(verdict.seconds)} of the seconds; a step cost {cost:.2f} times as much as one of full attention."


def interval(ratio: Ratio) -> str:
    """`0.71 [0.62, 0.80]`."""
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _factor(seen: float | None) -> str:
    """Rounded up: less is not promised."""
    assert seen is not None
    return f"{max(1.05, math.ceil(seen * 20) / 20):.3g}"


def _seeds(verdict: Verdict) -> str:
    ratios = sorted(pair.ratio for pair in verdict.pairs)
    return " ".join(f"{ratio:.2f}" for ratio in ratios)
