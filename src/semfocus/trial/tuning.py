"""Each arm at its own best learning rate, chosen on seeds that the trial itself does not use."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from semfocus.trial.result import Record, curve_of
from semfocus.trial.spec import Arm, TrialRunSpec

GRID = (1 / 3, 1.0, 3.0)
#: far from those of any trial
TUNING_SEEDS = (1000, 1001)


def tuned(
    arms: Sequence[Arm],
    rate: float,
    spec_of: Callable[[Arm, int, float], TrialRunSpec],
    records: Callable[[Sequence[TrialRunSpec]], list[Record]],
) -> dict[Arm, float]:
    """The rate with the lowest mean final loss for each arm; one at which a run diverges is never it."""
    rates = [rate * factor for factor in GRID]
    specs = {
        (arm, each): [spec_of(arm, seed, each) for seed in TUNING_SEEDS] for arm in arms for each in rates
    }
    every = [spec for group in specs.values() for spec in group]
    found = dict(zip((spec.digest for spec in every), records(every), strict=True))
    finals = {place: _mean_final([found[spec.digest] for spec in group]) for place, group in specs.items()}
    for arm in arms:
        if all(math.isinf(finals[arm, each]) for each in rates):
            raise ValueError(
                f"{arm.label} diverges at every learning rate of {', '.join(f'{each:.2g}' for each in rates)}"
            )
    return {arm: min(rates, key=lambda each: finals[arm, each]) for arm in arms}


def _mean_final(records: list[Record]) -> float:
    return fmean(curve_of(record).final for record in records)
