"""semfocus status: how far the studies of a store are, without touching their runs."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import JsonOption, StoreOption, existing_store
from semfocus.cli.output import print_json
from semfocus.words import duration

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from semfocus.runs.progress import RunProgress, StudyProgress

COLOURS = {"done": "green", "running": "cyan", "failed": "red", "diverged": "magenta", "corrupt": "red"}
#: how many runs of one state are listed before the rest is only counted
_LISTED = 12


@explains_errors
def status(
    store: StoreOption = None,
    as_json: JsonOption = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again every two seconds.")] = False,
) -> None:
    """Runs done, running, failed and still to come, and the time left; may be asked at any time."""
    from rich.console import Console
    from rich.live import Live

    from semfocus.runs.progress import StoreProgress

    progress = StoreProgress(existing_store(store))
    if as_json:
        print_json([as_plain(study) for study in progress.studies()])
        return
    if not watch:
        Console().print(picture(progress.studies()))
        return
    with Live(picture(progress.studies()), auto_refresh=False) as live:
        while True:
            time.sleep(2)
            live.update(picture(progress.studies()), refresh=True)


def as_plain(study: "StudyProgress") -> dict[str, Any]:
    """A study for a script."""
    from semfocus.runs.progress import STATES

    return {
        "name": study.name,
        "question": study.question,
        "command": study.command,
        **{state: study.count(state) for state in STATES},
        "seconds_left": study.seconds_left(),
        "runs": [
            {key: value for key, value in asdict(run).items() if key != "spec"}
            | {"seconds_left": run.seconds_left}
            for run in study.runs
        ],
    }


def picture(studies: "list[StudyProgress]") -> "Group":
    """All studies, one under the other."""
    from rich.console import Group
    from rich.text import Text

    if not studies:
        return Group(Text("no runs yet"))
    parts: list[Group | Text] = []
    for study in studies:
        parts += [heading(study), *run_lines(study), Text("")]
    return Group(*parts)


def heading(study: "StudyProgress") -> "Group":
    """The name, the bar, how many runs are in which state, and the time left."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from semfocus.runs.progress import ENDED, STATES

    counts = [f"{study.count(state)} {state}" for state in STATES if study.count(state)]
    damaged = sum(bool(run.damaged) for run in study.runs)
    counts += [f"{damaged} with damaged measurements"] if damaged else []
    left, to_do = study.seconds_left(), sum(run.state not in ENDED for run in study.runs)
    when = f", about {duration(left)} left" if left is not None and to_do else ""
    title = Text(study.name or "runs of no study", style="bold")
    if study.question:
        title.append(f"  {study.question}", style="not bold")
    line = Table.grid(padding=(0, 2, 0, 0))
    bar = ProgressBar(total=max(1, len(study.runs)), completed=len(study.runs) - to_do, width=20)
    line.add_row(bar, Text(f"{', '.join(counts)}{when}"))
    parts: list[Text | Table] = [title, line]
    if study.command:  # studies of one name differ in their seeds, tasks or settings
        parts.append(Text(study.command, style="dim"))
    if study.runs and study.count("planned") == len(study.runs):
        parts.append(Text("no run has begun: workers take some seconds to start", style="dim"))
    return Group(*parts)


def run_lines(study: "StudyProgress") -> "list[Text]":
    """Runs that are not simply done or planned, which are counted above, and measurements that cannot be read."""
    from rich.text import Text

    from semfocus.runs.arms import run_title, varying_keys
    from semfocus.runs.progress import STATES

    lines = []
    keys = varying_keys(run.spec for run in study.runs if run.spec)
    tasks = {str(run.spec["task"]) for run in study.runs if run.spec}
    for state in STATES:
        runs = [run for run in study.runs if run.state == state and state not in ("done", "planned")]
        for run in runs[:_LISTED]:
            line = Text(f"{state:<12}", style=COLOURS.get(state, "yellow"))
            label = run_title(run.spec, keys, tasks) if run.spec else run.label
            lines.append(line.append(f"{run.run[:8]}  {label}  {facts(run)}", style="default"))
        if len(runs) > _LISTED:
            lines.append(Text(f"{state:<12}and {len(runs) - _LISTED} more"))
    reasons = [reason for run in study.runs for reason in run.damaged]
    lines += [Text(f"{'damaged':<12}", "red").append(reason, "default") for reason in reasons[:_LISTED]]
    if len(reasons) > _LISTED:
        lines.append(Text(f"{'damaged':<12}and {len(reasons) - _LISTED} more"))
    return lines


def facts(run: "RunProgress") -> str:
    """What went wrong; else epoch, accuracy and time left."""
    if run.reason:
        return " ".join(run.reason.split())
    if run.epoch is None:
        return ""
    left = run.seconds_left if run.state == "running" else None
    words = [f"epoch {run.epoch}/{run.epochs}", f"train {run.train_accuracy:.1%}"]
    return "  ".join(words if left is None else [*words, f"{duration(left)} left"])
