"""The table of dispersion, separation and key load with every verdict on the bounds, for each task."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from semfocus.analysis.why.measured_runs import MeasuredRun, MeasuredTask, When
from semfocus.runs.arms import top_k_of
from semfocus.theory import PUBLISHED_K, PUBLISHED_TABLE, compare

QUANTILES = (75, 90, 95, 100)
OWN, SAME_SCORES, PUBLISHED = "own models", "same scores", "published"


@dataclass(frozen=True)
class TableRow:
    """One task from one source; `columns` are those of `theory.compare`, or `problem` says why there are none."""

    task: str
    source: str
    k: int
    length: int
    num_seeds: int
    columns: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""


def dispersion_table(tasks: Sequence[MeasuredTask], when: When = "end") -> list[TableRow]:
    """For each task: top-k's own models, top-k on the scores of full attention, and the published numbers if
    there are any.

    Quantiles are medians over seeds, but the largest and the smallest values are those over all seeds: only
    they are suprema. Own models: the two sides are two models, as in the paper; same scores: one model, so
    only the pattern differs.
    """
    found = []
    for each in tasks:
        k = kept_of(each)
        full, topk = list(each.of("full").values()), list(each.of(f"top_k({k})").values())
        if k is None or not full:
            continue
        found.append(_row(each.task, OWN, k, full, topk, None, when))
        found.append(_row(each.task, SAME_SCORES, k, full, full, f"top_k({k})", when))
        if k == PUBLISHED_K and when == "end":
            found += _published(each.task)
    return [row for row in found if row.columns or row.problem]


def kept_of(task: MeasuredTask) -> int | None:
    """The number of kept keys of the published table if it was run, else the smallest."""
    there = sorted(k for label in task.labels if (k := top_k_of(label)) is not None)
    return PUBLISHED_K if PUBLISHED_K in there else min(there, default=None)


def _row(
    task: str,
    source: str,
    k: int,
    full: Sequence[MeasuredRun],
    topk: Sequence[MeasuredRun],
    pattern: str | None,
    when: When,
) -> TableRow:
    length = full[0].length
    full_stats = {"dispersion": _over_seeds(full, "dispersion", when, None, QUANTILES)}
    topk_stats = {
        "dispersion": _over_seeds(topk, "dispersion", when, pattern, QUANTILES),
        "separation": _over_seeds(topk, "separation", when, pattern, [100 - each for each in QUANTILES]),
        "key_load": _over_seeds(topk, "key_load", when, pattern, QUANTILES),
    }
    num = sum(run.row("dispersion", when, pattern) is not None for run in topk)
    if not num or not full_stats["dispersion"]:
        return TableRow(task, source, k, length, 0)
    try:
        compared = compare(full_stats, topk_stats, k, length, QUANTILES)
    except ValueError as error:  # scores that are all the same, say
        return TableRow(task, source, k, length, num, problem=str(error))
    return TableRow(task, source, k, length, num, compared["columns"])


def _over_seeds(
    runs: Sequence[MeasuredRun], quantity: str, when: When, pattern: str | None, quantiles: Iterable[int]
) -> dict[int, float]:
    found: dict[int, float] = {}
    for quantile in quantiles:
        values = [run.value(quantity, when, str(quantile), pattern) for run in runs]
        known = [value for value in values if value is not None and not math.isnan(value)]
        if known:
            found[quantile] = (max if quantile == 100 else min if quantile == 0 else median)(known)
    return found


def _published(task: str) -> list[TableRow]:
    cells = [cell for cell in PUBLISHED_TABLE if cell.task == task]
    if not cells:
        return []
    numbers: Mapping[str, dict[int, float]] = {
        "full": {cell.quantile: cell.dispersion_full for cell in cells},
        "dispersion": {cell.quantile: cell.dispersion_topk for cell in cells},
        "separation": {100 - cell.quantile: cell.separation for cell in cells},
        "key_load": {cell.quantile: cell.beta for cell in cells},
    }
    compared = compare(
        {"dispersion": numbers["full"]},
        {key: numbers[key] for key in ("dispersion", "separation", "key_load")},
        PUBLISHED_K,
        cells[0].length,
        QUANTILES,
    )
    return [TableRow(task, PUBLISHED, PUBLISHED_K, cells[0].length, 0, compared["columns"])]


def num_passing(rows: Sequence[TableRow], layer: str, name: str) -> tuple[int, int]:
    """(cells whose verdict is that top-k has the smaller constant, cells): `published` w or x, `maxform` w,
    `exact` a or b.
    """
    verdicts = [column[layer][name] for row in rows for column in row.columns]
    return sum(bool(each) for each in verdicts), len(verdicts)
