"""The table of one task: every arm in a row, in words that the page and the Markdown text share."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from semfocus.report.wording import (
    UNKNOWN,
    estimate_text,
    p_text,
    percent,
    significant,
    speedup_text,
)

if TYPE_CHECKING:
    from semfocus.studies.analysis import ArmSummary, TaskSummary
    from semfocus.studies.statistics.speedup import Speedup, Time


@dataclass(frozen=True)
class Cell:
    """What a cell says, and in smaller letters what stands behind it."""

    text: str
    note: str = ""


@dataclass(frozen=True)
class ArmRow:
    """One arm: its name, its group, and a cell for each column."""

    label: str
    group: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class TaskTable:
    """Column titles after the arm's name, and rows."""

    columns: Sequence[str]
    rows: Sequence[ArmRow]


def task_table(summary: "TaskSummary") -> TaskTable:
    """Epochs, speedup, certainty, seconds, generalisation; all seeds shown."""
    target = percent(summary.target)
    columns = [
        f"epochs to {target} training accuracy",
        "speedup over full",
        "seeds that got there",
        "seconds to target",
        "epochs to held-out target",
        "last held-out accuracy",
        "train − held-out",
    ]
    return TaskTable(columns, [ArmRow(arm.label, arm.group, _cells(arm)) for arm in summary.arms])


def _cells(arm: "ArmSummary") -> list[Cell]:
    beyond = max((time.value for time in arm.times.values() if not time.reached), default=None)
    return [
        Cell(estimate_text(arm.epochs_to_target, beyond), _each_seed(arm)),
        _speedup_cell(arm),
        Cell(f"{arm.reached} of {arm.total}", f"100%: {_share(arm.share_perfect, arm.total)}"),
        Cell(_value(arm.seconds_to_target.value), _in_short(arm.seconds_speedup)),
        Cell(estimate_text(arm.epochs_to_held_out), _in_short(arm.held_out_speedup)),
        _accuracy_cell(arm.last_held_out),
        Cell(_points(arm.gap), ""),
    ]


def _speedup_cell(arm: "ArmSummary") -> Cell:
    if arm.speedup is None:
        return Cell("1×" if arm.group == "baseline" else UNKNOWN, "the baseline" if arm.group == "baseline" else "")
    return Cell(speedup_text(arm.speedup), certainty(arm))


def certainty(arm: "ArmSummary") -> str:
    """`p 0.062 (Holm 0.31); 5 pairs allow no p below 0.062`."""
    if arm.p is None or arm.speedup is None:
        return ""
    corrected = "" if arm.p_holm is None else f" (Holm {p_text(arm.p_holm)})"
    least = "" if arm.smallest_p is None else f"; at best {p_text(arm.smallest_p)}"
    return f"p {p_text(arm.p)}{corrected}{least}"


def _each_seed(arm: "ArmSummary") -> str:
    return " ".join(_time(arm.times[seed]) for seed in sorted(arm.times))


def _time(time: "Time") -> str:
    return significant(time.value, 4) if time.reached else f">{significant(time.value, 4)}"


def _in_short(speedup: "Speedup | None") -> str:
    return "" if speedup is None or speedup.ratio is None else f"speedup {speedup_text(speedup)}"


def _value(value: float | None) -> str:
    return UNKNOWN if value is None else significant(value, 3)


def _share(share: float | None, total: int) -> str:
    return UNKNOWN if share is None else f"{round(share * total)} of {total}"


def _accuracy_cell(values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    if not known:
        return Cell(UNKNOWN)
    return Cell(percent(median(known)), " ".join(percent(value).removesuffix("%") for value in known))


def _points(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{100 * median(known):+.1f} points".replace("-", "−") if known else UNKNOWN
