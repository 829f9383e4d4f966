"""semfocus study --dry-run: what would run, how large, how long; nothing is written."""

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from semfocus.cli.output import print_json
from semfocus.runs.arms import task_title
from semfocus.words import count_of, duration

if TYPE_CHECKING:
    from semfocus.runs import RunSpec, Store
    from semfocus.study import Study


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone."""

    task: str
    arm: str
    setting: dict[str, Any]
    seeds: list[int]
    ended: int
    parameters: int
    epochs: int
    seconds_a_run: float


def plan_groups(specs: "Sequence[RunSpec]", store: "Store", seconds: Mapping[str, float]) -> "list[Group]":
    """The runs by what they have in common; `setting` is what else varies in the study, `seconds` those of each run."""
    from semfocus.runs.arms import arm_of, flat, varying_keys
    from semfocus.training import build_model

    values = {spec.digest: flat(spec.model_dump(mode="json")) for spec in specs}
    members: dict[str, list[RunSpec]] = {}
    for spec in specs:
        members.setdefault(json.dumps(values[spec.digest] | {"seed": 0}, sort_keys=True), []).append(spec)
    varying = varying_keys(spec.model_dump(mode="json") for spec in specs)
    return [
        Group(
            task=group[0].task,
            arm=arm_of(group[0].model_dump()).label,
            setting={key: values[group[0].digest].get(key) for key in varying},
            seeds=[spec.seed for spec in group],
            ended=sum(store.directory(spec).has_ended for spec in group),
            parameters=sum(each.numel() for each in build_model(group[0]).parameters()),
            epochs=group[0].training.epochs,
            seconds_a_run=seconds[group[0].digest],
        )
        for group in members.values()
    ]


@dataclass(frozen=True)
class Workload:
    """How many runs, how many of them have ended, and about how long the others take."""

    runs: int
    ended: int
    seconds: float


def _work(groups: Sequence[Group], workers: int, loading: float) -> Workload:
    left = sum((len(group.seeds) - group.ended) * group.seconds_a_run for group in groups)
    num, ended = sum(len(group.seeds) for group in groups), sum(group.ended for group in groups)
    return Workload(num, ended, left / workers + (loading if left else 0.0))


def print_plan(
    study: "Study",
    looks: "Sequence[Sequence[RunSpec]]",
    *,
    device: str,
    threads: int,
    workers: int | None,
    as_json: bool,
) -> None:
    """The groups of the first look on standard output, and the time they would take; and at most, if there
    are more looks.
    """
    from semfocus.execution.executor import usable_cores
    from semfocus.studies.cost import measured_seconds

    store = study.store
    afterwards, two_stages = study.source.afterwards, study.source.next_stage is not None
    workers = workers or max(1, usable_cores() // threads)
    loading = _seconds_to_start()
    seconds = measured_seconds(looks[-1], device=device, threads=threads)
    groups, *later = [plan_groups(specs, store, seconds) for specs in (looks[0], *looks[1:][-1:])]
    work = _work(groups, workers, loading)
    to_start = loading if work.ended < work.runs else 0.0
    most = _work(later[0], workers, loading) if later else None
    if as_json:
        found: dict[str, Any] = {
            **asdict(work),
            "workers": workers,
            "seconds_to_start": to_start,
            "afterwards": list(afterwards),
            "at_most": asdict(most) if most else None,
        }
        print_json(found | {"groups": [asdict(group) for group in groups]})
        return
    _print_groups(groups)
    typer.echo(
        f"{count_of(work.runs, 'run')}, {work.ended} of them in {store.path} already; nothing was written."
    )
    typer.echo(
        f"About {duration(work.seconds)} with {workers} at once, {duration(to_start)} of it to start: an estimate "
        "from a few steps of each kind of run, to the epoch limit; a run that stops at a target ends sooner."
    )
    if most is not None:
        typer.echo(
            f"That is the first look, {len(groups[0].seeds)} seeds. If it does not decide, at most {len(later[0][0].seeds)} seeds: "
            f"{count_of(most.runs, 'run')}, about {duration(most.seconds)} in all."
        )
    for each in afterwards:
        typer.echo(f"Then {each}: that takes time beside the estimate.")
    if two_stages:
        typer.echo("A second stage follows, whose runs depend on the results of these.")


def _print_groups(groups: Sequence[Group]) -> None:
    tasks = {group.task for group in groups}
    by_heading: dict[str, list[Group]] = {}
    for group in groups:
        by_heading.setdefault(_heading(group, tasks), []).append(group)
    for heading, members in by_heading.items():
        typer.echo(heading)
        for group in members:
            ended = f", {group.ended} ended" if group.ended else ""
            each = f"{group.parameters:,} parameters, {count_of(group.epochs, 'epoch')}, {duration(group.seconds_a_run)} each"
            typer.echo(f"  {group.arm:<24} {count_of(len(group.seeds), 'run'):>8}{ended}, {each}")


def _seconds_to_start() -> float:
    """What this process took to load what a worker loads as well."""
    import semfocus.training  # noqa: F401

    return time.process_time()


def _heading(group: Group, tasks: Collection[str]) -> str:
    return ", ".join(
        [task_title(group.task, tasks), *(f"{key}={value}" for key, value in group.setting.items())]
    )
