"""The stages of a study: each is planned, then run; a second one follows from the results of the first."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from semfocus.cli.errors import SOME_RUNS_FAILED, fail
from semfocus.cli.study_state import failure_line
from semfocus.counts import count_of

if TYPE_CHECKING:
    from pathlib import Path

    from semfocus.recipes.source import Source
    from semfocus.runs import RunSpec, Store
    from semfocus.runs.plan import Plan
    from semfocus.runs.record import Record


@dataclass(frozen=True)
class Execution:
    """How runs are computed; none of it changes their results."""

    store: "Store"
    executor: str
    workers: int | None
    device: str
    threads: int
    log: str | None
    quiet: bool
    probe_every: int | None = None


@dataclass(frozen=True)
class StudyResult:
    """The runs that are reported, and the plans that led to them."""

    source: "Source"
    command: str
    specs: "list[RunSpec]"
    records: "list[Record]"
    plans: "list[Plan]" = field(default_factory=list)

    @property
    def done(self) -> "list[RunSpec]":
        """The runs that ended as they should."""
        return [
            spec for spec, record in zip(self.specs, self.records, strict=True) if record["state"] == "done"
        ]

    @property
    def recipe_file(self) -> "Path | None":
        """The user's file, if a run needs it."""
        return self.source.file if any(spec.recipe for spec in self.specs) else None


def run_stages(
    source: "Source",
    specs: "list[RunSpec]",
    seeds: Sequence[int] | None,
    command: str,
    execution: Execution,
) -> StudyResult:
    """Run the specs and, for a recipe in two stages, those that follow from them; only the last are reported."""
    if source.next_stage is None:
        plan = _planned(source, source.name, specs, command, execution)
        return StudyResult(source, command, specs, _run(source, specs, execution), [plan])
    searched = {spec.seed for spec in specs}
    if searched & set(seeds or ()):
        raise ValueError(
            f"--seeds: {sorted(searched & set(seeds or ()))} are the seeds of the search; report on others"
        )
    search = _planned(source, f"{source.name}_search", specs, command, execution)
    found = _run(source, specs, execution)
    unusable = [record for record in found if record["state"] not in ("done", "diverged")]
    if unusable:  # a choice among the others would not be the one that was asked for
        for record in unusable:
            typer.echo(failure_line(record, execution.store), err=True)
        fail(
            f"{len(unusable)} of {count_of(len(found), 'run')} of the search did not succeed",
            SOME_RUNS_FAILED,
        )
    following = _second_stage(source, found, seeds)
    if not execution.quiet:
        typer.echo(
            f"{source.name}: the search is done, then {count_of(len(following), 'run')} to report",
            err=True,
        )
    plan = _planned(source, source.name, following, command, execution)
    return StudyResult(source, command, following, _run(source, following, execution), [search, plan])


def _second_stage(source: "Source", records: "list[Record]", seeds: Sequence[int] | None) -> "list[RunSpec]":
    from semfocus.recipes.source import checked_specs
    from semfocus.studies.selection import with_seeds

    next_stage = source.next_stage
    assert next_stage is not None
    following = source.marked(
        checked_specs(lambda: next_stage(records), f"{source.name}, second stage", source.study_file)
    )
    return following if seeds is None else with_seeds(following, seeds)


def _planned(
    source: "Source", name: str, specs: "list[RunSpec]", command: str, execution: Execution
) -> "Plan":
    """The plan, written before the first run: `semfocus status` then knows what is to come."""
    from semfocus.runs.plan import Plan, write_plan

    plan = Plan(
        name=name,
        question=source.question,
        command=command,
        runs=[spec.digest for spec in specs],
        own_settings=list(source.own_settings),
    )
    write_plan(execution.store, plan)
    return plan


def _every(source: "Source") -> int | None:
    """Measuring while a run trains is cheap; afterwards it means to train it again."""
    return None if source.probing is None else source.probing.every


def _run(source: "Source", specs: "list[RunSpec]", execution: Execution) -> "list[Record]":
    from semfocus.cli.live_table import study_watcher
    from semfocus.studies import run_study

    with study_watcher(specs, execution.quiet) as watcher:
        return run_study(
            specs,
            execution.store,
            executor=execution.executor,  # type: ignore[arg-type]  # run_study says what is known
            workers=execution.workers,
            device=execution.device,
            threads=execution.threads,
            watcher=watcher,
            recipe_file=source.file if any(spec.recipe for spec in specs) else None,
            log=execution.log,  # type: ignore[arg-type]
            probe_every=execution.probe_every or _every(source),
        )
