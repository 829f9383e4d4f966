"""Comparisons that were looked into and yet are not tested: another one of the same task has more such runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.counts import count_of
from semfocus.report.texts import shortened
from semfocus.report.wording import setting_of

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary


def not_tested(summaries: Sequence["TaskSummary"]) -> list[str]:
    """`parity at other than the paper's: num_blocks 2 (4 runs)`, one for each."""
    from semfocus.studies.mechanism_tests.looked import looked

    tested = [task.summary for task in looked(summaries)]
    found = []
    for summary in summaries:
        if not any(summary is each for each in tested):
            for task in looked([summary]):
                setting = shortened(setting_of(summary.comparison), 120)
                found.append(f"{shortened(task.task, 40)} at {setting} ({count_of(len(task.runs), 'run')})")
    return found


def not_tested_text(summaries: Sequence["TaskSummary"]) -> str:
    """A sentence, or nothing."""
    found = not_tested(summaries)
    if not found:
        return ""
    return f"Left out, since another comparison of the task has more runs that were looked into: {'; '.join(found)}."
