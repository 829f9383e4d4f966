"""semfocus bounds RUN_FULL RUN_TOPK: the comparison for probe rows that runs have stored."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_TOP_K = re.compile(r"top_k\((\d+)\)(\+G\d+)?\Z")
Row = Mapping[str, Any]


def compare_runs(
    names: Sequence[str], k: int | None, data: str, store: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """(for --json, lines to print)"""
    from semfocus.cli.options import existing_store
    from semfocus.report.bounds_rows import comparison_of_rows
    from semfocus.runs import open_store

    if len(names) > 2:
        raise ValueError(f"one or two runs can be compared, got {len(names)}")
    opened = open_store(store) if all(Path(name).is_dir() for name in names) else existing_store(store)
    directories = [opened.find(name) for name in names]
    rows = [_stored_rows(directory, data) for directory in directories]
    own = [row for row in rows[0] if not row["counterfactual"]]
    if len(directories) == 2:
        pattern = str(directories[1].spec()["pattern"])
        topk = [row for row in rows[1] if not row["counterfactual"]]
    else:
        pattern, topk = _counterfactual(rows[0], k, directories[0].name)
    matched = _TOP_K.match(pattern)
    if matched is None:
        raise ValueError(f"the second side must be top_k(K), got {pattern}")
    first = str(directories[0].spec()["pattern"])
    if first.partition("+")[0] != "full":
        raise ValueError(f"the first run must have full attention, got {first}")
    length = directories[0].spec()["training"]["length"]
    keys = int(length if isinstance(length, int) else max(length))
    found = comparison_of_rows(own, topk, int(matched[1]), keys)
    epochs = [rows_of[0]["epoch"] for rows_of in (own, topk)]
    title = f"{' against '.join(each.name for each in directories)}: full against {pattern}, {data} data, epochs {epochs[0]} and {epochs[1]}"
    answer = {
        "runs": [each.name for each in directories],
        "pattern": pattern,
        "data": data,
        "epochs": epochs,
        "places": found,
    }
    return answer, [title, *_lines(found)]


def _stored_rows(directory: Any, data: str) -> list[Row]:
    """Of the last epoch that was probed on this data."""
    stored = directory.probes()
    if not stored:
        raise ValueError(f"run {directory.name} has no probes: run `semfocus probe {directory.name}` first")
    known = sorted({row["data"] for row in stored})
    if data not in known:
        raise ValueError(f"run {directory.name} has probes of {', '.join(known)} data, not of {data!r}")
    last = max(row["epoch"] for row in stored if row["data"] == data)
    return [row for row in stored if row["data"] == data and row["epoch"] == last]


def _counterfactual(rows: Sequence[Row], k: int | None, run: str) -> tuple[str, list[Row]]:
    """The rows of one top-k pattern applied to the scores of a run with full attention."""
    there = sorted({row["pattern"] for row in rows if row["counterfactual"] and _TOP_K.match(row["pattern"])})
    wanted = [each for each in there if k is None or each.startswith(f"top_k({k})")]
    if len(wanted) != 1:
        what = f"several: {', '.join(wanted)} (say --k)" if wanted else f"none{f' with k = {k}' if k else ''}"
        raise ValueError(
            f"one run needs one top_k pattern applied to its scores, got {what}; run `semfocus probe {run} --pattern 'top_k(5)'`, or name a second run"
        )
    return wanted[0], [row for row in rows if row["counterfactual"] and row["pattern"] == wanted[0]]


def _lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    from semfocus.report.bounds_text import comparison_lines, in_words

    lines = []
    for place in found:
        layer, head = place["layer"], place["head"]
        name = (
            "all layers" if layer is None else f"layer {layer}" + ("" if head is None else f", head {head}")
        )
        if "problem" in place:
            lines += ["", f"{name}: cannot be compared: {place['problem']}"]
            continue
        worst = place["columns"][-1]
        lines += ["", f"{name}, over all queries"]
        lines += [f"  {line}" for line in comparison_lines(worst, place["k"], place["length"])]
        lines += [f"  {line}" for line in in_words(worst)]
        lines += [_other(column) for column in place["columns"][:-1]]
    return lines


def _other(column: Mapping[str, Any]) -> str:
    published = column["published"]
    return (
        f"  at {column['quantile']} %: LHS_W {published['lhs_w']:.6f}, LHS_X {published['lhs_x']:.6f}, "
        f"max-form {column['maxform']['margin']:+.3f}, c1 {column['c1']:.3f} (of noise {column['null_c1']:.3f})"
    )
