"""semfocus study: a recipe's runs, compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import SOME_RUNS_FAILED, explains_errors, fail
from semfocus.cli.options import (
    DeviceOption,
    JsonOption,
    ProbeEveryOption,
    QuietOption,
    RecipeOption,
    SetOption,
    StoreOption,
    ThreadsOption,
    parse_setting,
    writable_store,
)
from semfocus.cli.study_options import (
    PatternsOption,
    SeedsOption,
    StopAtOption,
    TasksOption,
    command_text,
    parse_seeds,
    split_list,
)
from semfocus.counts import count_of

if TYPE_CHECKING:
    from semfocus.recipes.source import Source
    from semfocus.runs import RunSpec


@explains_errors
def study(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE.py",
            help="A recipe (see --list), or a Python file that defines specs().",
            show_default=False,
        ),
    ] = None,
    list_recipes: Annotated[bool, typer.Option("--list", help="List the recipes and end.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run and how long it would take, and end.")
    ] = False,
    settings: SetOption = None,
    seeds: SeedsOption = None,
    patterns: PatternsOption = None,
    tasks: TasksOption = None,
    stop_at: StopAtOption = None,
    store: StoreOption = None,
    executor: Annotated[
        str,
        typer.Option(help="pool (worker processes), serial, or ray (the extra; a cluster if there is one)."),
    ] = "pool",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs at once (default: one a core).", show_default=False)
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    recipe: RecipeOption = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="tensorboard", help="Also log to STORE/tensorboard.", show_default=False),
    ] = None,
    probe_every: ProbeEveryOption = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Where the report goes (default: STORE/NAME.html).", show_default=False),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train every run of a recipe, compare the attentions, write a report.

    Finished runs are read, not repeated; after Ctrl-C or a failure the same command continues. A run that fails is
    tried three times by each command: two at once on one store may try it six times. Exit code 3: some runs failed
    or diverged.

    Example: semfocus study curves --tasks even_pairs --seeds 3
    """
    from semfocus.cli.study_list import print_list
    from semfocus.cli.study_plan import print_plan
    from semfocus.cli.study_result import show_result
    from semfocus.cli.study_run import Execution, run_stages
    from semfocus.recipes.source import open_source
    from semfocus.runs import open_store
    from semfocus.studies.executor import usable_cores

    if list_recipes:
        print_list(as_json)
        return
    if name is None:
        raise ValueError("say which recipe: semfocus study NAME, or --list to see all")
    source = open_source(name, recipe)
    wanted = None if seeds is None else parse_seeds(seeds)
    specs = chosen_specs(source, settings or [], wanted, patterns, tasks, stop_at)
    if dry_run:
        print_plan(
            specs,
            open_store(store),
            device=device,
            threads=threads,
            workers=workers or max(1, usable_cores() // threads),
            two_stages=source.next_stage is not None,
            afterwards=source.afterwards,
            as_json=as_json,
        )
        return
    options: list[tuple[str, object]] = [
        ("--seeds", seeds),
        ("--patterns", patterns),
        ("--tasks", tasks),
        ("--stop-at", stop_at),
    ]
    options += [("--recipe", recipe), ("--probe-every", probe_every)]
    command = command_text(name, settings=settings or [], options=options, store=store)
    _refuse_unusable(executor, log, device)
    execution = Execution(writable_store(store), executor, workers, device, threads, log, quiet, probe_every)
    result = run_stages(source, specs, wanted, command, execution)
    unsuccessful = show_result(result, execution, report=report, no_report=no_report, as_json=as_json)
    if unsuccessful:
        fail(f"{unsuccessful} of {count_of(len(result.records), 'run')} did not succeed", SOME_RUNS_FAILED)


def _refuse_unusable(executor: str, log: str | None, device: str) -> None:
    """Before anything is written."""
    from semfocus.training.device import resolve_device

    if executor not in ("serial", "pool", "ray"):
        raise ValueError(f"executor must be serial, pool or ray, got {executor!r}")
    if log not in (None, "tensorboard"):
        raise ValueError(f"log must be 'tensorboard', got {log!r}")
    resolve_device(device)


def chosen_specs(
    source: "Source",
    settings: list[str],
    seeds: list[int] | None,
    patterns: str | None,
    tasks: str | None,
    stop_at: float | None,
) -> "list[RunSpec]":
    """The recipe's specs as the options want them. Seeds of a search are its own: see `run_stages`."""
    from semfocus.studies.selection import with_patterns, with_seeds, with_settings, with_tasks

    changes = {".".join(path): value for path, value in map(parse_setting, settings)}
    for key in ("task", "pattern", "seed"):
        if key in changes:  # one value for all runs would leave nothing to compare
            raise ValueError(f"the {key}s of a study are chosen with --{key}s, not with -s {key}=")
    if stop_at is not None:
        changes["training.stop_at"] = stop_at
    specs = source.specs()
    if tasks is not None:
        specs = with_tasks(specs, split_list(tasks, "--tasks"))
    if patterns is not None:
        specs = with_patterns(specs, split_list(patterns, "--patterns"))
    if changes:
        specs = with_settings(specs, changes)
    if seeds is not None and source.next_stage is None:
        specs = with_seeds(specs, seeds)
    return source.marked(specs)
