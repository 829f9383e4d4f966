"""The end of a study that measures inside its models: every finished run is looked into, what is known is not measured again."""

from typing import TYPE_CHECKING

import typer

from semfocus.cli.study_state import title

if TYPE_CHECKING:
    from semfocus.cli.study_run import Execution, StudyResult
    from semfocus.runs import RunSpec


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
