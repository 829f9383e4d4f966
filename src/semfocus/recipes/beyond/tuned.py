"""tuned: every arm at its own best learning rates, chosen on other seeds than those reported."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from semfocus.recipes.arms import ABLATION_ARMS, FEW_ARMS, compare
from semfocus.recipes.beyond import causes, small
from semfocus.recipes.variant import Variant
from semfocus.runs import RunSpec
from semfocus.runs.arms import arm_of, flat
from semfocus.runs.paper_settings import DEVELOPMENT_SEEDS, PAPER_SEEDS
from semfocus.runs.record import Record
from semfocus.studies import put
from semfocus.studies.selection import with_settings

QUESTION = "Is it only the learning rate? Each attention at its own best one"
FIGURE = "ours: robustness"
#: what belongs to the arm here: the reported runs of two arms differ in it and are compared all the same
OWN_SETTINGS = ("training.learning_rate",)

TASKS = ("even_pairs", "missing_duplicate")
RATES = [0.03, 0.05, 0.1, 0.2, 0.4, 0.8]


def specs() -> list[RunSpec]:
    """First stage, the search: every learning rate on the development seeds."""
    return [
        spec
        for task in TASKS
        for spec in compare({"task": task}, FEW_ARMS, DEVELOPMENT_SEEDS, training__learning_rate=RATES)
    ]


def next_stage(records: Sequence[Record]) -> list[RunSpec]:
    """Second stage, the report: every arm at the rate that needed the fewest epochs, on the paper's seeds."""
    return best_of(records, OWN_SETTINGS, PAPER_SEEDS)


def best_of(records: Sequence[Record], own: Sequence[str], seeds: Sequence[int]) -> list[RunSpec]:
    """Every arm of every task at the values of these settings that needed the fewest epochs, on these seeds.

    A run that never reached the target counts as one epoch more than the limit; ties go to the higher
    mean training accuracy, then to the lower values.
    """
    trials: dict[tuple[str, str], dict[tuple[float, ...], list[Record]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in records:
        values = flat(record["spec"])
        arm = values["task"], arm_of(record["spec"]).label
        trials[arm][tuple(values[key] for key in own)].append(record)
    best = [min(tried.items(), key=_rank)[1][0]["spec"] for tried in trials.values()]
    return [_at_seed(spec, seed) for seed in seeds for spec in best]


def _rank(trial: tuple[tuple[float, ...], list[Record]]) -> tuple[float, float, tuple[float, ...]]:
    values, records = trial
    accuracies = [record["summary"].get("last_train_accuracy", 0.0) for record in records]
    return fmean(_epochs(record) for record in records), -fmean(accuracies), values


def _epochs(record: Record) -> float:
    reached = record["summary"].get("epochs_to_target")
    return record["spec"]["training"]["epochs"] + 1 if reached is None else reached


def _at_seed(spec: dict[str, Any], seed: int) -> RunSpec:
    values = dict(spec)
    put(values, ["seed"], seed)
    return RunSpec(**values)


#: of queries and keys, times that of all other weights
RATIOS = (1, 4, 16)
SMALL_RATES = {"sgd": (0.05, 0.1, 0.2, 0.4), "adam": (0.001, 0.003, 0.01, 0.03)}
#: the others are slowed down rather than queries and keys sped up: "q/k rate" would be another arm
_OTHERS = tuple(
    f"training.learning_rate_scale.{group}" for group in ("embedding", "value_out", "mlp", "readout")
)
OWN_SMALL = ("training.learning_rate", *_OTHERS)


def _small_specs(optimiser: str) -> list[RunSpec]:
    """At the setting of `small`: every rate with every ratio, on two development seeds."""
    every = []
    for task in causes.PAPER_TASKS:
        plain = compare({"task": task, **small.SETTING}, ABLATION_ARMS, DEVELOPMENT_SEEDS[:2])
        for rate in SMALL_RATES[optimiser]:
            for ratio in RATIOS:
                own = {"training.optimiser": optimiser, "training.learning_rate": rate * ratio}
                every += with_settings(plain, own | dict.fromkeys(_OTHERS, 1 / ratio))
    return every


def _small_next_stage(records: Sequence[Record]) -> list[RunSpec]:
    return best_of(records, OWN_SMALL, causes.SEEDS)


def _small(optimiser: str, figure: str) -> Variant:
    return Variant(
        "Is it only the learning rate? Each attention at its own best, of queries and keys and of the rest",
        figure,
        lambda: _small_specs(optimiser),
        CONTRASTS=[("top_k(5)", "full"), ("full x4", "full"), ("full x4", "top_k(5)")],
        next_stage=_small_next_stage,
        OWN_SETTINGS=OWN_SMALL,
    )


SMALL = _small("sgd", "ours: robustness, scaled down")
SMALL_ADAM = _small("adam", "ours: robustness with Adam, scaled down")
