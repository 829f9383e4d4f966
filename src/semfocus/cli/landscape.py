"""semfocus landscape: how the loss looks around trained runs."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import (
    DeviceOption,
    ExecutorOption,
    JsonOption,
    QuietOption,
    RecipeOption,
    StoreOption,
    ThreadsOption,
    WorkersOption,
    checked_page,
)
from semfocus.cli.output import print_json

if TYPE_CHECKING:
    from semfocus.runs import RunDirectory


@explains_errors
def landscape(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Directories of runs, their names, or beginnings of names."),
    ],
    points: Annotated[int, typer.Option(help="Points a side: odd, so that the centre is the model.")] = 41,
    radius: Annotated[float, typer.Option(help="The grid goes from -RADIUS to RADIUS.")] = 1.0,
    pairs: Annotated[
        int, typer.Option(min=0, help="Pairs of random directions, each a grid of its own.")
    ] = 1,
    scaling: Annotated[
        str, typer.Option(help="tensor (the paper's), or filter: each row of a weight as long as that row.")
    ] = "tensor",
    data: Annotated[str, typer.Option(help="train or held_out.")] = "train",
    samples: Annotated[
        int | None, typer.Option(help="Only the first N samples (default: all).", show_default=False)
    ] = None,
    epoch: Annotated[str, typer.Option(help="last, best, a number such as 0, or reaching:0.95.")] = "last",
    hessian: Annotated[
        int,
        typer.Option(min=0, metavar="K", help="Also the K largest and smallest eigenvalues of the Hessian."),
    ] = 0,
    executor: ExecutorOption = "pool",
    workers: WorkersOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Write a page with figures; FILE.svg: only the maps, for a paper.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    recipe: RecipeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """The loss on a grid around trained runs, how steep it is, and the curvature at the centre.

    Rows of the grid are kept as they come: after Ctrl-C, rerun the command to resume; nothing is computed twice.

    Example: semfocus landscape 2093563c 5a7e0d11 --points 41 --pairs 3 --page landscape.html
    """
    from semfocus.cli.landscape_result import print_landscapes
    from semfocus.execution.executor import Conditions
    from semfocus.execution.measurement_parts import survey
    from semfocus.measurements import Landscape
    from semfocus.measurements.landscape.plan import plan_landscape
    from semfocus.measurements.landscape.surface import read_landscape
    from semfocus.runs import open_store

    checked_page(page, ".svg")
    only_maps = page is not None and page.suffix.lower() == ".svg"
    if only_maps and not pairs:
        raise ValueError("maps need a grid: --pairs must be at least 1 for a page of maps alone")
    options = Landscape(points, radius, pairs, scaling, data, samples, epoch, hessian)
    found = [open_store(store).find(name) for name in dict.fromkeys(runs)]
    if len({run.name for run in found}) < len(found):
        raise ValueError(f"a run is named twice: {', '.join(runs)}")
    used = _recipe_of(found, recipe)
    planned = [plan_landscape(run, options, device, threads) for run in found]
    how = Conditions(executor, workers, device, threads, recipe_file=used, quiet=quiet)  # type: ignore[arg-type]
    survey([place for each in planned for place in each.places], how)
    results = [read_landscape(each) for each in planned]
    written = []
    if page is not None and only_maps:
        from semfocus.report.pages.landscape_page import write_landscape_maps

        written.append(write_landscape_maps(results, page))
    elif page is not None:
        from semfocus.report.pages.landscape_page import write_landscape_page

        given = [("--points", points), ("--radius", radius), ("--pairs", pairs), ("--scaling", scaling)]
        given += [
            ("--data", data),
            ("--samples", samples),
            ("--epoch", epoch),
            ("--hessian", hessian or None),
        ]
        given += [("--store", store), ("--recipe", recipe), ("--page", page)]
        words = [word for option, value in given if value is not None for word in (option, str(value))]
        command = shlex.join(["semfocus", "landscape", *runs, *words])
        written.append(write_landscape_page(results, page, command))
    if as_json:
        print_json([each.as_plain() for each in results])
    else:
        print_landscapes(results)
    for path in written:
        typer.echo(f"written: {path}", err=True)


def _recipe_of(runs: "list[RunDirectory]", recipe: Path | None) -> Path | None:
    """The recipe file, loaded, if it is the one that the runs were made with."""
    from semfocus.runs import load_recipe

    given = None if recipe is None else load_recipe(recipe)[1]
    for run in runs:
        needed = run.spec().get("recipe")
        if needed not in (None, given):
            raise ValueError(
                f"run {run.name} was made with the recipe file of digest {needed[:12]}: add --recipe FILE"
            )
    return recipe
