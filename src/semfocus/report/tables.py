"""The table of one task: every arm in a row, in words that the page and the Markdown text share."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from semfocus.report.wording import UNKNOWN, values_text
from semfocus.studies.tables import speedup_text, summary_rows
from semfocus.studies.times import longest_look
from semfocus.studies.wording import number, p_value, percent

if TYPE_CHECKING:
    from semfocus.studies.analysis import ArmSummary, TaskSummary
    from semfocus.studies.statistics import Speedup, Time


@dataclass(frozen=True)
class Cell:
    """What a cell says, and in smaller letters what stands behind it."""

    text: str
    note: str = ""


@dataclass(frozen=True)
class ArmRow:
    """One arm: its name, its group, a cell for each column, and what it alone has, if arms differ in more than attention."""

    label: str
    group: str
    cells: Sequence[Cell]
    own: str = ""


@dataclass(frozen=True)
class TaskTable:
    """Column titles after the arm's name, and rows."""

    columns: Sequence[str]
    rows: Sequence[ArmRow]


def task_table(summary: "TaskSummary") -> TaskTable:
    """Epochs, speedup, certainty, seconds, generalisation; all seeds shown."""
    columns = [
        f"epochs to {percent(summary.target)} training accuracy",
        f"speedup over {summary.baseline}",
        "reached",
        "seconds to target",
        f"epochs to {percent(summary.held_out_target)} held-out",
        "last held-out accuracy",
        "train - held-out",
    ]
    rows = zip(summary.arms, summary_rows(summary), strict=True)
    own = summary.comparison.arm_settings
    return TaskTable(
        columns,
        [
            ArmRow(arm.label, arm.group, _cells(arm, texts), values_text(own.get(arm.label, {})))
            for arm, texts in rows
        ],
    )


def detail_table(summary: "TaskSummary") -> TaskTable:
    """What few readers ask for: the mean instead of the median, the other p values, the gap in loss."""
    records = [record for own in summary.comparison.arms.values() for record in own]
    columns = [
        f"mean epochs to target, counted up to {number(longest_look(records, 'epochs'))}",
        "p of the speedup in seconds",
        "p of the speedup to the held-out target",
        "held-out loss - training loss",
    ]
    return TaskTable(columns, [ArmRow(arm.label, arm.group, _details(arm)) for arm in summary.arms])


def _details(arm: "ArmSummary") -> list[Cell]:
    mean = arm.mean_epochs
    limits = "" if mean.low is None or mean.high is None else f" [{number(mean.low)}, {number(mean.high)}]"
    return [
        Cell(UNKNOWN if mean.value is None else f"{number(mean.value)}{limits}"),
        Cell(_p(arm.seconds_p, arm.seconds_p_holm) or UNKNOWN),
        Cell(_p(arm.held_out_p, arm.held_out_p_holm) or UNKNOWN),
        Cell(_losses(arm.loss_gap) or UNKNOWN),
    ]


def _losses(gaps: Sequence[float]) -> str:
    """The median over seeds, and the range."""
    if not gaps:
        return ""
    middle = f"{median(gaps):+.3f}"
    return middle if len(gaps) == 1 else f"{middle} ({min(gaps):+.3f} to {max(gaps):+.3f})"


def _p(p: float | None, corrected: float | None) -> str:
    """`0.0625, Holm 0.312`."""
    return "" if p is None or corrected is None else f"{p_value(p)}, Holm {p_value(corrected)}"


def _cells(arm: "ArmSummary", texts: dict[str, str]) -> list[Cell]:
    return [
        Cell(texts["epochs"] or UNKNOWN, " ".join(_time(arm.times[seed]) for seed in sorted(arm.times))),
        Cell(texts["speedup"] or UNKNOWN, _certainty(arm)),
        Cell(texts["reached"], f"100 %: {texts['perfect']}"),
        Cell(texts["seconds"] or UNKNOWN, _faster(arm.seconds_speedup)),
        Cell(texts["held_out_epochs"] or UNKNOWN, _faster(arm.held_out_speedup)),
        Cell(texts["last_held_out"] or UNKNOWN, " ".join(f"{100 * each:.1f}" for each in arm.last_held_out)),
        Cell(texts["gap"] or UNKNOWN),
    ]


def _certainty(arm: "ArmSummary") -> str:
    """`p 0.0625, Holm 0.312, smallest possible 0.0625`."""
    p = _p(arm.p, arm.p_holm)
    return f"p {p}; smallest possible {p_value(arm.smallest_p)}" if p and arm.smallest_p is not None else ""


def _time(time: "Time") -> str:
    return number(time.value) if time.reached else f">{number(time.value)}"


def _faster(speedup: "Speedup | None") -> str:
    return "" if speedup is None or speedup.ratio is None else f"speedup {speedup_text(speedup)}"
