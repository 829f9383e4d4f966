"""Claims that the advantage of top_k does not hang on one setting."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import RACE, Claim, Rule, Ruling, decide, paper_study
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, TOP_K
from semfocus.analysis.claims.evidence import (
    HOW_COUNTED,
    NO_GAIN,
    arm_named,
    counts,
    pooled,
    race,
    trained,
)
from semfocus.analysis.findings import Finding
from semfocus.analysis.overview import sweeps
from semfocus.analysis.verdict import FEWEST_PAIRS

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

FEWEST_VALUES = 3


def _every_value(by_value: Mapping[str, Sequence[Finding]]) -> Ruling:
    """A gain at every value, at enough of them; one value that clearly has none is enough against, so it is
    tested more strictly.
    """
    values = {value: pooled(races) for value, races in by_value.items()}
    counted = {value: found for value, found in values.items() if found.together is not None}
    enough = len(counted) >= FEWEST_VALUES
    strict = [pooled(by_value[value], len(counted)) for value in counted]
    numbers = [line for found in values.values() for line in found.numbers()]
    return decide(
        enough and all(found.gain for found in counted.values()),
        enough and any(found.no_gain or found.loss for found in strict),
        numbers,
    )


def _over(key: str) -> Rule:
    def rule(summaries: Sequence["TaskSummary"]) -> Ruling:
        families: dict[str, dict[str, list[Finding]]] = {}
        for sweep in sweeps(summaries):
            if sweep.key == key:
                for value, summary in sweep.steps:
                    found = _learnable_race(summary)
                    if found is not None:
                        family = families.setdefault(json.dumps(sweep.fixed, sort_keys=True), {})
                        family.setdefault(str(value), []).append(found)
        # all else equal: of several settings the one with the most values
        return _every_value(max(families.values(), key=_size, default={}))

    return rule


def _size(by_value: Mapping[str, Sequence[Finding]]) -> tuple[int, int]:
    counted = [each for races in by_value.values() for each in races if counts(each)]
    return sum(any(map(counts, races)) for races in by_value.values()), len(counted)


def _with_adam(summaries: Sequence["TaskSummary"]) -> Ruling:
    families: dict[str, dict[str, list[Finding]]] = {}
    for summary in summaries:
        setting, found = summary.comparison.setting, _learnable_race(summary)
        if setting.get("training.optimiser") == "adam" and found is not None:
            fixed = {key: value for key, value in setting.items() if key != "training.learning_rate"}
            family = families.setdefault(json.dumps(fixed, sort_keys=True), {})
            family.setdefault(str(_rate(summary)), []).append(found)
    return _every_value(max(families.values(), key=_size, default={}))


def _rate(summary: "TaskSummary") -> object:
    first = next(record for records in summary.comparison.arms.values() for record in records)
    return first["spec"].get("training", {}).get("learning_rate")


def _learnable_race(summary: "TaskSummary") -> Finding | None:
    """The race, where at least one of the two learned its training data at all."""
    learned = trained(arm_named(summary, "full")) or trained(arm_named(summary, HEAVY_HITTERS))
    return race(summary, HEAVY_HITTERS) if learned else None


def _claim(name: str, what: str, recipe: str, rule: Rule) -> Claim:
    return Claim(
        f"robust_to_{name}",
        f"The advantage of top_k is robust to {what}.",
        TOP_K,
        "Ram et al. 2025, robustness",
        paper_study(RACE, "", f"{recipe}_short"),
        f"At least {FEWEST_VALUES} values were compared, all else equal, with at least {FEWEST_PAIRS} pairs each, and top_k(5) gains over full at "
        f"every one of them at which either reaches the training target on half of its seeds. {HOW_COUNTED}",
        f"With as many values and pairs, top_k(5) has no gain at one of them or more (the interval below {NO_GAIN:g} or 1, corrected for "
        "the number of values).",
        rule,
        f'{recipe}_small --patterns "{RACE}" --stop-at 0.95',
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
