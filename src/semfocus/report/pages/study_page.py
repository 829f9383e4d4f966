"""The report as one HTML page that needs nothing but itself."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from semfocus.analysis.overview import (
    KINDS,
    arm_groups,
    headline,
    how_judged,
    learned,
    primary,
    scores,
    sweeps,
)
from semfocus.analysis.plans import Analysis
from semfocus.analysis.tables import EXPLANATION
from semfocus.analysis.wording import TITLE, UNKNOWN, level_text, runs_text
from semfocus.durable import write_text
from semfocus.report.commands import report_command, reruns
from semfocus.report.figures import FIGURES, FORMATS, Picture
from semfocus.report.pages.album import Album
from semfocus.report.pages.comparison import comparison_view
from semfocus.report.pages.template import render
from semfocus.report.pages.vega import painter
from semfocus.report.palette import inks
from semfocus.report.tables import (
    FINDINGS_EXPLAINED,
    asked_findings,
    finding_table,
    own_measurement_tables,
    target_table,
)
from semfocus.report.why import why_sections
from semfocus.runs.arms import arm_of, task_title, tasks_of
from semfocus.words import listed, p_value, percent, shortened, visible

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary
    from semfocus.runs.plan import Plan


def write_report(
    records: Iterable[Mapping[str, Any]],
    path: str | os.PathLike[str],
    *,
    plans: Sequence["Plan"] = (),
    title: str = TITLE,
    apart_from: Collection[str] = (),
    analysis: "Analysis | None" = None,
) -> Path:
    """Write the page and return its path.

    `plans`, `apart_from`: those of `semfocus.analysis.plans.Analysis`; `analysis`: where the records were
    analysed before.
    """
    text = report_page(records, plans=plans, title=title, apart_from=apart_from, analysis=analysis)
    return write_text(path, text)


def report_page(
    records: Iterable[Mapping[str, Any]],
    *,
    plans: Sequence["Plan"] = (),
    title: str = TITLE,
    apart_from: Collection[str] = (),
    analysis: "Analysis | None" = None,
) -> str:
    """The page as text."""
    from semfocus.analysis.claims import SIZES, counted

    painter()  # starts meanwhile
    analysis = Analysis.of(records, plans, apart_from) if analysis is None else analysis
    known, plans, summaries, findings = (
        analysis.records,
        analysis.plans,
        analysis.summaries,
        analysis.findings,
    )
    groups = arm_groups(summaries)
    chosen = inks(groups)
    main = primary(summaries)
    album = Album(chosen)
    # What must be drawn comes first: all else is prepared meanwhile.
    speedup = FIGURES["speedup"].of(summaries, inks=chosen)
    forest = album.add(speedup) if speedup.frame["ratio"].count() else Markup("")
    curves = {id(each): FIGURES["curves"].of([each], inks=chosen) for each in summaries}
    overview = _overview(album, [curves[id(each)] for each in main])
    numbers = {id(summary): number for number, summary in enumerate(summaries, start=1)}
    views = {
        key: comparison_view(numbers[key], each, chosen, plans, album, curves[key], len(main) > 1)
        for each in summaries
        for key in [id(each)]
    }
    scored, judged = scores(main), analysis.judged
    asked = asked_findings(findings)
    targets = {percent(each.target) for each in summaries if not each.by_loss}
    return render(
        "study",
        album,
        chosen,
        title=title,
        runs_text=runs_text(known, len(main), analysis.num_missing),
        num_runs=len(known),
        main=[views[id(each)] for each in main],
        others=[views[id(each)] for each in summaries if not any(each is one for one in main)],
        scores=scored,
        headline=headline(main, findings) if len(main) > 1 else [],
        judged=how_judged(scored),
        contrasts=finding_table(asked) if asked else None,
        contrasts_explained=FINDINGS_EXPLAINED,
        targets_table=target_table(asked),
        kinds=[kind for kind in KINDS if any(score.tasks[kind] for score in scored)],
        num_learned=len(learned(main)),
        forest=forest,
        legend=[(label, ink) for label, ink in chosen.items() if visible(label) in set(speedup.frame["arm"])],
        overview=overview,
        sweeps=[
            (sweep, album.add(FIGURES["robustness"].of(sweep, inks=chosen)))
            for sweep in sweeps(summaries)
            if any(arm.speedup for _, each in sweep.steps for arm in each.arms)
        ],
        why=[
            (part, [(block, Markup("").join(map(album.add, block.figures))) for block in part.blocks])
            for part in why_sections(analysis, chosen)
        ],
        claims=sorted(judged, key=lambda claim: claim.verdict == "undecided"),
        claims_counted=counted(judged),
        claim_settings=list(dict.fromkeys(setting for claim in judged for setting in claim.settings)),
        sizes=SIZES,
        measured=own_measurement_tables(known),
        troubled=_troubled(known),
        reruns=reruns(plans),
        report_command=report_command(known, plans),
        environments=_environments(known),
        explanation=EXPLANATION,
        level=level_text(arm.speedup for each in summaries for arm in each.arms if arm.speedup),
        certainty=_certainty(main),
        targets=listed(sorted(targets)) if targets else "",
        has_text=any(each.by_loss for each in summaries),
        # all claims are about tasks: to a page of nothing but language models they are noise
        has_tasks=not summaries or any(not each.by_loss for each in summaries),
    )


def write_figures(analysis: Analysis, folder: Path, kind: str) -> list[Path]:
    """Every figure of the page as a file of its own; return their paths."""
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    folder.mkdir(parents=True, exist_ok=True)
    return [
        picture.save(folder / f"{name}.{kind}")
        for name, picture in study_pictures(analysis).items()
        if picture.panels
    ]


def study_pictures(analysis: Analysis) -> dict[str, Picture]:
    """`speedup` for all tasks, `curves-N`, `survival-N`, `lengths-N`, `twins-N` for each comparison,
    `why-NAME` for each test.

    A second size of models has `why-NAME-2`, the further figures of a test `why-NAME-FIGURE`.
    """
    summaries = analysis.summaries
    chosen = inks(arm_groups(summaries))
    found = {"speedup": FIGURES["speedup"].of(summaries, inks=chosen)}
    for number, summary in enumerate(summaries, start=1):
        for name in ("curves", "survival", "lengths", "twins"):
            title = f"{shortened(summary.comparison.title, 40)}: {FIGURES[name].title[0].lower()}{FIGURES[name].title[1:]}"
            found[f"{name}-{number}"] = FIGURES[name].of([summary], inks=chosen).named(title)
    for part in why_sections(analysis, chosen):
        for block in part.blocks:
            for place, picture in enumerate(block.figures):
                name = f"why-{block.name}" + (f"-{picture.figure.name}" if place else "")
                again = sum(
                    each == name or (each.startswith(f"{name}-") and each[len(name) + 1 :].isdigit())
                    for each in found
                )
                found[name + (f"-{again + 1}" if again else "")] = (
                    picture.named(block.question) if not place else picture
                )
    return found


def _overview(album: Album, curves: Sequence[Picture]) -> Markup:
    """The curves of all tasks in one static picture: one for each task would take longer than all else."""
    whole = pl.concat(each.frame for each in curves) if curves else pl.DataFrame()
    return (
        album.static(replace(curves[0], frame=whole)) if len(whole) and whole["value"].count() else Markup("")
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
    from semfocus.runs.arms import flat

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
