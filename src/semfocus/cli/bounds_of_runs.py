"""The bounds with numbers that were measured in runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from semfocus.measurements.interior import is_along
from semfocus.runs.arms import kept_with_globals

Row = Mapping[str, Any]


def stored_rows(directory: Any, data: str, epoch: int | None) -> list[Row]:
    """Whole measurements of one epoch on this data, without the few quantities along training."""
    stored = [row for row in directory.kept("inside") if not is_along(row)]
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
    """One measurement that has all of these patterns (None: the run's own): that of the most sequences, then
    the latest.
    """
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
        what = (
            f"several: {', '.join(wanted)} (choose with --k)"
            if wanted
            else f"none{f' with k = {k}' if k else ''}"
        )
        raise ValueError(
            f"one run needs one top_k pattern applied to its scores, got {what}; run `semfocus probe {run} --patterns 'top_k(5)'`, or name a second run"
        )
    return wanted[0]


def compare_runs(
    names: Sequence[str], k: int | None, data: str, epoch: int | None, store: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """(for --json, lines to print); `epoch`: which of those that were probed, the last if None."""
    from semfocus.cli.options import existing_store
    from semfocus.report.bounds_rows import comparison_of_rows
    from semfocus.runs import open_store
    from semfocus.runs.arms import kept_with_globals, num_globals

    if len(names) > 2:
        raise ValueError(f"one or two runs can be compared, got {len(names)}")
    opened = open_store(store) if all(Path(name).is_dir() for name in names) else existing_store(store)
    directories = [opened.find(name) for name in names]
    specs = [directory.spec() for directory in directories]
    first = str(specs[0]["pattern"])
    if first.partition("+")[0] != "full":
        raise ValueError(f"the first run must have full attention, got {first}")
    if len(directories) == 2:
        pattern = _second(specs, k)
        own, topk = (measured(each, data, epoch, (None,)) for each in directories)
    else:
        pattern = counterfactual_top_k(stored_rows(directories[0], data, epoch), k, directories[0].name)
        both = measured(directories[0], data, epoch, (None, pattern))
        own, topk = of_pattern(both, None), of_pattern(both, pattern)
    kept = kept_with_globals(pattern)
    assert kept is not None
    found = comparison_of_rows(own, topk, kept, _length(specs[0]) + num_globals(first))
    epochs, samples = ([side[0][name] for side in (own, topk)] for name in ("epoch", "samples"))
    title = (
        f"{' against '.join(each.name for each in directories)}: full against {pattern}, {data} data, "
        f"epochs {epochs[0]} and {epochs[1]}, {' and '.join(map(str, dict.fromkeys(samples)))} sequences"
    )
    answer = {
        "runs": [each.name for each in directories],
        "pattern": pattern,
        "data": data,
        "epochs": epochs,
        "samples": samples,
        "places": found,
    }
    unlike = ["note: extremes over more sequences are farther out: probe both runs with equal --samples"]
    return answer, [title, *(unlike if samples[0] != samples[1] else []), *_lines(found)]


def _length(spec: Mapping[str, Any]) -> int:
    """Of a range the longest."""
    length = spec["training"]["length"]
    return int(length if isinstance(length, int) else max(length))


def _second(specs: Sequence[Mapping[str, Any]], k: int | None) -> str:
    """The pattern of the second run, if it can be held against the first."""
    from semfocus.runs.arms import kept_with_globals, num_globals

    pattern = str(specs[1]["pattern"])
    if kept_with_globals(pattern) is None:
        raise ValueError(f"the second side must be top_k(K), got {pattern}")
    if k is not None and not pattern.startswith(f"top_k({k})"):
        raise ValueError(f"the second run has {pattern}, not k = {k}")
    said = [
        f"{spec.get('task')} of length {spec['training']['length']} with {num_globals(str(spec['pattern']))} global tokens"
        for spec in specs
    ]
    if said[0] != said[1]:
        raise ValueError(f"only runs on the same sequences can be compared, got {said[0]} and {said[1]}")
    return pattern


def _lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    from semfocus.report.bounds_text import comparison_lines, in_words
    from semfocus.report.probed_runs import slot_text

    lines = []
    num_heads = len({place["head"] for place in found if place["head"] is not None})
    for place in found:
        slot = slot_text((place["layer"], place["head"]), num_heads)
        name = "all layers" if slot == "all" else f"layer {slot}"
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
