"""The report as one HTML page that needs nothing but itself."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus import __version__
from semfocus.durable import write_text
from semfocus.report.forest_figure import forest_figures
from semfocus.report.overview import (
    KINDS,
    arm_groups,
    forest_lines,
    headline,
    how_judged,
    learned,
    primary,
    scores,
)
from semfocus.report.palette import inks
from semfocus.report.repeating import report_command, reruns
from semfocus.report.robustness import sweep_lines, sweeps
from semfocus.report.templating import environment, style_and_script
from semfocus.report.texts import listed
from semfocus.report.views import comparison_view
from semfocus.report.why import why_sections
from semfocus.report.wording import TITLE, UNKNOWN, runs_text
from semfocus.runs.task_title import task_title, tasks_of
from semfocus.studies.arms import arm_of
from semfocus.studies.tables import EXPLANATION
from semfocus.studies.wording import p_value, percent

if TYPE_CHECKING:
    from semfocus.runs.plan import Plan
    from semfocus.studies.analysis import TaskSummary


def write_report(
    records: Iterable[Mapping[str, Any]],
    path: str | os.PathLike[str],
    *,
    plans: Sequence["Plan"] = (),
    title: str = TITLE,
    apart_from: Collection[str] = (),
) -> Path:
    """Write the page and return its path.

    Runs are compared as their plans say; `apart_from` (that of `semfocus.studies.analysis.analyse`) overrules them.
    """
    return write_text(path, report_page(records, plans=plans, title=title, apart_from=apart_from))


def report_page(
    records: Iterable[Mapping[str, Any]],
    *,
    plans: Sequence["Plan"] = (),
    title: str = TITLE,
    apart_from: Collection[str] = (),
) -> str:
    """The page as text."""
    from semfocus.report.claims import SIZES, counted, judge_all
    from semfocus.studies.planned import analyse_planned

    known = [dict(record) for record in records]
    summaries = analyse_planned(known, plans, apart_from)
    groups = arm_groups(summaries)
    chosen = inks(groups)
    main = primary(summaries)
    numbers = {id(summary): number for number, summary in enumerate(summaries, start=1)}
    views = {
        id(each): comparison_view(numbers[id(each)], each, chosen, plans, len(main) > 1) for each in summaries
    }
    scored, judged = scores(main), judge_all(summaries)
    lines = forest_lines(main, chosen)
    targets = {percent(each.target) for each in summaries if not each.by_loss}
    return (
        environment()
        .get_template("page")
        .render(
            title=title,
            version=__version__,
            runs_text=runs_text(known, len(main)),
            **style_and_script(chosen.values()),
            num_runs=len(known),
            main=[views[id(each)] for each in main],
            others=[views[id(each)] for each in summaries if not any(each is one for one in main)],
            scores=scored,
            headline=headline(main) if len(main) > 1 else [],
            judged=how_judged(scored),
            inks=chosen,
            kinds=[kind for kind in KINDS if any(score.tasks[kind] for score in scored)],
            num_learned=len(learned(main)),
            forest=forest_figures("Speedup over full attention", lines) if lines else None,
            sweeps=[
                (sweep, forest_figures(f"Speedup by {sweep.key}", sweep_lines(sweep, chosen)))
                for sweep in sweeps(summaries)
                if any(arm.speedup for _, each in sweep.steps for arm in each.arms)
            ],
            why=why_sections(summaries, chosen),
            claims=sorted(judged, key=lambda claim: claim.verdict == "undecided"),
            claims_counted=counted(judged),
            claim_settings=list(dict.fromkeys(setting for claim in judged for setting in claim.settings)),
            sizes=SIZES,
            troubled=_troubled(known),
            reruns=reruns(plans),
            report_command=report_command(known, plans),
            environments=_environments(known),
            explanation=EXPLANATION,
            certainty=_certainty(main),
            targets=listed(sorted(targets)) if targets else "",
            has_text=any(each.by_loss for each in summaries),
            # all claims are about tasks: to a page of nothing but language models they are noise
            has_tasks=not summaries or any(not each.by_loss for each in summaries),
        )
    )


def _troubled(records: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], str, str]]:
    """Runs that are not done, the worst first, each with the names of its task and of its arm."""
    order = {"corrupt": 0, "failed": 1, "diverged": 2}
    found = sorted(
        (record for record in records if record.get("state") != "done"),
        key=lambda record: (order.get(str(record.get("state")), 3), str(record.get("run"))),
    )
    tasks = tasks_of(records)
    return [
        (record, task_title(spec.get("task", UNKNOWN), tasks), arm_of(spec).label if spec else UNKNOWN)
        for record in found
        for spec in [record.get("spec") or {}]
    ]


def _environments(records: Sequence[Mapping[str, Any]]) -> list[tuple[dict[str, str], int]]:
    """Where the runs were computed, with how many runs each; times and hosts do not tell two apart."""
    from semfocus.studies.setting import flat

    counted: Counter[tuple[tuple[str, str], ...]] = Counter()
    for record in records:
        facts = flat(record.get("environment") or {})
        counted[tuple((key, str(value)) for key, value in facts.items() if key not in ("time", "host"))] += 1
    return [(dict(facts), count) for facts, count in counted.most_common() if facts]


def _certainty(summaries: Sequence["TaskSummary"]) -> list[tuple[int, str]]:
    """How small a p value can be, by the number of pairs, for the numbers that occur."""
    found = {
        arm.speedup.num_pairs: arm.smallest_p
        for each in summaries
        for arm in each.arms
        if arm.speedup and arm.smallest_p is not None
    }
    return [(pairs, p_value(least)) for pairs, least in sorted(found.items())]
