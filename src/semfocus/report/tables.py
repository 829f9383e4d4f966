"""The table of one task: every arm in a row, in words that the page and the Markdown text share."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from statistics import median
from typing import TYPE_CHECKING, Any

from semfocus.analysis.tables import seen_text, speedup_text, summary_rows
from semfocus.analysis.times import longest_look, perplexities
from semfocus.analysis.wording import UNKNOWN, ratio, short, values_text
from semfocus.measurements.measurement import own_tables
from semfocus.runs.arms import arm_of
from semfocus.words import listed, number, p_value, percent, shortened, with_span

if TYPE_CHECKING:
    from semfocus.analysis.findings import AtTarget, Finding
    from semfocus.analysis.statistics import Speedup, Time
    from semfocus.analysis.summaries import ArmSummary, TaskSummary
    from semfocus.runs.record import Record


@dataclass(frozen=True)
class Cell:
    """What a cell says, and in smaller letters what stands behind it: the seeds one by one, then anything else."""

    text: str
    seeds: str = ""
    note: str = ""

    @property
    def notes(self) -> list[str]:
        return [line for line in (self.seeds, self.note) if line]


@dataclass(frozen=True)
class ArmRow:
    """One arm: its name, its group, a cell for each column, and what it alone has, if arms differ in more
    than attention.
    """

    label: str
    group: str
    cells: Sequence[Cell]
    own: str = ""


@dataclass(frozen=True)
class TaskTable:
    """Column titles after the arm's name, and rows."""

    columns: Sequence[str]
    rows: Sequence[ArmRow]
    #: which seed is which of the small numbers
    legend: str = ""


@dataclass(frozen=True)
class NamedRow:
    """A row of texts with its name."""

    name: str
    cells: Sequence[str]


@dataclass(frozen=True)
class FindingTable:
    """Findings as rows of texts."""

    columns: Sequence[str]
    rows: Sequence[NamedRow]


FINDINGS_EXPLAINED = (
    "Epochs of the second divided by epochs of the first, seed by seed. Over several tasks each task counts the same; the interval inverts "
    "the exact sign-flip test over all pairs. The primary contrast is tested alone, the others under Holm's correction once it is decided."
)


def asked_findings(findings: Sequence["Finding"]) -> list["Finding"]:
    """Over tasks where there are several, and what was declared for an only one; else the contrasts of the
    only task there is.
    """
    pooled = [each for each in findings if each.task is None]
    together = {(each.contrast, each.setting) for each in pooled}
    single = sorted(
        (each for each in findings if each.task is not None), key=lambda each: not each.is_primary
    )
    alone = [each for each in single if each.is_declared and (each.contrast, each.setting) not in together]
    if pooled or len({each.task for each in single}) > 1:
        return [*pooled, *alone]
    return single


def finding_table(findings: Sequence["Finding"]) -> FindingTable:
    """Verdict, estimate and certainty of each contrast, for these tasks and for others."""
    pooled = any(each.task is None for each in findings)
    beyond = ["tasks like these on average", "a new task"] if pooled else []
    columns = ["verdict", "ratio, for these tasks" if pooled else "ratio", *beyond, "pairs", "p"]
    several = len({each.setting for each in findings}) > 1
    rows = []
    for each in findings:
        where = f" ({each.setting})" if several else ""
        task = f", {each.task}" if pooled and each.task is not None else ""
        primary = _declared(each)
        others = [limits_text(each.on_average), limits_text(each.new_task)] if pooled else []
        rows.append(
            NamedRow(
                f"{each.contrast.arm} against {each.contrast.baseline}{task}{primary}{where}",
                [each.verdict, short(each.speedup), *others, str(each.num_pairs), _p_of(each)],
            )
        )
    return FindingTable(columns, rows)


def _declared(finding: "Finding") -> str:
    """` (primary)`, of several studies with the name of the one."""
    words = [word for word, holds in (("primary", finding.is_primary), ("declared", finding.study)) if holds]
    return f" ({words[0]}{f' in {finding.study}' if finding.study else ''})" if words else ""


