"""A folder of small tables that grows: what is exported again replaces what was there, and nothing is lost."""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus.durable import write_durably
from semfocus.report.export.folder import read_table
from semfocus.report.export.frames import NAMES, frames_of
from semfocus.runs.plan import Plan, write_plan
from semfocus.runs.record import Record
from semfocus.runs.store import Store

if TYPE_CHECKING:
    import polars

#: of a curve, the digits that a figure can show; accuracies are kept as they are
_DIGITS = {
    "train_loss": 4,
    "held_out_loss": 4,
    "gradient_norm": 3,
    "train_seconds": 2,
    "evaluation_seconds": 2,
}
#: what analysis and docs look at, of more than fifty quantities
QUANTITIES = (
    *(
        "dispersion",
        "dispersion_ratio",
        "separation",
        "separation_ratio",
        "effective_keys",
        "mask_agreement_0.01",
    ),
    *("key_load", "largest_key_load", "received_mass", "retained_mass", "lambda_w_local", "lambda_w_ratio"),
    *("focus_mass", "focus_chance", "focus_share", "gradient_norm_query_key", "gradient_norm_value_out"),
    *("score_norm", "token_norm"),
)
#: along training there are many epochs: these quantiles are enough
_ALONG = ("q25", "q50", "q75", "q95")
#: learning rates follow from the spec; a machine's name is nobody's business
_LEFT_OUT = {"curves": ("learning_rate",), "runs": ("environment.host",)}
_ORDER = (
    "run",
    "along",
    "replaced",
    "epoch",
    "quantity",
    "data",
    "pattern",
    "layer",
    "head",
    "length",
    "num",
)


def archive(records: Iterable[Mapping[str, Any]], folder: Path, plans: Sequence[Plan] = ()) -> int:
    """Add the runs to the tables of a folder; how many runs it then has.

    Of each table, the rows of a run are replaced if the record has any. Parquet in single precision, losses to four
    digits: a few kilobytes per run. The table of runs is written last, so that a run in it has its curve beside it.
    """
    known = [Record.of(each) for each in records]
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        tables = frames_of(known)
        for name in reversed(list(tables)):
            new = _small(name, tables[name])
            frame = _joined(_old(folder, name), new)
            if not frame.is_empty():
                _write(folder / f"{name}.parquet", _sorted(frame))
        for plan in plans:
            write_plan(Store(folder), plan)
        runs = _old(folder, "runs")
    return 0 if runs is None else runs.height


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two processes that add to one folder take turns; the lock is on the folder itself and leaves no file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _old(folder: Path, name: str) -> "polars.DataFrame | None":
    path = folder / f"{name}.parquet"
    return read_table(path) if path.exists() else None


def _small(name: str, frame: "polars.DataFrame") -> "polars.DataFrame":
    import polars

    frame = frame.drop(_LEFT_OUT.get(name, ()), strict=False)
    if name == "runs":  # specs are exact: their digest is the run's name
        return frame
    frame = frame.drop([each for each in NAMES if each != "run"], strict=False)
    if name == "curves":
        rounded = [
            polars.col(key).round_sig_figs(num) for key, num in _DIGITS.items() if key in frame.columns
        ]
        frame = frame.with_columns(rounded)
    elif name == "probes":
        frame = _few_probes(frame)
    return frame.cast({polars.Float64: polars.Float32})


def _few_probes(frame: "polars.DataFrame") -> "polars.DataFrame":
    import polars

    along = polars.col("along").cast(polars.Boolean)
    kept = frame.filter(
        polars.col("quantity").is_in(QUANTITIES) & (~along | (polars.col("data") == "held_out"))
    )
    rare = [name for name in frame.columns if name[0] == "q" and name[1:].isdecimal() and name not in _ALONG]
    shorter = [polars.when(~along).then(polars.col(name)).alias(name) for name in rare]
    return kept.with_columns(shorter).with_columns(polars.col(polars.Float64).round_sig_figs(4))


def _joined(old: "polars.DataFrame | None", new: "polars.DataFrame") -> "polars.DataFrame":
    """The new rows, and those of other runs; a column that is empty on one side has the type of the other."""
    import polars

    if old is None or old.is_empty():
        return new
    if new.is_empty():
        return old
    others = old.filter(~polars.col("run").is_in(new["run"].unique().to_list()))
    parts = [
        one.drop([name for name in one.columns if _is_empty(one, name) and name in other.columns])
        for one, other in ((others, new), (new, others))
    ]
    joined = polars.concat(parts, how="diagonal_relaxed")
    lost = [name for name in new.columns if name not in joined.columns]
    return joined.with_columns([polars.lit(None, dtype=new.schema[name]).alias(name) for name in lost])


def _is_empty(frame: "polars.DataFrame", name: str) -> bool:
    return name != "run" and frame[name].null_count() == frame.height


def _sorted(frame: "polars.DataFrame") -> "polars.DataFrame":
    """One order whatever came first, so that the same runs give the same file."""
    return frame.select(sorted(frame.columns, key=lambda name: (name != "run", name))).sort(
        [name for name in _ORDER if name in frame.columns], maintain_order=True
    )


def _write(path: Path, frame: "polars.DataFrame") -> None:
    content = BytesIO()
    frame.write_parquet(content, compression="zstd", compression_level=19)
    if not path.exists() or path.read_bytes() != content.getvalue():
        write_durably(path, content.getvalue())
