"""semfocus export: all runs, all epochs and all measurements as tables."""

from pathlib import Path
from typing import Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import StoreOption, existing_store
from semfocus.cli.report import StudyOption


@explains_errors
def export(
    store: StoreOption = None,
    kind: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    output: Annotated[
        Path | None,
        typer.Option(help="Folder to write to (default: export in the store).", show_default=False),
    ] = None,
    study: StudyOption = None,
) -> None:
    """Write all numbers as tables, which `semfocus claims --results` and `semfocus report --results` read.

    runs (one row per run, with its spec and summary), curves (per epoch, with gradient norm and share of clipped
    steps), lengths (per length), probes (per quantity measured inside a model, overall and by layer), twins (per epoch
    of two runs that differ in one sample), landscapes (per grid of losses or Hessian).

    Example: semfocus export --format parquet --output tables
    """
    from semfocus.cli.report import chosen_runs, explains_where
    from semfocus.report.export import export as write

    opened = existing_store(store)
    records, plans = chosen_runs(opened, study)
    with explains_where():
        for path in write(records, output or opened.path / "export", kind, plans):
            typer.echo(path)
