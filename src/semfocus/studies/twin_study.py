"""The twins of all runs of a study: those that are missing are trained, on the pool or here."""

from collections.abc import Sequence
from pathlib import Path

from semfocus.runs import RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.studies.run_jobs import Watch, work_through
from semfocus.studies.twin_job import TwinPair


def twin_study(
    specs: Sequence[RunSpec],
    store: Store,
    *,
    executor: str = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    recipe_file: Path | None = None,
    watch: Watch = lambda spec, done, total: None,
) -> dict[str, str]:
    """Why runs have no twin, by the run's digest; empty if all have.

    After Ctrl-C or a kill the same call continues with the pairs that are missing.
    """
    recipe = None if recipe_file is None else str(recipe_file.absolute())
    place = str(store.path.absolute())
    jobs, errors = {}, {}
    for spec in specs:
        run = spec.digest
        try:
            known = store.directory(spec).twins()
        except (DamagedRun, OSError) as error:
            errors[run] = str(error)
            continue
        if not any(each["replaced"] == 0 for each in known):
            jobs[run] = TwinPair(run, spec.model_dump(mode="json"), place, device, threads, recipe)
    return errors | work_through(
        jobs, specs, executor=executor, workers=workers, threads=threads, watch=watch
    )
