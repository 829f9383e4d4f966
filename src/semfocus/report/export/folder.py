"""A folder of exported tables: written from records, and read back as records."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus.durable import write_durably
from semfocus.report.export.frames import OWN, frames_of, table_names
from semfocus.report.export.records import exported, merged
from semfocus.runs.plan import Plan, read_plans, write_plan
from semfocus.runs.record import Record
from semfocus.runs.store import Store

if TYPE_CHECKING:
    import polars

FORMATS = ("csv", "parquet")
#: before a text that a spreadsheet would compute
_COMPUTED = r"^[=+\-@\t\r]"
#: what is text even where all of it looks like numbers
_DIGESTS = ("run", "weights", "spec.data", "spec.recipe", "spec.pretraining.data")

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def export(
    records: Iterable[Mapping[str, Any]], folder: Path, kind: str = "csv", plans: Sequence[Plan] = ()
) -> list[Path]:
    """Write all tables into the folder; return their paths. The plans of studies go beside them, as in a store."""
    if kind not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {kind!r}")
    known = [Record.of(each) for each in records]
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, frame in frames_of(known).items():
        path, content = folder / f"{name}.{kind}", BytesIO()
        if kind == "csv":
            _harmless(frame).write_csv(content, quote_style="non_numeric")
        else:
            frame.write_parquet(content)
        write_durably(path, content.getvalue())
        paths.append(path)
    for plan in plans:
        write_plan(Store(folder), plan)
    return paths


def _harmless(frame: "polars.DataFrame") -> "polars.DataFrame":
    """An apostrophe before texts that a spreadsheet would compute; Parquet has them as they are."""
    import polars

    text = polars.col(polars.String)
    return frame.with_columns(
        polars.when(text.str.contains(_COMPUTED)).then("'" + text).otherwise(text).name.keep()
    )


def read_export(folders: Paths) -> list[Record]:
    """The runs of exported tables as records: of one folder, or of several, each with all folders below it.

    A run that several folders hold counts once, by the most complete of its records. Checkpoints and journals are
    in no export, so nothing more can be measured in these runs.
    """
    found = [exported(_frames(each)) for each in folders_of_tables(folders)]
    return merged(found).records()


def read_exported_plans(folders: Paths) -> list[Plan]:
    """What the studies behind exported runs set out to do, where that was exported as well."""
    return [plan for each in folders_of_tables(folders) for plan in read_plans(Store(each))]


def folders_of_tables(folders: Paths) -> list[Path]:
    """The folders with a table of runs, among those given and below them; files beside them are passed over."""
    given = [folders] if isinstance(folders, str | os.PathLike) else list(folders)
    if not given:
        raise ValueError("name a folder of exported tables")
    found: dict[Path, None] = {}
    for path in map(Path, given):
        if not path.exists():
            raise ValueError(f"there is no folder {path}")
        found |= dict.fromkeys(_with_tables(path) if path.is_dir() else ())
    if not found:
        raise ValueError(f"no exported runs (runs.parquet or runs.csv) in {', '.join(map(str, given))}")
    return list(found)


def _with_tables(folder: Path) -> Iterator[Path]:
    if _table(folder, "runs") is not None:
        yield folder
    for below in sorted(each for each in folder.iterdir() if each.is_dir()):
        yield from _with_tables(below)


def _table(folder: Path, name: str) -> Path | None:
    """Parquet, which keeps types, rather than CSV."""
    paths = (folder / f"{name}.{kind}" for kind in ("parquet", "csv"))
    return next((path for path in paths if path.is_file()), None)


def _frames(folder: Path) -> "dict[str, polars.DataFrame]":
    import polars

    own = {path.stem for path in folder.glob(f"{OWN}*") if path.suffix in (".csv", ".parquet")}
    paths = {name: _table(folder, name) for name in (*table_names(), *sorted(own))}
    # 0.95 in single precision is less than 0.95: its shortest decimal is what was meant
    decimal = polars.col(polars.Float32).cast(polars.String).cast(polars.Float64)
    return {name: read_table(path).with_columns(decimal) for name, path in paths.items() if path is not None}


def read_table(path: Path) -> "polars.DataFrame":
    """A table as it was written, if it is one."""
    import polars
    from polars.exceptions import PolarsError

    try:
        frame = _read_csv(path) if path.suffix == ".csv" else polars.read_parquet(path)
    except PolarsError as error:
        raise ValueError(f"{path} is not a table that can be read: {error}") from None
    if "run" not in frame.columns:
        raise ValueError(f"{path} is not an exported table: it has no column 'run'")
    return frame.with_columns(polars.col(polars.Categorical).cast(polars.String))


def _read_csv(path: Path) -> "polars.DataFrame":
    import polars

    digests: Any = dict.fromkeys(_DIGESTS, polars.String)
    frame = polars.read_csv(path, infer_schema_length=None, schema_overrides=digests)
    text = polars.col(polars.String)
    return frame.with_columns(
        polars.when(text.str.contains(r"^'[=+\-@\t\r]")).then(text.str.slice(1)).otherwise(text).name.keep()
    )
