"""Does top-k see less dispersed scores, and is its bound the smaller one?"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from semfocus.analysis.why.dispersion_table import (
    OWN,
    PUBLISHED,
    SAME_SCORES,
    TableRow,
    dispersion_table,
    kept_of,
    num_passing,
)
from semfocus.analysis.why.measured_runs import MeasuredTask
from semfocus.analysis.why.ratio import left_over, less_than_of_noise
from semfocus.report.figures import FIGURES
from semfocus.report.palette import Ink
from semfocus.report.why.block import MISSING, Table, WhyBlock, shown
from semfocus.words import count_of, span

COLUMNS = [
    *("task", "source", "%", "δ full", "δ top-k", "Δ", "key load"),
    *("LHS W", "LHS X", "max-form", "exact A: top-k, full", "exact B: top-k, full", "c1", "c1 of noise"),
]
_LAYERS = (
    ("published", "w", "by the published bound"),
    ("maxform", "w", "by its sharper form"),
    ("exact", "a", "by exact constants, route A"),
    ("exact", "b", "by exact constants, route B"),
)


def block(tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink]) -> WhyBlock | None:
    """None if no task has both sides."""
    rows = dispersion_table(tasks, "end")
    measured = [row for row in rows if row.source != PUBLISHED and row.columns]
    if not measured:
        return None
    untrained = dispersion_table(tasks, "start")
    tables = [Table("The table: after training", COLUMNS, _cells(rows))]
    if untrained:
        tables.append(Table("The same for untrained models", COLUMNS, _cells(untrained)))
    return WhyBlock(
        "dispersion",
        "Does top-k attention see less dispersed scores, and is its bound on the Lipschitz constant the smaller one?",
        "Dispersion δ (highest minus lowest score that the softmax sees), separation Δ (lowest kept minus highest masked score) and key load, on held-out data, "
        "at four quantiles (of the separation the opposite ones). Left of 1 the published bound of top-k is below that of full attention. Own models: two trained "
        "models, as in the paper. Same scores: top-k put on the scores of the full model, so that nothing but the choice of keys differs. Over seeds: medians; at 100 % the extremes, which alone are suprema. "
        "All layers and heads together, as in the published table: idle layers have a part in its quantiles.",
        [FIGURES["dispersion"].of(rows)],
        [line for source in (OWN, SAME_SCORES) if (line := _line(source, measured))]
        + _ratios(tasks, measured),
        "These compare upper bounds with each other, not functions: with exact constants the advantage in W is impossible whenever the separation is below 2. "
        "A ratio of dispersions below 1 is also what noise gives, because the best few of many numbers lie closer together; only a ratio below that of noise would be learned. "
        "The c1 of noise is that of independent Gaussian scores of one size at the same quantile (at 100 % the largest of 10,000 queries); own models are two and may differ in size, so it decides nothing there.",
        tables,
    )


def _line(source: str, rows: Sequence[TableRow]) -> str:
    own = [row for row in rows if row.source == source]
    if not own:
        return ""
    counts = [(words, *num_passing(own, layer, name)) for layer, name, words in _LAYERS]
    said = ", ".join(f"{words} {passed}/{total}" for words, passed, total in counts)
    return f"{source.capitalize()}: pairs of task and quantile in which top-k has the smaller constant in W: {said}."


def _ratios(tasks: Sequence[MeasuredTask], rows: Sequence[TableRow]) -> list[str]:
    """c1 at 75 %; of one set of scores also query by query against noise, which needs no common size."""
    found = []
    for source in (OWN, SAME_SCORES):
        own = [row.columns[0] for row in rows if row.source == source]
        if own:
            said = f"{source.capitalize()}: the ratio of dispersions at 75 % is {_range([each['c1'] for each in own])}"
            nulls = _range([each["null_c1"] for each in own])
            by_query = _by_query(tasks) if source == SAME_SCORES else ""
            found.append(f"{said}; noise of one size has {nulls}{by_query}.")
    return found


def _by_query(tasks: Sequence[MeasuredTask]) -> str:
    own = [left for task in tasks if (k := kept_of(task)) and (left := left_over(task, f"top_k({k})", "end"))]
    if not own:
        return ""
    shares = _range([median(each.share for each in left.values()) for left in own])
    nulls = _range([median(each.null for each in left.values()) for left in own])
    less = sum(less_than_of_noise(left) for left in own)
    return (
        f". Query by query, top-k leaves {shares} of the dispersion (medians over seeds) and {nulls} of that of noise with the query's own mean and spread: "
        f"less than of noise on {less} of {count_of(len(own), 'task')}"
    )


def _range(values: Sequence[float]) -> str:
    return span(f"{min(values):.2f}", f"{max(values):.2f}")


def _cells(rows: Sequence[TableRow]) -> list[list[str]]:
    found = []
    for row in rows:
        where = row.source if row.source == PUBLISHED else f"{row.source}, {count_of(row.num_seeds, 'seed')}"
        if row.problem:
            found.append([row.task, where, MISSING, row.problem, *[MISSING] * (len(COLUMNS) - 4)])
        for column in row.columns:
            found.append([row.task, where, *_numbers(column)])
    return found


def _numbers(column: Mapping[str, Any]) -> list[str]:
    published, exact = column["published"], column["exact"]
    return [
        str(column["quantile"]),
        shown(column["dispersion_full"]),
        shown(column["dispersion_topk"]),
        shown(column["separation"], ".2g"),
        shown(column["beta"]),
        _marked(shown(published["lhs_w"]), published["w"]),
        _marked(shown(published["lhs_x"]), published["x"]),
        _marked(shown(column["maxform"]["margin"], "+.2f"), column["maxform"]["w"]),
        _marked(", ".join(shown(each) for each in exact["route_a"]), exact["a"]),
        _marked(", ".join(shown(each) for each in exact["route_b"]), exact["b"]),
        shown(column["c1"], ".2f"),
        shown(column["null_c1"], ".2f"),
    ]


def _marked(text: str, passes: bool | None) -> str:
    return text if passes is None else f"{text} {'holds' if passes else 'fails'}"
