"""Which of the measurements that a run has stored `semfocus bounds` looks at."""

from collections.abc import Mapping, Sequence
from typing import Any

from semfocus.report.inside import is_along
from semfocus.studies.kept_keys import kept_with_globals

Row = Mapping[str, Any]


def stored_rows(directory: Any, data: str, epoch: int | None) -> list[Row]:
    """Whole measurements of one epoch on this data, without the few quantities along training."""
    stored = [row for row in directory.probes() if not is_along(row)]
    if not stored:
        raise ValueError(f"run {directory.name} has no probes: run `semfocus probe {directory.name}` first")
    known = sorted({row["data"] for row in stored})
    if data not in known:
        raise ValueError(f"run {directory.name} has probes of {', '.join(known)} data, not of {data!r}")
    epochs = sorted({row["epoch"] for row in stored if row["data"] == data})
    if epoch is not None and epoch not in epochs:
        listed = ", ".join(map(str, epochs))
        raise ValueError(f"run {directory.name} was probed after epoch {listed}, not after {epoch}")
    wanted = epochs[-1] if epoch is None else epoch
    return [row for row in stored if row["data"] == data and row["epoch"] == wanted]


def measured(directory: Any, data: str, epoch: int | None, patterns: Sequence[str | None]) -> list[Row]:
    """One measurement that has all of these patterns (None: the run's own): that of the most sequences, then the latest."""
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in stored_rows(directory, data, epoch):
        groups.setdefault((row["samples"], str(row.get("quantities"))), []).append(row)
    whole = [rows for rows in groups.values() if all(of_pattern(rows, pattern) for pattern in patterns)]
    if not whole:
        raise ValueError(
            f"run {directory.name} has no measurement of {', '.join(each or 'its own' for each in patterns)} scores together: probe it again"
        )
    best = max(rows[0]["samples"] for rows in whole)
    chosen = [rows for rows in whole if rows[0]["samples"] == best][-1]
    return chosen if len(patterns) > 1 else of_pattern(chosen, patterns[0])


def of_pattern(rows: Sequence[Row], pattern: str | None) -> list[Row]:
    if pattern is None:
        return [row for row in rows if not row["counterfactual"]]
    return [row for row in rows if row["counterfactual"] and row["pattern"] == pattern]


def counterfactual_top_k(rows: Sequence[Row], k: int | None, run: str) -> str:
    """The one top-k pattern that was applied to the scores of a run with full attention."""
    there = sorted(
        {row["pattern"] for row in rows if row["counterfactual"] and kept_with_globals(row["pattern"])}
    )
    wanted = [each for each in there if k is None or each.startswith(f"top_k({k})")]
    if len(wanted) != 1:
        what = f"several: {', '.join(wanted)} (say --k)" if wanted else f"none{f' with k = {k}' if k else ''}"
        raise ValueError(
            f"one run needs one top_k pattern applied to its scores, got {what}; run `semfocus probe {run} --patterns 'top_k(5)'`, or name a second run"
        )
    return wanted[0]
