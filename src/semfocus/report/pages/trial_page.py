"""The outcome of a trial as one HTML page that needs nothing but itself."""

import os
from pathlib import Path
from typing import Any

from semfocus.durable import write_text
from semfocus.report.figures import FIGURES
from semfocus.report.pages.album import Album
from semfocus.report.pages.template import render
from semfocus.report.palette import inks
from semfocus.trial.result import TrialResult
from semfocus.trial.spec import FULL, SHARPER_FULL, Arm
from semfocus.trial.wording import interval
from semfocus.words import percent, short

TITLE = "Would it help this model?"


def write_trial_page(result: TrialResult, path: str | os.PathLike[str], command: str = "") -> Path:
    """Write the page and return its path."""
    return write_text(path, trial_page(result, command))


def trial_page(result: TrialResult, command: str = "") -> str:
    """The page as text."""
    chosen = inks({arm.label: group_of(arm) for arm in result.arms})
    album = Album(chosen)
    groups = {arm.label: group_of(arm) for arm in result.arms}
    return render(
        "trial",
        album,
        chosen,
        title=TITLE,
        result=result,
        decision=result.decision(),
        sentences=result.sentences(),
        arms=[(chosen[arm.label], _cells(result, arm)) for arm in result.arms],
        ratios=album.add(FIGURES["trial-ratios"].of(result, groups, inks=chosen)),
        curves=album.add(FIGURES["trial-curves"].of(result, groups, inks=chosen)),
        inside=album.add(FIGURES["trial-inside"].of(result, groups, inks=chosen)),
        legend=[(arm.label, chosen[arm.label]) for arm in result.arms],
        runs=[
            (arm.label, seed, record)
            for arm in result.arms
            for seed, record in sorted(result.records[arm].items())
        ],
        command=command,
    )


def group_of(arm: Arm) -> str:
    """As palettes name it."""
    if arm == FULL:
        return "baseline"
    if arm == SHARPER_FULL:
        return "sharper full attention"
    return arm.pattern.family if arm.pattern.family != "full" else "control"


def _cells(result: TrialResult, arm: Arm) -> dict[str, Any]:
    verdict = result.verdicts.get(arm)
    pace = result.seconds_per_step(arm)
    return {
        "label": arm.label,
        "final": short(result.final_loss(arm)),
        "lowest": short(result.lowest_look(arm)) if result.rose(arm) else "",
        "accuracy": None if (share := result.accuracy(arm)) is None else percent(share),
        "rate": f"{result.rates[arm] * arm.learning_rate_scale:.2g}",
        "pace": "-" if pace is None else f"{1000 * pace:.3g} ms",
        "steps": "1" if verdict is None else interval(verdict.steps),
        "seconds": "1" if verdict is None else interval(verdict.seconds),
        "p": "-" if verdict is None or verdict.finding == "diverged" else f"{verdict.p:.2g}",
        "diverged": result.num_diverged(arm),
    }
