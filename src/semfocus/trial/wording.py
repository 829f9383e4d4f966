"""A verdict in words."""

import math
from collections.abc import Iterable, Mapping
from statistics import fmean

from semfocus.analysis.statistics import smallest_p
from semfocus.trial.verdict import Looks, Ratio, Verdict, seeds_needed
from semfocus.words import count_of


def too_few(num_seeds: int, num_arms: int = 1, looks: Looks = 1) -> str:
    """Why a trial has no verdict."""
    return (
        f"{count_of(num_seeds, 'seed')} cannot show a difference (the smallest possible p is "
        f"{smallest_p(num_seeds):.2g}): use {seeds_needed(num_arms, looks)} or more. So far:"
    )


def sentence(verdict: Verdict) -> str:
    """What was found, with its uncertainty, or what could have been."""
    arm, full, num, of_steps = verdict.arm, verdict.reference, verdict.num_seeds, interval(verdict.steps)
    missed = num - verdict.num_reached
    finding = verdict.finding
    if finding == "diverged":
        return _diverged(verdict)
    if finding == "faster" and not missed:
        return f"{arm} reached {full}'s {_final(verdict)} loss in {of_steps} of the steps, {num} seeds."
    if finding == "faster":
        return f"{arm} took {of_steps} of the steps of {full} for the same loss, {num} seeds; {_missed(verdict)}."
    if finding == "slower":
        more = f"; {_missed(verdict)} ({_ends(verdict)})" if missed else ""
        return f"{arm} needed {of_steps} times the steps of {full} for the same loss, {num} seeds{more}."
    if finding == "mixed":
        was_first = verdict.steps.value < 1
        steps = f"took {of_steps} of" if was_first else f"needed {of_steps} times"
        side, on = ("higher", verdict.num_higher) if was_first else ("lower", verdict.num_lower)
        return (
            f"{arm} {steps} the steps of {full} to the lowest loss that both reached, "
            f"but ended {side} in {on} of {num} seeds ({_ends(verdict)})."
        )
    if finding in ("worse", "better"):
        return (
            f"{arm} ended {verdict.ended} than {full} with each of {num} seeds ({_ends(verdict)}); "
            f"steps to the lowest loss that both reached show no clear difference ({of_steps})."
        )
    if finding == "too few seeds":
        return (
            f"{arm} took {verdict.steps.value:.2f} of the steps of {full} for the same loss, "
            f"single seeds {_seeds(verdict)}; it ended higher in {verdict.num_higher} of {num}."
        )
    return (
        f"no evidence of a difference between {arm} and {full} ({of_steps} of the steps for the same loss; ended higher in "
        f"{verdict.num_higher} of {num} seeds); with {num} seeds a factor of {_factor(verdict.detectable)} would have been seen."
    )


def time_sentence(verdict: Verdict) -> str:
    """The same in seconds on the machine that trained; nothing if there is nothing to compare."""
    if math.isnan(verdict.steps.value):
        return ""
    cost = verdict.seconds.value / verdict.steps.value
    if not math.isfinite(cost):
        return "Time was not measured."
    return f"In time: {interval(verdict.seconds)} of the seconds; a step cost {cost:.2f} times as much as one of {verdict.reference}."


def interval(ratio: Ratio) -> str:
    """`0.71 [0.62, 0.80]`."""
    if math.isnan(ratio.value):
        return "-"
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _diverged(verdict: Verdict) -> str:
    """Counts alone, but that one arm lost with every seed is a verdict."""
    arm, full, num = verdict.arm, verdict.reference, verdict.num_seeds
    of_arm = sum(pair.arm.diverged for pair in verdict.pairs)
    of_full = sum(pair.full.diverged for pair in verdict.pairs)
    if of_arm == of_full == num:
        return (
            f"{arm} and {full} both diverged in {num} of {num} seeds: there is nothing to compare. {_ADVICE}"
        )
    first, second = (arm, full) if of_arm >= of_full else (full, arm)
    most, fewest = max(of_arm, of_full), min(of_arm, of_full)
    counted = f"{first} diverged in {most} of {num} seeds, {second} in {fewest or 'none'}"
    compared = [pair for pair in verdict.pairs if not pair.diverged]
    if not compared:
        return f"{counted}: there is nothing to compare. {_ADVICE}"
    if verdict.ended is not None:
        return f"{counted}, and {first} ended higher with each of the others ({_ends(verdict)}). {_ADVICE}"
    higher = sum(pair.higher > 0 for pair in compared)
    return (
        f"{counted}; with the {_others(len(compared))}, {arm} took {verdict.steps.value:.2f} of the steps for the same loss, "
        f"and ended higher in {higher}. That is no verdict. {_ADVICE}"
    )


_ADVICE = "Try a lower learning rate, or --tune."


def _others(num: int) -> str:
    return f"other {num}" if num > 1 else "other one"


def _missed(verdict: Verdict) -> str:
    missed = verdict.num_seeds - verdict.num_reached
    return f"it missed {verdict.reference}'s {_final(verdict)} loss in {missed} of them"


def learned_sentence(guess: float, learned: Mapping[str, int], num_seeds: int) -> str:
    """How many seeds of each arm learned, where that differs: a share of steps hardly shows it."""
    counted = ", ".join(f"{name} {num}/{num_seeds}" for name, num in learned.items())
    return (
        f"Seeds that beat a frequency baseline (loss {guess:.3g}): {counted}. "
        "Ratios of steps hardly show that: they end at the lowest loss that both runs of a seed reached."
    )


def _final(verdict: Verdict) -> str:
    """What a lowest loss may be called: the final one, unless a run of full attention ended well above it."""
    return "lowest" if any(pair.full.rose for pair in verdict.pairs) else "final"


def _ends(verdict: Verdict) -> str:
    """Mean losses of arm and full attention over the seeds in which neither diverged."""
    pairs = [pair for pair in verdict.pairs if not pair.diverged]
    last = f"{_mean(pair.arm.last_look for pair in pairs)} against {_mean(pair.full.last_look for pair in pairs)}"
    if not any(pair.full.rose or pair.arm.rose for pair in pairs):
        return f"final loss {last} on average"
    lowest = f"{_mean(pair.arm.lowest_look for pair in pairs)} against {_mean(pair.full.lowest_look for pair in pairs)}"
    return f"lowest loss {lowest}, final {last} on average"


def _mean(losses: Iterable[float]) -> str:
    return f"{fmean(losses):.4g}"


def _factor(seen: float | None) -> str:
    """Rounded up: less is not promised."""
    assert seen is not None
    return f"{max(1.05, math.ceil(seen * 20) / 20):.3g}"


def _seeds(verdict: Verdict) -> str:
    ratios = sorted(pair.ratio for pair in verdict.pairs)
    return " ".join(f"{ratio:.2f}" for ratio in ratios)
