"""The end of a study of loss surfaces: grids around every finished run; what is there is not computed again."""

from pathlib import Path
from typing import TYPE_CHECKING

from semfocus.cli.study_state import title
from semfocus.runs.directory import DamagedRun, RunBusy

if TYPE_CHECKING:
    from semfocus.cli.study_run import Execution, StudyResult


def surveyed_runs(result: "StudyResult", execution: "Execution", page: Path | None) -> list[str]:
    """Lines about runs around which the loss could not be computed; the page is of all others."""
    options = result.source.landscapes
    if options is None:
        return []
    from semfocus.cli.landscape_result import watching
    from semfocus.report.landscape_page import write_landscape_page
    from semfocus.studies.landscape.plan import plan_landscape
    from semfocus.studies.landscape.result import read_landscape
    from semfocus.studies.landscape.survey import survey

    planned, errors = [], []
    for spec in result.done:
        try:
            directory = execution.store.directory(spec)
            planned.append(plan_landscape(directory, options, execution.device, execution.threads))
        except (ValueError, OSError, DamagedRun, RunBusy) as error:
            errors.append(f"{title(spec)} has no landscape: {error}")
    try:
        with watching(execution.quiet) as watch:
            survey(
                [place for each in planned for place in each.places],
                executor=execution.executor,
                workers=execution.workers,
                device=execution.device,
                threads=execution.threads,
                recipe_file=result.recipe_file,
                watch=watch,
            )
    except (ValueError, OSError, DamagedRun, RunBusy) as error:
        return [*errors, str(error)]
    if page is not None and planned:
        write_landscape_page([read_landscape(each) for each in planned], page, command=result.command)
    return errors
