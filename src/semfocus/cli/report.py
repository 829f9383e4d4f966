"""semfocus report: what the runs of a store say, as a page, a text or figures."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import (
    MoreResults,
    ResultsOption,
    StoreOption,
    existing_store,
    exported_runs,
    with_runs,
)

if TYPE_CHECKING:
    from semfocus.runs import Store
    from semfocus.runs.plan import Plan
    from semfocus.runs.record import Record

_FORMATS = ("html", "markdown", "pdf", "png", "svg")

StudyOption = Annotated[
    str | None,
    typer.Option(
        help="Only the runs that this study planned (or, of --results, a recipe).", show_default=False
    ),
]


@explains_errors
def report(
    store: StoreOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="File to write; for pdf, png and svg a folder (default: report.html, report.md or figures in the store; of --results, here).",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--format",
            help="html (one page that needs nothing else), markdown, or every figure as a file: pdf, png, svg.",
        ),
    ] = "html",
    study: StudyOption = None,
    results: ResultsOption = None,
    more: MoreResults = None,
) -> None:
    """Compare the runs of a store: who learned faster, by how much, how sure, and how to run it again.

    Example: semfocus report --study quick --output quick.html
    Example: semfocus report --results results --study which_keys
    """

    if kind not in _FORMATS:
        raise ValueError(f"--format must be one of {', '.join(_FORMATS)}, got {kind!r}")
    if output is not None and output.is_dir() and kind in ("html", "markdown"):
        raise ValueError(f"--output names the file to write, and {output} is a directory")
    exported = exported_runs(results, more, store)
    if exported is None:
        opened = existing_store(store)
        (records, plans), folder = chosen_runs(opened, study), opened.path
    else:
        records, plans = exported
        (records, plans), folder = of_study(records, _with_recipe(plans, study), study, "the exports"), Path()
    with explains_where():
        for path in _write(records, plans, kind, output, folder, study):
            typer.echo(path)


@contextmanager
def explains_where() -> Iterator[None]:
    """Of a place where nothing can be written say that there may be others; a full disk is another matter."""
    try:
        yield
    except OSError as error:
        if error.errno not in (
            errno.EACCES,
            errno.EPERM,
            errno.EROFS,
            errno.ENOTDIR,
            errno.EEXIST,
            errno.EISDIR,
        ):
            raise
        raise ValueError(
            f"cannot write {error.filename}: {error.strerror}; choose another --output PATH"
        ) from None


def chosen_runs(opened: "Store", study: str | None) -> "tuple[list[Record], list[Plan]]":
    """The records of a store, with all that was measured of them later, and plans of a study, or all."""
    from semfocus.runs.plan import read_plans

    return of_study(with_runs(opened, opened.records()), read_plans(opened), study, str(opened.path))


def of_study(
    records: "list[Record]", plans: "list[Plan]", study: str | None, where: str
) -> "tuple[list[Record], list[Plan]]":
    """Those that the study planned; all if none is named."""
    from semfocus.notation import did_you_mean

    if study is None:
        return records, plans
    own = [plan for plan in plans if plan.name == study]
    if not own:
        names = sorted({plan.name for plan in plans})
        known = f"known: {', '.join(names)}" if names else "there are no plans at all"
        raise ValueError(f"no study {study!r} in {where}{did_you_mean(study, dict.fromkeys(names))}; {known}")
    wanted = {run for plan in own for run in plan.runs}
    chosen = [record for record in records if record["run"] in wanted]
    if records and not chosen:
        raise ValueError(f"no run of {study!r} in {where}")
    return chosen, own


def _with_recipe(plans: "list[Plan]", study: str | None) -> "list[Plan]":
    """Exports of several studies may hold the runs of a recipe whose plan nobody exported."""
    from semfocus.recipes import RECIPES
    from semfocus.study import Study

    if study is None or study not in RECIPES or any(plan.name == study for plan in plans):
        return plans
    return [*plans, Study(study).plan]


def _write(
    records: "list[Record]",
    plans: "list[Plan]",
    kind: str,
    output: Path | None,
    folder: Path,
    study: str | None,
) -> list[Path]:
    from semfocus.analysis.wording import TITLE

    title = plans[0].question if study is not None else TITLE
    if kind == "html":
        from semfocus.report import write_report

        page = output or folder / "report.html"
        return [write_report(records, page, plans=plans, title=title)]
    if kind == "markdown":
        from semfocus.report import write_markdown

        return [write_markdown(records, output or folder / "report.md", plans=plans, title=title)]
    from semfocus.analysis.plans import Analysis
    from semfocus.report.pages.study_page import write_figures

    return write_figures(Analysis(records, plans), output or folder / "figures", kind)
