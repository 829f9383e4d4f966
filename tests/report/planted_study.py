"""A study with planted measurements whose quantiles differ from each other and from their mean."""

from typing import Any

from semfocus.analysis.overview import arm_groups
from semfocus.analysis.plans import Analysis
from semfocus.report.palette import inks
from semfocus.report.why import why_sections
from tests.analysis.why.planted import EPOCHS, TASKS, record, row

SEEDS = (1, 2, 3)
Rows = list[dict[str, Any]]
#: task -> dispersion of top_k(5) over full's at 75 % (own models, same scores), share left of it query by
#: query, speedup
PLANTED = {
    TASKS[0]: (1.1, 0.7, 0.3, 2),
    TASKS[1]: (0.4, 0.6, 0.5, 4),
    TASKS[2]: (0.45, 0.5, 0.6, 10),
    TASKS[3]: (0.35, 1.2, 0.7, 16),
}
#: arm -> epochs to target, effective keys, gradient norm of query and key weights
ARMS = {("full", 1.0): (80, 30.0, 1.0), ("full", 10.0): (20, 12.0, 4.0), ("banded(5)", 1.0): (90, 40.0, 0.5)}
#: k -> epochs to target where they are the same on every task, last held-out accuracy, effective keys
SIZES = {1: (10, 0.9, 3.0), 5: (0, 0.95, 9.0), 9: (60, 0.7, 5.0)}
#: median dispersion of top-k for each kept key: below that of full on two tasks, above on two
LESS = {TASKS[0]: 0.1, TASKS[1]: 0.1, TASKS[2]: 3.0, TASKS[3]: 3.0}
#: of sharper full attention
SHARPER = {TASKS[0]: 0.01, TASKS[1]: 0.01, TASKS[2]: 50.0, TASKS[3]: 50.0}


def uneven(middle: float, upper: float, mean: float | None = None) -> dict[str, Any]:
    """Quantiles and mean, no two of them the same."""
    low = {"0": middle / 16, "5": middle / 8, "10": middle / 4, "25": middle / 2, "50": middle}
    high = {"75": upper, "90": 1.5 * upper, "95": 2 * upper, "100": 3 * upper}
    return {"value": low | high, "mean": 0.77 * middle if mean is None else mean}


def both(quantity: str, spread: dict[str, Any], **more: Any) -> Rows:
    return [row(quantity, epoch=epoch, **spread, **more) for epoch in (0, EPOCHS)]


def full_rows(task: str, keys: float, gradient: float) -> Rows:
    _, same, share, _ = PLANTED[task]
    other = {"pattern": "top_k(5)", "counterfactual": True}
    place = list(PLANTED).index(task)
    return [
        *both("dispersion", uneven(1.0, 10.0)),
        *both("effective_keys", uneven(keys, 3 * keys)),
        *both("gradient_norm_query_key", uneven(gradient, 2 * gradient)),
        *both("dispersion", uneven(9.0, 10 * same), **other),
        *both("dispersion_ratio", uneven(0.41, 0.9, mean=share), null=0.4, **other),
        *both("separation", uneven(0.2, 0.4), **other),
        *both("key_load", uneven(1.2, 1.5), **other),
        *both("dispersion", uneven(1.0, 2.0 + place), layer=0, head=0),
        *both("score_norm", uneven(1.0, 7.0, mean=0.5), layer=0, head=0),
        *both("token_norm", uneven(2.0, 1.0), layer=0),
    ]


def top_k_rows(task: str, k: int) -> Rows:
    own, *_ = PLANTED[task]
    keys = SIZES[k][-1]
    return [
        *both("dispersion", uneven(k * LESS[task], 10 * own if k == 5 else 100.0)),
        *both("separation", uneven(1.0 / k, 3.0 / k)),
        *both("key_load", uneven(1.5, 2.0)),
        *both("mask_agreement_0.01", uneven(0.5, 0.6, mean=1 - k / 100)),
        *both("effective_keys", uneven(keys, 3 * keys)),
        *both("gradient_norm_query_key", uneven(20.0 / k, 40.0)),
    ]


def study(tasks: tuple[str, ...] = tuple(PLANTED)) -> Rows:
    records = []
    for task in tasks:
        for seed in SEEDS:
            for (pattern, temperature), (epochs, keys, gradient) in ARMS.items():
                rows = full_rows(task, keys, gradient)
                if (pattern, temperature) != ("full", 1.0):
                    rows = [each for each in rows if not each["counterfactual"] and each["layer"] is None]
                if temperature > 1:
                    rows = [each for each in rows if each["quantity"] != "dispersion"]
                    rows += both("dispersion", uneven(SHARPER[task], 60.0))
                records.append(record(task, pattern, seed, epochs, rows, temperature=temperature))
            for k, (epochs, accuracy, _) in SIZES.items():
                reached = 80 / PLANTED[task][-1] if k == 5 else epochs
                rows = top_k_rows(task, k)
                records.append(record(task, f"top_k({k})", seed, reached, rows, held_out=accuracy))
    return records


def blocks(records: Rows) -> list[Any]:
    analysis = Analysis.of(records)
    (why,) = why_sections(analysis, inks(arm_groups(analysis.summaries)))
    return why.blocks
