"""tuned: every arm at its own best learning rate, chosen on other seeds than those reported."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from semfocus.recipes.arms import FEW_ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import DEVELOPMENT_SEEDS, PAPER_SEEDS
from semfocus.runs.record import Record
from semfocus.studies import put

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
    """Second stage, the report: every arm at the rate that needed the fewest epochs, on the paper's seeds.

    A run that never reached the target counts as one epoch more than the limit; ties go to the higher
    mean training accuracy, then to the lower rate.
    """
    trials: dict[tuple[str, str, float], dict[float, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        spec = record["spec"]
        arm = (spec["task"], spec["pattern"], spec["model"]["inverse_temperature"])
        trials[arm][spec["training"]["learning_rate"]].append(record)
    best = [min(rates.items(), key=_rank)[1][0]["spec"] for rates in trials.values()]
    return [_at_seed(spec, seed) for seed in PAPER_SEEDS for spec in best]


def _rank(trial: tuple[float, list[Record]]) -> tuple[float, float, float]:
    rate, records = trial
    accuracies = [record["summary"].get("last_train_accuracy", 0.0) for record in records]
    return fmean(_epochs(record) for record in records), -fmean(accuracies), rate


def _epochs(record: Record) -> float:
    reached = record["summary"].get("epochs_to_target")
    return record["spec"]["training"]["epochs"] + 1 if reached is None else reached


def _at_seed(spec: dict[str, Any], seed: int) -> RunSpec:
    values = dict(spec)
    put(values, ["seed"], seed)
    return RunSpec(**values)
