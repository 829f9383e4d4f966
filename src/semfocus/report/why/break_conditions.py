"""Are the conditions met under which, by the paper, its mechanisms break?"""

from collections.abc import Mapping, Sequence

from semfocus.analysis.why.break_conditions import (
    CLEARLY_BELOW,
    MARGIN,
    NOT_BELOW,
    STAYS,
    BreakCondition,
    break_conditions,
)
from semfocus.analysis.why.measured_runs import MeasuredTask, middle
from semfocus.analysis.why.worst_case import WorstCase, worst_cases
from semfocus.report.figures import FIGURES
from semfocus.report.palette import Ink
from semfocus.report.why.block import MISSING, Table, WhyBlock, shown
from semfocus.words import count_of, span

_WHEN = {"start": "untrained", "end": "after training"}


def block(tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink]) -> WhyBlock | None:
    """None if nothing can be said about any condition, nor about the worst case."""
    conditions = [each for each in break_conditions(tasks) if each.tasks]
    cases = [*worst_cases(tasks, "start"), *worst_cases(tasks, "end")]
    if not conditions and not cases:
        return None
    tables = []
    if conditions:
        names = [each.name for each in conditions]
        rules = [[each.name, each.text, each.rule] for each in conditions]
        tables.append(Table("Task by task", ["task", *names], _matrix(conditions), is_open=True))
        tables.append(Table("The rules", ["condition", "breaks if", "rule"], rules))
    if cases:
        tables.append(
            Table(
                "Dispersion and worst case, layer by layer",
                ["task", "layer", "model", "largest dispersion", "2 Γ Ξ²", "share, by seed"],
                [_case(each) for each in cases],
            )
        )
    return WhyBlock(
        "break-conditions",
        "Are the conditions met under which the paper's mechanisms should break?",
        "Each of the three mechanisms has one; met means that here the mechanism should not work. The rules stand below the verdicts. "
        "The figure shows how much of its a-priori worst case 2 Γ Ξ² (Γ: norm of the score weights, Ξ: largest token norm, both with the bias as one more feature) "
        "the largest dispersion of full attention uses: the published left-hand sides assume all of it.",
        [FIGURES["worst-case"].of(cases)] if cases else [],
        [*map(_sentence, conditions), *_shares(cases)],
        f"Where to draw a line ({CLEARLY_BELOW} and {NOT_BELOW}, {MARGIN:.0%}, {STAYS:.0%}) is our choice, written down before these numbers; that idle layers do not count was decided after the first ones of the paper's setting. A condition that is not met does not show that the mechanism is at work: "
        "the dispersion of noise is clearly smaller under top-k as well, so the first condition cannot distinguish a model from scores that know nothing.",
        tables,
    )


def _sentence(condition: BreakCondition) -> str:
    counts = ", ".join(
        f"{verdict} on {condition.num(verdict)}" for verdict in ("met", "not met", "undecided")
    )
    return f"\N{LEFT DOUBLE QUOTATION MARK}{condition.text.removesuffix('.')}\N{RIGHT DOUBLE QUOTATION MARK}: of {count_of(len(condition.tasks), 'task')} {counts}."


def _shares(cases: Sequence[WorstCase]) -> list[str]:
    found = []
    for when, words in _WHEN.items():
        shares = [share for each in cases if each.when == when for share in each.shares.values()]
        if shares:
            around = span(f"{min(shares):.0%}", f"{max(shares):.0%}")
            found.append(
                f"Full attention, {words}: the largest dispersion of a layer is {around} of its worst case, {middle(shares):.0%} in the median."
            )
    return found


def _matrix(conditions: Sequence[BreakCondition]) -> list[list[str]]:
    tasks = dict.fromkeys(each.task for condition in conditions for each in condition.tasks)
    by_task = [{each.task: each for each in condition.tasks} for condition in conditions]
    return [
        [task, *(f"{own[task].verdict}: {own[task].numbers}" if task in own else MISSING for own in by_task)]
        for task in tasks
    ]


def _case(each: WorstCase) -> list[str]:
    shares = ", ".join(f"{share:.0%}" for share in each.shares.values())
    place = f"{each.layer + 1}" if each.head == 0 else f"{each.layer + 1}.{each.head + 1}"
    return [each.task, place, _WHEN[each.when], shown(each.dispersion), shown(each.limit), shares]
