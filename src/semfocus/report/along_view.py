"""What was measured along training, beside accuracy: the lines of each quantity, and what its looks can tell."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from semfocus.probes.names import title_of
from semfocus.report.curves import Sampled, Values, epoch_grid, sample, with_quartiles
from semfocus.report.figures.lines import Line
from semfocus.report.probed_runs import Probed, ProbedRun, Row, slot_text, slots_of

#: the mean of these is the same in every model: what is drawn is the quantile that tells
_AT = {"received_mass": "95"}
#: of fewer layers than this there is no middle half
_FEW = 4
#: attention knows the tokens that decide from here on
_TIMES_CHANCE = 2.0


def along_lines(probed: Probed, labels: Sequence[str], part: str, target: float) -> list[Line]:
    """Accuracy, and beside it every quantity that was measured along training; `moment` is when a run learned."""
    there = {label: run for label, run in zip(labels, probed.runs, strict=True) if run.along}
    found = []
    for title, column in (
        ("Training accuracy", "train_accuracy"),
        ("Held-out accuracy", "held_out_accuracy"),
    ):
        grid = epoch_grid([run.record for run in there.values()])
        for label, run in there.items():
            sampled = sample([run.record], column, grid)
            found.append(Line(label, sampled, grid, _common(title, True), moment=_reached(run, target)))
    for name in dict.fromkeys(row["quantity"] for run in there.values() for row in run.along):
        unit = probed.quantities[name].unit if name in probed.quantities else ""
        title = title_of(name) + (f" ({unit})" if unit else "")
        for label, run in there.items():
            own = [row for row in run.along if (row["quantity"], row["data"]) == (name, part)]
            if own:
                epochs, sampled = _over_epochs(own, _AT.get(name, "mean"))
                nulls = _nulls(own) if name not in _AT else None
                moment = _reached(run, target)
                found.append(
                    Line(
                        label,
                        sampled,
                        epochs,
                        _common(title, False),
                        nulls if any(nulls or ()) else None,
                        moment,
                    )
                )
    return found


def _common(title: str, is_share: bool) -> dict[str, object]:
    return {"task": "", "panel": title, "is_share": is_share}


def along_sentences(probed: Probed, labels: Sequence[str], part: str, target: float) -> list[str]:
    """For each run: when it learned, when its attention knew the tokens that decide, and whether looks can tell."""
    return [
        f"{label}: {'; '.join([*_learned(run, target), *_focused(run, part)])}."
        for label, run in zip(labels, probed.runs, strict=True)
        if run.along
    ]


def _over_epochs(rows: Sequence[Row], at: str) -> tuple[list[int], Sampled]:
    """The mean (or a quantile) of every layer and head, epoch by epoch."""
    epochs = sorted({row["epoch"] for row in rows})
    by_epoch = {epoch: slots_of([row for row in rows if row["epoch"] == epoch]) for epoch in epochs}
    slots = dict.fromkeys(slot for found in by_epoch.values() for slot in found)
    lines: list[tuple[object, Values]] = [
        (slot_text(slot, 2), [_value(by_epoch[epoch].get(slot), at) for epoch in epochs]) for slot in slots
    ]
    found = with_quartiles(lines)
    if len(lines) >= _FEW:
        return epochs, found
    columns = [
        [value for value in column if value is not None]
        for column in zip(*(row for _, row in lines), strict=True)
    ]
    known = [place is not None for place in found.median]
    return epochs, replace(
        found,
        lower=[min(column) if is_known else None for column, is_known in zip(columns, known, strict=True)],
        upper=[max(column) if is_known else None for column, is_known in zip(columns, known, strict=True)],
    )


def _nulls(rows: Sequence[Row]) -> Values:
    """What noise or chance would give, the median over layers at each epoch."""
    found: Values = []
    for epoch in sorted({row["epoch"] for row in rows}):
        own = slots_of([row for row in rows if row["epoch"] == epoch]).values()
        nulls = [row["null"] for row in own if row.get("null") is not None]
        found.append(median(nulls) if nulls else None)
    return found


def _value(row: Row | None, at: str) -> float | None:
    if row is None:
        return None
    value: float | None = row["mean"] if at == "mean" else row["quantiles"].get(at)
    return value


def _reached(run: ProbedRun, accuracy: float) -> int | None:
    """The first epoch at that training accuracy."""
    curve = run.record.get("curve") or {}
    pairs = zip(curve.get("epoch", []), curve.get("train_accuracy", []), strict=False)
    return next((epoch for epoch, value in pairs if value is not None and value >= accuracy), None)


def _learned(run: ProbedRun, target: float) -> list[str]:
    """When training accuracy got to its target, and whether anything was measured while it rose."""
    curve = run.record.get("curve") or {}
    accuracies = [each for each in curve.get("train_accuracy", []) if each is not None]
    end = _reached(run, target)
    if not accuracies:
        return ["it has no training accuracy"]
    if end is None:
        return [f"training accuracy did not reach {target:.0%}"]
    start = _reached(run, (accuracies[0] + target) / 2)
    assert start is not None
    said = [f"training accuracy got half-way at epoch {start} and reached {target:.0%} at epoch {end}"]
    looks = sorted({row["epoch"] for row in run.along})
    if start > 0 and not any(start <= epoch < end for epoch in looks):
        every = max(1, (end - start) // 2)
        said.append(
            f"no look lies in between, so in which order things changed then is not known (--every {every} would look there)"
        )
    return said


def _focused(run: ProbedRun, part: str) -> list[str]:
    """The first look at which a layer has far more attention than chance on the tokens that decide."""
    rows = [row for row in run.along if (row["quantity"], row["data"]) == ("focus_mass", part)]
    known = [row for row in rows if row["layer"] is not None and row["mean"] is not None and row.get("null")]
    if not known:
        return []
    above = [row for row in known if row["mean"] >= _TIMES_CHANCE * row["null"]]
    if not above:
        return [f"no layer had {_TIMES_CHANCE:g} times as much attention as chance on the tokens that decide"]
    first = min(above, key=lambda row: row["epoch"])
    return [
        f"layer {first['layer'] + 1} had {first['mean'] / first['null']:.1f} times as much attention as chance on the "
        f"tokens that decide at epoch {first['epoch']}, the first look with {_TIMES_CHANCE:g} times or more"
    ]
