"""The outcome of a trial as one HTML page that needs nothing but itself."""

import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from semfocus import __version__
from semfocus.durable import write_text
from semfocus.report.curve_figure import with_lines
from semfocus.report.palette import Ink, inks
from semfocus.report.panel import BOTTOM, HEIGHT, TOP, Panel, label_room
from semfocus.report.ratio_figure import ratio_figure
from semfocus.report.sampling import Sampled, with_quartiles
from semfocus.report.scales import Linear
from semfocus.report.templating import environment, style_and_script
from semfocus.report.value_axis import short, value_axis
from semfocus.studies.wording import percent
from semfocus.trial.arm import FULL, SHARPER_FULL, Arm
from semfocus.trial.inside import QUANTITIES
from semfocus.trial.result import TrialResult
from semfocus.trial.wording import interval

TITLE = "Would it help this model?"


def write_trial_page(result: TrialResult, path: str | os.PathLike[str], command: str = "") -> Path:
    """Write the page and return its path."""
    return write_text(path, trial_page(result, command))


def trial_page(result: TrialResult, command: str = "") -> str:
    """The page as text."""
    chosen = inks({arm.label: group_of(arm) for arm in result.arms})
    return (
        environment()
        .get_template("trial")
        .render(
            title=TITLE,
            version=__version__,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            **style_and_script(chosen.values()),
            result=result,
            sentences=result.sentences(),
            arms=[(chosen[arm.label], _cells(result, arm)) for arm in result.arms],
            ratios=ratio_figure({arm.label: verdict for arm, verdict in result.verdicts.items()}, chosen),
            panels=[
                _curves(result, "held_out_loss", "held-out loss", chosen),
                _curves(result, "train_loss", "training loss", chosen),
            ],
            inside=[
                _inside(result, name, meaning, chosen)
                for name, (meaning, _) in QUANTITIES.items()
                if any(result.inside(arm, name) for arm in result.arms)
            ],
            legend=[(arm.label, group_of(arm), chosen[arm.label]) for arm in result.arms],
            runs=[
                (arm.label, seed, record)
                for arm in result.arms
                for seed, record in sorted(result.records[arm].items())
            ],
            command=command,
        )
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
        "p": "" if verdict is None or verdict.finding == "diverged" else f"{verdict.p:.2g}",
        "diverged": result.num_diverged(arm),
    }


def _curves(result: TrialResult, column: str, title: str, chosen: dict[str, Ink]) -> Markup | None:
    grid = result.settings.looked_at()
    sampled = {arm.label: _sampled(result, arm, column, grid) for arm in result.arms}
    values = [each for arm in sampled.values() for _, row in arm.seeds for each in row if each is not None]
    if not values:
        return None
    room = 0.04 * (max(values) - min(values)) or 0.1
    axis = Linear(min(values) - room, max(values) + room, HEIGHT - BOTTOM, TOP)
    panel = Panel(
        title, "curves", last_epoch=grid[-1], low=0.0, right=label_room(sampled), unit="step", values=axis
    )
    if column == "held_out_loss":
        level = result.lowest_loss(FULL)
        if level is not None:
            panel.level(level, "")
    return with_lines(panel, sampled, grid, chosen)


def _sampled(result: TrialResult, arm: Arm, column: str, grid: Sequence[int]) -> Sampled:
    rows: list[tuple[object, list[float | None]]] = []
    for seed, record in sorted(result.records[arm].items()):
        known = dict(zip(record["curve"]["step"], record["curve"][column], strict=True))
        rows.append((seed, [_finite(known.get(step)) for step in grid]))
    return with_quartiles(rows)


def _inside(result: TrialResult, name: str, title: str, chosen: dict[str, Ink]) -> Markup | None:
    """A quantity inside the models at the few steps at which it was measured."""
    grid = sorted({step for arm in result.arms for step, _ in result.inside(arm, name)})
    sampled = {}
    for arm in result.arms:
        rows: list[tuple[object, list[float | None]]] = []
        for seed, record in sorted(result.records[arm].items()):
            known = {look["step"]: look["quantities"][name]["median"] for look in record["inside"]}
            rows.append((seed, [_finite(known.get(step)) for step in grid]))
        sampled[arm.label] = with_quartiles(rows)
    values = [each for arm in sampled.values() for _, row in arm.seeds for each in row if each is not None]
    if not values:
        return None
    axis = value_axis(values, HEIGHT - BOTTOM, TOP)
    panel = Panel(
        title,
        "curves",
        last_epoch=max(1, grid[-1]),
        low=0.0,
        right=label_room(sampled),
        unit="step",
        values=axis,
    )
    return with_lines(panel, sampled, grid, chosen)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
