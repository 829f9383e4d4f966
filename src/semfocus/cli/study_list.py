"""semfocus study --list: every recipe with its address in the paper, its size and its question."""

from dataclasses import asdict, dataclass, field

import typer

from semfocus.cli.output import print_json

#: how many runs at once the estimates assume
CORES = 2

EPILOGUE = """
h: rough hours on two cores, at 6 s per epoch on one core for even_pairs at the paper's setting; --dry-run measures here.
Runs that are in the store already are not repeated. A file of your own: semfocus study FILE.py, which defines specs().
The paper's bounds and theory need no runs and are no recipes."""


@dataclass(frozen=True)
class Entry:
    """One recipe as a line."""

    name: str
    figure: str
    tasks: list[str]
    runs: int
    hours: float
    question: str
    #: what is measured inside the models after training
    afterwards: list[str] = field(default_factory=list)


def entries() -> list[Entry]:
    """All recipes, with the second stage of those that have one."""
    from semfocus.recipes import RECIPES
    from semfocus.recipes.source import Source
    from semfocus.runs.record import Record
    from semfocus.studies.cost import rough_seconds

    found = []
    for name, recipe in RECIPES.items():
        source = Source(name, recipe)
        specs = source.specs()
        if source.next_stage is not None:  # its size does not depend on results, so empty ones will do
            empty = [Record({"spec": spec.model_dump(mode="json"), "summary": {}}) for spec in specs]
            specs = [*specs, *source.next_stage(empty)]
        hours = sum(rough_seconds(spec) for spec in specs) / 3600 / CORES
        tasks = list(dict.fromkeys(spec.task for spec in specs))
        found.append(Entry(name, recipe.FIGURE, tasks, len(specs), hours, recipe.QUESTION, source.afterwards))
    return found


def print_list(as_json: bool) -> None:
    """On standard output, three lines a recipe."""
    found = entries()
    if as_json:
        print_json([asdict(entry) for entry in found])
        return
    for entry in found:
        typer.echo(
            f"{entry.name:<24} {entry.runs:>5} runs  {hours_text(entry.hours):>8}  {_tasks(entry.tasks)}"
        )
        typer.echo(f"    {entry.question}")
        typer.echo(f"    {entry.figure}")
        for each in entry.afterwards:
            typer.echo(f"    then {each}")
    typer.echo(EPILOGUE)


def hours_text(hours: float) -> str:
    """With the digits that an estimate deserves."""
    return f"{hours:.2f} h" if hours < 1 else f"{hours:,.0f} h"


def _tasks(tasks: list[str]) -> str:
    return ", ".join(tasks) if len(tasks) <= 3 else f"{len(tasks)} tasks: {tasks[0]} ... {tasks[-1]}"
