"""semfocus tasks: what there is to learn, and samples of it."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import RecipeOption, parse_length
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.tasks import Task

app = typer.Typer(help="List the tasks, and look at samples.", no_args_is_help=True)


@app.command("list")
@explains_errors
def list_tasks(recipe: RecipeOption = None) -> None:
    """All tasks: what is asked, and an example with its label."""
    from semfocus.randomness import stream
    from semfocus.runs import load_recipe
    from semfocus.tasks import TASKS

    if recipe is not None:
        load_recipe(recipe)
    for name, task in TASKS.items():
        length = 10 if task.allows_length(10) is None else task.paper_length
        tokens, labels = task.sample(1, length, stream(0, name))
        usual = (
            task.paper_length if isinstance(task.paper_length, int) else "{}:{}".format(*task.paper_length)
        )
        typer.echo(
            f"{task!s:<20} length {usual}, {task.num_classes} classes, chance {task.chance_accuracy:.3f}"
        )
        typer.echo(f"    {_question(task)}")
        typer.echo(f"    {task.text_of(tokens[0])}  ->  {int(labels[0])}")


def _question(task: "Task") -> str:
    """The first line of the task's file, or of the class in a user's recipe file."""
    module = sys.modules[type(task).__module__]
    built_in = module.__name__.startswith("semfocus.")
    text = (module.__doc__ if built_in else type(task).__doc__) or ""
    return text.strip().split("\n")[0]


@app.command("sample")
@explains_errors
def sample(
    task: Annotated[str, typer.Argument(help="A task, file:PATH, or text:PATH.")],
    num: Annotated[int, typer.Option(min=1, help="How many.")] = 5,
    length: Annotated[
        str | None, typer.Option(help="Length, or LOW:HIGH (default: the paper's).", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(help="Write a .tsv (Source, Target), .csv or .jsonl file instead.", show_default=False),
    ] = None,
    recipe: RecipeOption = None,
) -> None:
    """Draw labelled samples: to look at, or as a file that `train file:PATH` reads."""
    from semfocus.randomness import stream
    from semfocus.runs import load_recipe
    from semfocus.tasks import parse_task, write_rows

    if recipe is not None:
        load_recipe(recipe)
    chosen = parse_task(task)
    asked = chosen.paper_length if length is None else parse_length(length)
    tokens, labels = chosen.sample(
        num, asked if isinstance(asked, int) else (asked[0], asked[1]), stream(seed, "sample")
    )
    if labels.dim() > 1:  # a text is its own label
        if output is not None:
            raise ValueError(
                f"{chosen}: windows of a text have no labels to write; look at them without --output"
            )
        for row in tokens:
            typer.echo(json.dumps(chosen.text_of(row), ensure_ascii=False))
        return
    rows = [(chosen.text_of(row), str(label)) for row, label in zip(tokens, labels.tolist(), strict=True)]
    if output is None:
        for sequence, label in rows:
            typer.echo(f"{label}\t{sequence}")
    else:
        write_rows(output, rows)
        typer.echo(f"{count_of(num, 'sample')} written to {output}")
