"""Claims that the advantage of top_k does not hang on one setting."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import Claim, Ruling, decide
from semfocus.analysis.claims.convergence import HEAVY_HITTERS
from semfocus.analysis.claims.evidence import (
    HOW_COUNTED,
    NO_GAIN,
    RaceResult,
    arm_named,
    lines,
    race,
    trained,
)
from semfocus.analysis.overview import sweeps
from semfocus.analysis.verdict import FEWEST_PAIRS

if TYPE_CHECKING:
    from semfocus.analysis.contrasts import TaskSummary

FEWEST_VALUES = 3


def _every_value(races: Sequence[RaceResult], values: int) -> Ruling:
    """A gain everywhere, at enough values; one clear case without a gain is enough against."""
    counted = [each for each in races if each.enough]
    enough = values >= FEWEST_VALUES and len(counted) >= FEWEST_VALUES
    supported = enough and all(each.gain for each in counted)
    return decide(supported, enough and any(each.no_gain for each in counted), lines(races))


def _over(key: str) -> Callable[[Sequence["TaskSummary"]], Ruling]:
    def rule(summaries: Sequence["TaskSummary"]) -> Ruling:
        races, values = [], set()
        for sweep in sweeps(summaries):
            if sweep.key == key:
                for value, summary in sweep.steps:
                    found = _learnable_race(summary)
                    if found is not None:
                        races.append(found)
                        values |= {str(value)} if found.enough else set()
        return _every_value(races, len(values))

    return rule


def _with_adam(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = [
        result
        for summary in summaries
        if summary.comparison.setting.get("training.optimiser") == "adam"
        and (result := _learnable_race(summary)) is not None
    ]
    rates = {_rate(each.summary) for each in found if each.enough}
    return _every_value(found, len(rates))


def _rate(summary: "TaskSummary") -> object:
    first = next(record for records in summary.comparison.arms.values() for record in records)
    return first["spec"].get("training", {}).get("learning_rate")


def _learnable_race(summary: "TaskSummary") -> RaceResult | None:
    """The race, where at least one of the two learned its training data at all."""
    learned = trained(arm_named(summary, "full")) or trained(arm_named(summary, HEAVY_HITTERS))
    return race(summary, HEAVY_HITTERS) if learned else None


def _claim(name: str, what: str, recipe: str, rule: Callable[[Sequence["TaskSummary"]], Ruling]) -> Claim:
    return Claim(
        f"robust_to_{name}",
        f"The advantage of top_k is robust to {what}.",
        "Ram et al. 2025, robustness",
        recipe,
        f"At least {FEWEST_VALUES} values were compared, all else equal, with at least {FEWEST_PAIRS} pairs each, and top_k(5) gains over full at "
        "every one of them at which either reaches the training target on half of its seeds. " + HOW_COUNTED,
        f"With as many values and pairs, top_k(5) has no gain at one of them or more (interval below {NO_GAIN}).",
        rule,
    )


CLAIMS = (
    _claim(
        "activation", "the activation of the MLP (ReLU, GELU, Mish)", "activations", _over("model.activation")
    ),
    _claim("depth", "the number of blocks", "depth", _over("model.num_blocks")),
    _claim("heads", "the number of heads", "heads", _over("model.num_heads")),
    _claim("learning_rate", "the initial learning rate", "learning_rate", _over("training.learning_rate")),
    _claim("decay", "the decay of the learning rate", "decay", _over("training.learning_rate_decay")),
    _claim("optimiser", "the optimiser (Adam instead of SGD)", "adam", _with_adam),
)
