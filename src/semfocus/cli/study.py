"""semfocus study: a recipe's runs, compared."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from semfocus.cli.errors import SOME_RUNS_FAILED, explains_errors, fail
from semfocus.cli.options import (
    DeviceOption,
    ExecutorOption,
    JsonOption,
    PatternsOption,
    ProbeEveryOption,
    QuietOption,
    RecipeOption,
    SeedsOption,
    SetOption,
    StopAtOption,
    StoreOption,
    TasksOption,
    ThreadsOption,
    WorkersOption,
    command_text,
    parse_seeds,
    parse_setting,
    writable_store,
)
from semfocus.notation import split_list
from semfocus.words import count_of


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
    contrasts: Annotated[
        str | None,
        typer.Option(
            metavar="'A vs B; ...'",
            help="Pairs of arms that the study is about, the first of them primary (default: the recipe's).",
            show_default=False,
        ),
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Train 6 seeds, and 10 only if the primary contrast is not decided by then; the intervals allow for it.",
        ),
    ] = False,
    stop_at: StopAtOption = None,
    store: StoreOption = None,
    executor: ExecutorOption = "pool",
    workers: WorkersOption = None,
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

    Finished runs are read, not repeated; after Ctrl-C or a failure, rerun the command to resume. A run that fails is
    tried three times by each command: two at once on one store may try it six times. Exit code 3: some runs failed
    or diverged.

    Example: semfocus study curves --tasks even_pairs --seeds 3
    """
    if list_recipes:
        from semfocus.cli.study_list import print_list

        print_list(as_json)
        return
    if name is None:
        raise ValueError("the recipe is missing: semfocus study NAME, or --list to see all")
    from semfocus.cli.study_result import failure_line, show_result
    from semfocus.execution.executor import Conditions
    from semfocus.study import SearchFailed, Study

    wanted = None if seeds is None else parse_seeds(seeds)
    options: list[tuple[str, object]] = [
        ("--seeds", seeds),
        ("--patterns", patterns),
        ("--tasks", tasks),
        ("--contrasts", contrasts),
        ("--until-decided", until_decided),
        ("--stop-at", stop_at),
        ("--recipe", recipe),
        ("--probe-every", probe_every),
    ]
    command = command_text(name, settings=settings or [], options=options, store=store)
    with _deprecations_shown():
        chosen = Study(
            name,
            store,
            recipe_file=recipe,
            seeds=wanted,
            patterns=None if patterns is None else split_list(patterns, "--patterns"),
            tasks=None if tasks is None else split_list(tasks, "--tasks"),
            settings=_changes(settings or [], stop_at),
            contrasts=None if contrasts is None else _pairs(contrasts),
            command=command,
        )
        chosen.measurements  # noqa: B018  (warns here, once)
    if until_decided:
        chosen.refuse_undecidable()
    if dry_run:
        from semfocus.cli.study_plan import print_plan

        looks = chosen.looks if until_decided else [chosen.specs]
        print_plan(chosen, looks, device=device, threads=threads, workers=workers, as_json=as_json)
        return
    how = Conditions(executor, workers, device, threads, quiet=quiet)  # type: ignore[arg-type]  # it checks
    _refuse_unusable(log, device)
    writable_store(store)
    try:
        result = chosen.train(how, log=log, probe_every=probe_every, until_decided=until_decided)  # type: ignore[arg-type]
    except SearchFailed as error:
        for record in error.records:
            typer.echo(failure_line(record, chosen.store), err=True)
        fail(str(error), SOME_RUNS_FAILED)
    unsuccessful = show_result(
        result, report=report, no_report=no_report, as_json=as_json, probe_every=probe_every
    )
    if unsuccessful:
        fail(f"{unsuccessful} of {count_of(len(result.records), 'run')} did not succeed", SOME_RUNS_FAILED)


@contextmanager
def _deprecations_shown() -> Iterator[None]:
    """Python hides such warnings from those who could act on them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        yield
    for message in dict.fromkeys(str(each.message) for each in caught):
        typer.echo(f"warning: {message}", err=True)


def _refuse_unusable(log: str | None, device: str) -> None:
    """Before anything is written."""
    from semfocus.training.device import resolve_device

    if log not in (None, "tensorboard"):
        raise ValueError(f"log must be 'tensorboard', got {log!r}")
    resolve_device(device)


def _pairs(text: str) -> list[list[str]]:
    """`top_k(5) vs full; full x4 vs top_k(5)`."""
    pairs = [each.split(" vs ") for each in split_list(text, "--contrasts")]
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"--contrasts: write 'ARM vs ARM; ...', got {' vs '.join(pair)!r}")
    return [[each.strip() for each in pair] for pair in pairs]


def _changes(settings: list[str], stop_at: float | None) -> dict[str, Any]:
    """The fields that -s and --stop-at set in all runs."""
    changes = {".".join(path): value for path, value in map(parse_setting, settings)}
    for key in ("task", "pattern", "seed"):
        if key in changes:  # one value for all runs would leave nothing to compare
            raise ValueError(f"the {key}s of a study are chosen with --{key}s, not with -s {key}=")
    if stop_at is not None:
        changes["training.stop_at"] = stop_at
    return changes
