"""What a trial decides: one line, and how many seeds more it would take where it decides nothing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from semfocus.analysis.statistics.power import power
from semfocus.trial.verdict import Looks, Verdict, can_show, seeds_needed, steps_alpha
from semfocus.trial.wording import interval
from semfocus.words import count_of, duration

#: a gain that would be worth a change; less is not looked for
FACTOR = 1.3
_MOST_SEEDS = 20
#: how often a factor must be seen for a number of seeds to be called enough, and too few to go on
_ENOUGH, _FUTILE = 0.8, 0.2

DecisionKind = Literal["switch", "keep", "undecided"]


@dataclass(frozen=True)
class Decision:
    """`switch` to `arm`, `keep` full attention, or `undecided`; `text` is the line."""

    kind: DecisionKind
    text: str
    arm: str | None = None


def decide(
    verdicts: Sequence[Verdict], seconds_per_seed: float, looks: Looks, warnings: Sequence[str] = ()
) -> Decision:
    """Of all patterns, which are judged together: the fastest that is faster, else whether none can be.

    seconds_per_seed: the training of all arms with one seed, at the pace of this trial.
    """
    if warnings:
        return Decision("undecided", f"Undecided: {warnings[0][:1].lower()}{warnings[0][1:]}")
    gains = [each for each in verdicts if each.finding in ("faster", "better")]
    if gains:
        best = min(gains, key=lambda each: (each.finding != "faster", each.steps.value))
        return Decision("switch", _switch(best), best.arm)
    left = [each for each in verdicts if each.finding in ("no evidence", "too few seeds")]
    open_ones = [each for each in left if not excludes(each)]
    if open_ones:
        return Decision("undecided", _undecided(open_ones, len(verdicts), seconds_per_seed, looks))
    return Decision("keep", _keep(verdicts, bool(left)))


def excludes(verdict: Verdict) -> bool:
    """Whether so many steps fewer, or more, are out of question."""
    low = verdict.steps.low
    return low is not None and low > 1 / FACTOR


def is_futile(verdicts: Sequence[Verdict], num_seeds: int, looks: Looks) -> bool:
    """Whether so many seeds would hardly show any of these patterns to be faster by the factor."""
    alpha = steps_alpha(num_seeds, len(verdicts), looks)
    return all(power(num_seeds, math.log(FACTOR), each.spread, alpha) < _FUTILE for each in verdicts)


def _switch(best: Verdict) -> str:
    if best.finding == "better":
        return f"Use {best.arm}: it ended lower than {best.reference} with each of {best.num_seeds} seeds."
    line = (
        f"Use {best.arm}: it took {interval(best.steps)} of the steps of {best.reference} for the same loss."
    )
    if math.isfinite(best.seconds.value) and best.seconds.value >= 1:
        line += f" In time it gained nothing here: {interval(best.seconds)} of the seconds."
    return line


_WORDS: Mapping[str, str] = {
    "slower": "is slower",
    "worse": "ends higher",
    "mixed": "is faster at first or at last, and not both",
    "diverged": "diverged",
    "no evidence": "is not faster",
}


def _keep(verdicts: Sequence[Verdict], is_excluded: bool) -> str:
    found = ", ".join(f"{each.arm} {_WORDS[each.finding]}" for each in verdicts)
    return f"Keep full attention: {found}" + (
        f"; a factor of {FACTOR:g} is excluded." if is_excluded else "."
    )


def _undecided(verdicts: Sequence[Verdict], num_arms: int, seconds_per_seed: float, looks: Looks) -> str:
    num = verdicts[0].num_seeds
    if not can_show(num, num_arms, looks):
        needed = seeds_needed(num_arms, looks)
        return f"Undecided: {count_of(num, 'seed')} cannot show a difference: rerun with --seeds {needed}."
    enough = next(
        (more for more in range(num + 1, _MOST_SEEDS + 1) if _are_enough(verdicts, num_arms, more)), None
    )
    if enough is None:
        return (
            f"Undecided: these runs scatter so much that even {_MOST_SEEDS} seeds would hardly show a factor of {FACTOR:g}: "
            "train longer, hold out more rows, or keep full attention."
        )
    time = f", about {duration((enough - num) * seconds_per_seed)} of training," if seconds_per_seed else ""
    return (
        f"Undecided: {count_of(enough - num, 'seed')} more{time} "
        f"would show a factor of {FACTOR:g}: rerun with --seeds {enough}."
    )


def _are_enough(verdicts: Sequence[Verdict], num_arms: int, num_seeds: int) -> bool:
    alpha = steps_alpha(num_seeds, num_arms)
    return all(power(num_seeds, math.log(FACTOR), each.spread, alpha) >= _ENOUGH for each in verdicts)