def target_table(findings: Sequence["Finding"]) -> FindingTable:
    """The same contrasts at other targets, with the verdict where it is another one."""
    known = [each for each in findings if each.targets]
    columns = list(dict.fromkeys(each.target for finding in known for each in finding.targets))
    rows = []
    for finding in known:
        cells = {each.target: _at_target(each, finding.verdict) for each in finding.targets}
        rows.append(NamedRow(str(finding.contrast), [cells.get(column, UNKNOWN) for column in columns]))
    return FindingTable(columns, rows)


def _at_target(found: "AtTarget", verdict: str) -> str:
    if found.verdict is None:
        return found.why
    side = {"at least": "≥ ", "at most": "≤ "}.get(found.bound, "")
    text = f"{side}{ratio(found.ratio, UNKNOWN)}x [{ratio(found.low, '0')}, {ratio(found.high, '∞')}]"
    text += f" without {listed(map(shortened, found.left_out))}" if found.left_out else ""
    return text if found.verdict == verdict else f"{text}: {found.verdict}"


def limits_text(limits: tuple[float, float] | None) -> str:
    return UNKNOWN if limits is None else f"[{ratio(limits[0])}, {ratio(limits[1])}]"


def _p_of(finding: "Finding") -> str:
    if finding.p is None:
        return UNKNOWN
    corrected = "" if finding.p_adjusted is None else f" (corrected {p_value(finding.p_adjusted)})"
    return f"{p_value(finding.p)}{corrected}"


