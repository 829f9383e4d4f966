"""Looking into all runs of a study: what is missing is measured, on the pool or here, and kept with each run."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from semfocus.runs import RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.studies.arms import BASELINE, arm_of
from semfocus.studies.probe_job import Look, is_measured
from semfocus.studies.probe_plan import Probing
from semfocus.studies.run_jobs import Watch, work_through


def probing_for(spec: RunSpec, probing: Probing) -> Probing:
    """The same for every run, but other patterns are put on the scores of the baseline alone."""
    is_baseline = arm_of(spec.model_dump(mode="json")).label == BASELINE
    return probing if is_baseline else replace(probing, patterns=())


def probe_study(
    specs: Sequence[RunSpec],
    store: Store,
    probing: Probing,
    *,
    executor: str = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    recipe_file: Path | None = None,
    watch: Watch = lambda spec, done, total: None,
) -> dict[str, str]:
    """Why runs could not be looked into, by the run's digest; empty if all were.

    After Ctrl-C or a kill the same call continues: each run is written when it was measured.
    """
    recipe = None if recipe_file is None else str(recipe_file.absolute())
    jobs, errors = {}, {}
    for spec in specs:
        run = spec.digest
        directory, own = store.directory(spec), probing_for(spec, probing)
        try:
            if is_measured(directory, own):
                continue
        except (ValueError, OSError, DamagedRun) as error:
            errors[run] = str(error)
            continue
        jobs[run] = Look(run, str(directory.path.absolute()), asdict(own), device, threads, recipe)
    return errors | work_through(
        jobs, specs, executor=executor, workers=workers, threads=threads, watch=watch
    )
