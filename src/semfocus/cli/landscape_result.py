"""What `semfocus landscape` shows: progress, then a few numbers for each run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from semfocus.runs.arms import task_title
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.measurements.landscape.surface import Grid, Surface


def print_landscapes(landscapes: Sequence["Surface"]) -> None:
    """For each run: the centre, flatness, steepness, curvature."""
    for number, each in enumerate(landscapes):
        if number:
            typer.echo("")
        _print(each)


def _print(found: "Surface") -> None:
    spec = found.run_spec
    accuracy = "" if found.train_accuracy is None else f", training accuracy {found.train_accuracy:.1%}"
    typer.echo(
        f"{task_title(spec['task'])}  {spec['pattern']}  seed {spec['seed']}  run {found.run[:8]}, epoch {found.epoch}{accuracy}"
    )
    typer.echo(
        f"  on {count_of(found.spec['samples'], found.spec['data'].replace('_', '-') + ' sample')}, evaluation mode"
    )
    for grid in found.grids:
        _print_grid(found, grid)
    if found.eigenvalues is not None:
        _print_eigenvalues(found.eigenvalues)


def _print_grid(found: "Surface", grid: "Grid") -> None:
    flat = grid.flatness
    equal = "equal to the last bit" if grid.centre == found.own_loss else f"NOT EQUAL to {found.own_loss!r}"
    typer.echo(f"  pair {grid.pair + 1}, {len(grid.axis)} x {len(grid.axis)} points up to {grid.axis[-1]:g}")
    typer.echo(f"    loss at the centre   {grid.centre:.6g}: the model's own, evaluated apart, is {equal}")
    if found.recorded_loss is not None and found.recorded_loss != grid.centre:
        typer.echo(
            f"                         (the run's record has {found.recorded_loss:.6g}: other numerics?)"
        )
    rises = "  ".join(f"{_number(value)} at {radius:.3g}" for radius, value in flat.rise.items())
    typer.echo(f"    mean rise of loss    {rises} (on the square ring at that distance)")
    typer.echo(f"    within 0.1 of it     {flat.near_share:.1%} of the grid")
    x, y = flat.lowest_at
    typer.echo(f"    lowest, highest      {flat.lowest:.4g} at ({x:.3g}, {y:.3g}), {flat.highest:.4g}")
    if grid.drop > 0:
        typer.echo(f"    not at a minimum     that is {grid.drop:.3g} lower than the model's own loss")
    if flat.num_not_finite:
        typer.echo(
            f"    not finite           {count_of(flat.num_not_finite, 'point')}, left out of all estimates"
        )
    if grid.num_numerics > 1:
        typer.echo("    computed under more than one numerics class: bits may differ between rows")
    typer.echo("    Lipschitz estimates  per unit of the grid (per unit of parameter distance)")
    typer.echo("       radius " + "".join(f"{quantile:>22}%" for quantile in grid.lipschitz[0].grid))
    for index in sorted({0, len(grid.lipschitz) // 4, len(grid.lipschitz) // 2, len(grid.lipschitz) - 1}):
        row = grid.lipschitz[index]
        cells = (f"{_number(row.grid[each])} ({_number(row.distance[each])})" for each in row.grid)
        typer.echo(f"    {row.radius:9.3g} " + "".join(f"{cell:>23}" for cell in cells))


def _print_eigenvalues(found: dict[str, object]) -> None:
    typer.echo(f"  Hessian, kept keys frozen, {found['products']} products with vectors")
    for name in ("largest", "smallest"):
        values, residuals = found[name], found[f"{name}_residuals"]
        assert isinstance(values, list)
        assert isinstance(residuals, list)
        cells = (f"{value:.5g} (± {rest:.1g})" for value, rest in zip(values, residuals, strict=True))
        typer.echo(f"    {name} eigenvalues".ljust(25) + "  ".join(cells))


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