def task_table(summary: "TaskSummary") -> TaskTable:
    """Epochs, speedup, certainty, seconds, generalisation; all seeds shown."""
    columns = [
        f"epochs to {summary.goal.words}",
        f"speedup over {summary.baseline}",
        "reached",
        "seconds to target",
        f"epochs to {summary.second_goal.words}",
        f"last held-out {'perplexity' if summary.by_loss else 'accuracy'}",
        f"train - held-out{' perplexity' if summary.by_loss else ''}",
    ]
    seeds = sorted({seed for arm in summary.arms for seed in arm.seeds})
    rows = zip(summary.arms, summary_rows(summary), strict=True)
    own = summary.comparison.arm_settings
    return TaskTable(
        columns,
        [
            ArmRow(
                arm.label,
                arm.group,
                _cells(arm, texts, seeds, summary.by_loss),
                values_text(own.get(arm.label, {})),
            )
            for arm, texts in rows
        ],
        f"Small numbers: seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}, in this order; "
        f"{UNKNOWN} where there is no such run.",
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
    has_clipped = any(arm.clipped for arm in summary.arms)
    columns += ["steps clipped before the target", "gradient norm before clipping"] if has_clipped else []
    return TaskTable(
        columns,
        [
            ArmRow(arm.label, arm.group, [*_details(arm), *(_clipped(arm) if has_clipped else [])])
            for arm in summary.arms
        ],
    )


def _clipped(arm: "ArmSummary") -> list[Cell]:
    """Medians over seeds, and the range."""
    shares, norms = sorted(arm.clipped.values()), sorted(arm.gradient_norms.values())
    return [
        Cell(with_span(*map(percent, (median(shares), shares[0], shares[-1]))) if shares else UNKNOWN),
        Cell(
            with_span(*(f"{each:.3g}" for each in (median(norms), norms[0], norms[-1]))) if norms else UNKNOWN
        ),
    ]


def _details(arm: "ArmSummary") -> list[Cell]:
    mean = arm.mean_epochs
    limits = "" if mean.low is None or mean.high is None else f" [{number(mean.low)}, {number(mean.high)}]"
    return [
        # without an arrival the mean is the horizon, and its interval that of the imagined run
        Cell(UNKNOWN if mean.value is None or not arm.reached else f"{number(mean.value)}{limits}"),
        Cell(_p(arm.seconds_p, arm.seconds_p_holm) or UNKNOWN),
        Cell(_p(arm.held_out_p, arm.held_out_p_holm) or UNKNOWN),
        Cell(_losses(arm.loss_gap) or UNKNOWN),
    ]


def _losses(gaps: Sequence[float]) -> str:
    """The median over seeds, and the range; small exports leave the losses out."""
    known = [each for each in gaps if not isnan(each)]
    if not known:
        return ""
    return with_span(*(f"{each:+.3f}" for each in (median(known), min(known), max(known))))


def _p(p: float | None, corrected: float | None) -> str:
    """`0.0625, Holm 0.312`."""
    return "" if p is None or corrected is None else f"{p_value(p)}, Holm {p_value(corrected)}"


def _cells(arm: "ArmSummary", texts: dict[str, str], seeds: Sequence[int], by_loss: bool) -> list[Cell]:
    shown = (
        [f"{each:.4g}" for each in perplexities(arm.last_held_out_loss)]
        if by_loss
        else [f"{100 * each:.1f}" for each in arm.last_held_out]
    )
    last = dict(zip(arm.ended_seeds, shown, strict=True))
    return [
        Cell(texts["epochs"] or UNKNOWN, _times(arm.times, seeds)),
        Cell(texts["speedup"] or UNKNOWN, "", _certainty(arm)),
        Cell(texts["reached"], "", f"100 %: {texts['perfect']}" if texts["perfect"] else ""),
        Cell(texts["seconds"] or UNKNOWN, _times(arm.seconds, seeds), _faster(arm.seconds_speedup)),
        Cell(
            texts["held_out_epochs"] or UNKNOWN,
            _times(arm.held_out_times, seeds),
            _faster(arm.held_out_speedup),
        ),
        Cell(texts["last_held_out"] or UNKNOWN, " ".join(last.get(seed, UNKNOWN) for seed in seeds)),
        Cell(texts["gap"] or UNKNOWN),
    ]


def _times(times: Mapping[int, "Time"], seeds: Sequence[int]) -> str:
    """One for each seed of the comparison, so that the same place is the same seed in every row."""
    return " ".join(_time(times.get(seed)) for seed in seeds)


def _certainty(arm: "ArmSummary") -> str:
    """`p 0.0625, Holm 0.312, smallest possible 0.0625`."""
    p = _p(arm.p, arm.p_holm)
    return f"p {p}; smallest possible {p_value(arm.smallest_p)}" if p and arm.smallest_p is not None else ""


def _time(time: "Time | None") -> str:
    if time is None or not (time.reached or time.value > 0):
        return UNKNOWN
    return seen_text(time).replace("> ", ">")


def _faster(speedup: "Speedup | None") -> str:
    return "" if speedup is None or speedup.ratio is None else f"speedup {speedup_text(speedup)}"


#: rows of a measurement of one's own that a page has room for
_MOST_ROWS = 100


@dataclass(frozen=True)
class OwnTable:
    """The rows of a measurement of one's own, in words; `more` were left out."""

    name: str
    columns: list[str]
    rows: list[list[str]]
    more: int


def own_measurement_tables(records: "Sequence[Record]") -> list[OwnTable]:
    """One table for each measurement that has no figure or table of ours."""
    found = []
    for name, rows in own_tables(records).items():
        keys = list(dict.fromkeys(key for _, row in rows for key in row))
        cells = [
            [
                *(record.spec.get("task", UNKNOWN), arm_of(record.spec).label if record.spec else UNKNOWN),
                *(str(record.spec.get("seed", UNKNOWN)), *(_own_text(row.get(key)) for key in keys)),
            ]
            for record, row in rows[:_MOST_ROWS]
        ]
        found.append(OwnTable(name, ["task", "attention", "seed", *keys], cells, len(rows) - len(cells)))
    return found


def _own_text(value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, float):
        return number(value) if isfinite(value) else str(value)
    return shortened(value if isinstance(value, str) else json.dumps(value), 80)
