"""semfocus bounds: published, exact and local constants of full and top-k attention, compared in words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import JsonOption, StoreOption
from semfocus.cli.output import print_json

if TYPE_CHECKING:
    from semfocus.report.figures.regions import Mark


@explains_errors
def bounds(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN_FULL RUN_TOPK]",
            help="Two probed runs, full attention first; or one full run probed with --patterns top_k(K).",
            show_default=False,
        ),
    ] = None,
    dispersion_full: Annotated[
        float | None, typer.Option(help="δ of full attention.", show_default=False)
    ] = None,
    dispersion_topk: Annotated[float | None, typer.Option(help="δ of top-k.", show_default=False)] = None,
    separation: Annotated[float | None, typer.Option(help="Δ of top-k.", show_default=False)] = None,
    beta: Annotated[
        float | None, typer.Option(help="Largest key load of top-k; needed for X.", show_default=False)
    ] = None,
    k: Annotated[int | None, typer.Option(help="Keys that top-k keeps.", show_default=False)] = None,
    length: Annotated[int | None, typer.Option(help="Keys in all.", show_default=False)] = None,
    paper_table: Annotated[
        bool, typer.Option("--paper-table", help="The published table, recomputed to six digits.")
    ] = False,
    regions: Annotated[
        Path | None,
        typer.Option(
            help="Draw where the published conditions hold, as FILE.svg or FILE.html.", show_default=False
        ),
    ] = None,
    data: Annotated[str, typer.Option(help="Probe rows of a run: train or held_out.")] = "held_out",
    epoch: Annotated[
        int | None,
        typer.Option(
            min=0, help="Probe rows of a run: after this epoch (default: the last one).", show_default=False
        ),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the bounds of full and top-k attention: as published, with exact constants, and as measured.

    Example: semfocus bounds --dispersion-full 8.61 --dispersion-topk 3.51 --separation 0.016 --beta 0.2 --k 5
    --length 600

    Example: semfocus bounds --paper-table --regions regions.svg
    """
    from semfocus.report.bounds_text import (
        comparison_lines,
        counts,
        in_words,
        published_columns,
        published_lines,
    )

    numbers: dict[str, Any] = {
        "--dispersion-full": dispersion_full,
        "--dispersion-topk": dispersion_topk,
        "--separation": separation,
        "--k": k,
        "--length": length,
    }
    given = [name for name, value in numbers.items() if value is not None]
    from_numbers = bool(given) and not runs
    if not (given or runs or paper_table or regions):
        raise ValueError(
            "give --paper-table, two probed runs, --regions FILE, or the five numbers (see --help)"
        )
    if runs and (beside := [name for name in given if name != "--k"]):
        raise ValueError(f"runs bring their own numbers: leave out {', '.join(beside)}")
    if from_numbers and len(given) < len(numbers):
        missing = ", ".join(name for name in numbers if name not in given)
        raise ValueError(f"a comparison of numbers also needs {missing}")
    if regions is not None and regions.suffix not in (".svg", ".html"):
        raise ValueError(f"--regions must end in .svg or .html, got {str(regions)!r}")

    output: dict[str, Any] = {}
    text: list[str] = []
    sentences: list[str] = []
    if paper_table:
        columns = published_columns()
        output["paper_table"] = {"cells": columns, "counts": counts(columns)}
        text += published_lines(columns)
    marks: list[Mark] = []
    if from_numbers:
        column, nulls = _of_numbers(numbers, beta)
        sentences = in_words(column)
        output["comparison"] = column | {"null_c1": nulls, "words": sentences}
        text += ["", *comparison_lines(column, k or 0, length or 0), "", *sentences]
        marks.append(_own_mark(column))
    if runs:
        output["runs"], lines = _of_runs(runs, k, data, epoch, store)
        text += lines
    if regions is not None:
        _draw(regions, marks, beta, sentences)
        output["regions"] = str(regions)
        text += ["", str(regions)]
    if as_json:
        print_json(output)
    else:
        typer.echo("\n".join(text).strip("\n"))


def _of_numbers(numbers: dict[str, Any], beta: float | None) -> tuple[dict[str, Any], dict[str, float]]:
    """The comparison, and the c1 of noise at the quantiles that such numbers may have."""
    from semfocus.report.bounds_text import null_ratios
    from semfocus.theory import compare_numbers

    full, topk, gap, k, length = numbers.values()
    if not full > 0:
        raise ValueError(f"--dispersion-full must be greater than 0, got {full:g}")
    for name, value in (("--dispersion-topk", topk), ("--beta", 0.0 if beta is None else beta)):
        if not value >= 0:
            raise ValueError(f"{name} must be at least 0, got {value:g}")
    if not gap >= 0:
        raise ValueError(
            f"--separation must be at least 0 (top-k keeps the highest scores, so no masked one lies above them), got {gap:g}"
        )
    for name, count in (("--k", k), ("--length", length)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")
    column = compare_numbers(full, topk, gap, beta, k, length)
    return column, {str(quantile): c1 for quantile, c1 in null_ratios(k, length).items()}


def _own_mark(column: dict[str, Any]) -> "Mark":
    from semfocus.report.figures.regions import Mark

    published = column["published"]
    tip = f"c1 = {column['c1']:.3f}, c2 = {column['c2']:.2g}, δ = {column['dispersion_full']:g}"
    return Mark(column["c1"], column["c2"], "yours", "", tip, published["w"], published["x"])


def _draw(target: Path, own: "list[Mark]", beta: float | None, sentences: list[str]) -> None:
    from semfocus.durable import write_text
    from semfocus.report.bounds_text import published_columns
    from semfocus.report.figures.regions import REGIONS, REGIONS_READING, Mark, marks_of_table
    from semfocus.report.pages.album import single_page
    from semfocus.theory import PUBLISHED_K, gaussian_null_at

    marks = marks_of_table(published_columns())
    for length in (40, 600):
        null = gaussian_null_at(length, PUBLISHED_K, 75)
        c1, c2 = null["c1"], null["c2"]
        tip = f"independent Gaussian scores, length {length}, 75 %: c1 = {c1:.3f}, c2 = {c2:.2g}, whatever their scale"
        marks.append(Mark(c1, c2, "null", f"L = {length}", tip))
    picture = REGIONS.of([*marks, *own], 1.0 if beta is None else max(beta, 1.0))
    if target.suffix in (".svg", ".pdf", ".png"):
        picture.save(target)
    else:
        write_text(target, single_page(picture, REGIONS_READING, sentences))


def _of_runs(
    names: list[str], k: int | None, data: str, epoch: int | None, store: Path | None
) -> tuple[dict[str, Any], list[str]]:
    from semfocus.cli.bounds_of_runs import compare_runs

    return compare_runs(names, k, data, epoch, store)
