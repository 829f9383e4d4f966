"""Why did it learn faster, or not?

One mechanism test per file: the question, the figure, what the numbers say and do not say.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from semfocus.report.palette import Ink
from semfocus.report.why.block import Why, WhyBlock

if TYPE_CHECKING:
    from semfocus.analysis.plans import Analysis

__all__ = ["Why", "WhyBlock", "why_sections"]


def why_sections(analysis: "Analysis", inks: Mapping[str, Ink]) -> list[Why]:
    """A section for the runs of the paper's size and one for scaled-down ones, each if it has measurements;
    `inks` of all arms.
    """
    from semfocus.analysis.claims.claim import by_size
    from semfocus.analysis.why.measured_runs import not_tested_text
    from semfocus.report.why import break_conditions, dispersion, focus, masks, ratio, sweep, yardstick

    found = []
    for size, own in by_size(analysis.summaries):
        tasks = analysis.measured_tasks[size]
        if not tasks:
            continue
        tests = (
            *(dispersion.block, ratio.block, yardstick.block),
            *(masks.block, sweep.block, break_conditions.block),
        )
        made = [focus.block(tasks, inks, analysis.mediations[size]), *(test(tasks, inks) for test in tests)]
        blocks = [block for block in made if block is not None]
        num = sum(len(task.runs) for task in tasks)
        if blocks:
            found.append(Why(size, num, [task.task for task in tasks], blocks, not_tested_text(own)))
    return found
