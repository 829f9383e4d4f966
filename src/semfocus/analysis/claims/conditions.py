"""Claims about the conditions under which, by the paper, its mechanisms break."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import RACE, Claim, Rule, Ruling, decide, paper_study
from semfocus.analysis.claims.convergence import TOP_K
from semfocus.analysis.claims.evidence import FEWEST_MEASURED, FEWEST_TASKS, majority, measured_lines
from semfocus.words import shortened

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

SOURCE = "Ram et al. 2025, conditions under which a mechanism breaks"
_TEXTS = {
    "dispersion": "Mechanism 1 (convergence) is not broken: the dispersion of top_k is clearly below that of full attention (that of noise is too: this is no sign of learning).",
    "expressivity": "Mechanism 2 (generalisation) is not broken: keeping few keys costs no expressivity on these tasks.",
    "separation": "Mechanism 3 (separation) is not broken: kept and masked scores are so well separated that the choice of keys does not flip.",
}


def _rule(name: str) -> Rule:
    def rule(summaries: Sequence["TaskSummary"]) -> Ruling:
        from semfocus.analysis.why.break_conditions import break_conditions
        from semfocus.analysis.why.measured_runs import measured_tasks

        (condition,) = [each for each in break_conditions(measured_tasks(summaries)) if each.name == name]
        counted = [each for each in condition.tasks if each.num_seeds >= FEWEST_MEASURED]
        met, not_met = ([each for each in counted if each.verdict == name] for name in ("met", "not met"))
        many = len(counted) >= FEWEST_TASKS
        return decide(
            many and majority(not_met, counted) and not met,
            many and majority(met, counted),
            measured_lines(
                [
                    f"{shortened(each.task, 40)}: break condition {each.verdict}: {each.numbers}"
                    for each in condition.tasks
                ],
                summaries,
            ),
        )

    return rule


def _rule_text(name: str) -> str:
    from semfocus.analysis.why.break_conditions import break_conditions

    return next(each.rule for each in break_conditions([]) if each.name == name)


CLAIMS = tuple(
    Claim(
        f"{name}_not_broken",
        text,
        TOP_K,
        SOURCE,
        paper_study(RACE, recipe="dispersion", stops=False),
        f"Of at least {FEWEST_TASKS} tasks with {FEWEST_MEASURED} seeds or more, the break condition is not met on more than half, and met on none. Its rule: {_rule_text(name)}",
        f"It is met on more than half of at least {FEWEST_TASKS} tasks.",
        _rule(name),
        f'dispersion_small --patterns "{RACE}"',
    )
    for name, text in _TEXTS.items()
)
