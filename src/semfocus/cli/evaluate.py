"""semfocus evaluate: a trained run at other lengths or on another file."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import (
    DeviceOption,
    JsonOption,
    RecipeOption,
    StoreOption,
    ThreadsOption,
    parse_length,
    refuse_other_recipe,
)
from semfocus.cli.output import print_json
from semfocus.runs.arms import task_title


@explains_errors
def evaluate(
    run: Annotated[str, typer.Argument(help="A run's directory, its name, or the beginning of its name.")],
    length: Annotated[
        str | None, typer.Option(help="One length, or LOW:HIGH for a table over lengths.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A CSV, TSV or JSONL file instead of new samples.", show_default=False)
    ] = None,
    points: Annotated[int, typer.Option(min=1, help="How many lengths of a range.")] = 10,
    num: Annotated[int, typer.Option(min=1, help="Samples a length.")] = 1000,
    checkpoint: Annotated[str, typer.Option(help="last, or best (selected on the held-out set).")] = "last",
    store: StoreOption = None,
    recipe: RecipeOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Accuracy and loss of a trained run on data it was not trained for.

    Example: semfocus evaluate 2093563c --length 41:500
    """
    from semfocus.runs import open_store
    from semfocus.training.device import limited_threads, resolve_device
    from semfocus.training.trained_run import lengths_between, load_run

    if (length is None) == (data is None):
        raise ValueError("give either --length or --data")
    if checkpoint not in ("last", "best"):
        raise ValueError(f"--checkpoint must be last or best, got {checkpoint!r}")
    asked = None if length is None else parse_length(length)
    directory = open_store(store).find(run)
    refuse_other_recipe([directory], recipe)
    trained = load_run(directory, checkpoint, resolve_device(device))

    rows: list[dict[str, Any]] = []
    with limited_threads(threads):
        if data is not None:
            rows.append({"data": str(data), **asdict(trained.on_file(data))})
        else:
            assert asked is not None
            low, high = (asked, asked) if isinstance(asked, int) else asked
            for each in lengths_between(trained.spec, low, high, points):
                rows.append({"length": each, **asdict(trained.at_length(each, num))})
    if as_json:
        print_json({"run": directory.name, "epoch": trained.epoch, "results": rows})
        return
    spec = trained.spec
    lengths = (
        spec.training.length
        if isinstance(spec.training.length, int)
        else "{}:{}".format(*spec.training.length)
    )
    typer.echo(f"{task_title(spec.task)}  {spec.pattern}  seed {spec.seed}  trained at length {lengths}")
    typer.echo(f"{checkpoint} checkpoint, epoch {trained.epoch}")
    first = "data" if data is not None else "length"
    typer.echo(f"  {first:>8}  accuracy    loss  best constant guess")
    for row in rows:
        typer.echo(
            f"  {row[first]!s:>8}  {row['accuracy']:8.4f}  {row['loss']:.4f}  {row['constant_guess']:19.4f}"
        )
