"""The end of a study that measures inside its models: every finished run is looked into, what is known is not measured again."""

import shlex
from typing import TYPE_CHECKING

import typer

from semfocus.cli.study_state import title
from semfocus.counts import count_of

if TYPE_CHECKING:
    from semfocus.cli.study_run import Execution, StudyResult
    from semfocus.runs import RunSpec

#: more runs than this are not written out
_MOST_NAMED = 4


def probed_runs(result: "StudyResult", execution: "Execution") -> list[str]:
    """Lines about runs that could not be looked into; one of them does not stop the others."""
    from semfocus.studies.probe_study import probe_study

    if result.source.probing is None:
        return []

    def say(spec: "RunSpec", place: int, total: int) -> None:
        if not execution.quiet:
            typer.echo(f"measured inside {place}/{total}: {title(spec)}", err=True)

    errors = probe_study(
        result.done,
        execution.store,
        result.source.probing,
        executor=execution.executor,
        workers=execution.workers,
        device=execution.device,
        threads=execution.threads,
        recipe_file=result.recipe_file,
        watch=say,
    )
    by_run = {spec.digest: spec for spec in result.done}
    return [f"{title(by_run[run])} could not be measured inside: {reason}" for run, reason in errors.items()]


def not_measured_along(result: "StudyResult", execution: "Execution") -> list[str]:
    """Finished runs with epochs that --probe-every asked for and that trained before, so nobody was watching."""
    from semfocus.studies.probing_along import along_is_known

    every = execution.probe_every
    if every is None:
        return []
    directories = [execution.store.directory(spec) for spec in result.done]
    return [each.name for each in directories if not along_is_known(each, every)]


def along_hint(runs: list[str], execution: "Execution") -> str:
    """What was not measured, and the command that measures it."""
    named = runs if len(runs) <= _MOST_NAMED else ["RUN"]
    words = ["semfocus", "probe", *(name[:10] for name in named), "--every", str(execution.probe_every)]
    command = shlex.join([*words, "--store", str(execution.store.path)])
    return (
        f"--probe-every: {count_of(len(runs), 'run')} had trained before and {'was' if len(runs) == 1 else 'were'} not measured "
        f"along the way; this trains {'it' if len(runs) == 1 else 'each'} again to do so: {command}"
    )
