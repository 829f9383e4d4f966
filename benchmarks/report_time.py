"""Claim: a report of 280 runs costs at most 5 times what its libraries need to load and to draw an empty chart.

The runs of `small` (results/small: eight tasks, seven kinds of attention, five seeds, 401 epochs each), as records in
memory, in a process that has loaded polars. Seconds from the import of `semfocus.report` to the page on disk; processor
seconds are those of the process, and of the one that draws for it.

    python benchmarks/report_time.py [--repeats 5] [--before DIR]

`--before DIR` measures an earlier version too, in turns with this one. DIR is a worktree of this repository
(`git worktree add DIR COMMIT`).
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

import semfocus
from timing import benchmark_parser, print_claim, print_table, started

RESULTS, CLAIMED = Path(__file__).parents[1] / "results" / "small", 5

#: both print seconds, and processor seconds of the process and of its children
CLOCK = """
import atexit, json, resource, sys, time
import polars
def clock():
    return [time.perf_counter(), time.process_time()]
def ended(first):
    last = clock()
    atexit._run_exitfuncs()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = [after - before for before, after in zip(first, last)]
    print(json.dumps([*own, own[1] + children.ru_utime + children.ru_stime]))
"""
REPORT = """
records = json.load(open(sys.argv[1], encoding="utf-8"))
first = clock()
from semfocus.report import write_report
write_report(records, sys.argv[2])
ended(first)
"""
FLOOR = """
first = clock()
import jinja2, numpy, pydantic, vl_convert
vl_convert.vegalite_to_svg({"data": {"values": [{}]}, "mark": "point", "encoding": {}})
ended(first)
"""


def records_of(folder: Path) -> list[dict[str, Any]]:
    """Records as a store has them, from the tables that `semfocus export` made of it."""
    curves = pl.read_parquet(folder / "curves.parquet").sort("run", "epoch")
    rows = curves.drop("task", "arm", "group", "seed").partition_by("run", as_dict=True, include_key=False)
    found = []
    for flat in pl.read_parquet(folder / "runs.parquet").drop("arm", "group").iter_rows(named=True):
        record: dict[str, Any] = {"curve": rows[flat["run"],].to_dict(as_series=False)}
        for key, value in flat.items():
            *parents, last = key.split(".")
            inner = record
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[last] = value
        record["problems"] = record["problems"] or []
        found.append(record)
    return found


def measure(program: str, words: Sequence[str], source: Path, cache: Path) -> list[float]:
    """The answer of a new process with the semfocus of one source folder."""
    path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", CLOCK + program, *words]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)


def main(words: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__, repeats=5)
    parser.add_argument("--before", type=Path, metavar="DIR", help="root of a worktree of an earlier version")
    arguments = started(parser, words)
    records = records_of(RESULTS)[: 4 if arguments.smoke else None]
    sources = {"now": Path(semfocus.__file__).parents[1]}
    if arguments.before:
        sources["before"] = (arguments.before / "src").resolve()
    found: dict[str, list[list[float]]] = {name: [] for name in (*sources, "libraries")}
    with tempfile.TemporaryDirectory() as folder:
        store, page = Path(folder) / "records.json", Path(folder) / "page.html"
        store.write_text(json.dumps(records), encoding="utf-8")
        for repeat in range(1 + (1 if arguments.smoke else arguments.repeats)):
            for name, own in found.items():
                source = sources.get(name, sources["now"])
                given = (FLOOR, []) if name == "libraries" else (REPORT, [str(store), str(page)])
                answer = measure(*given, source, Path(folder) / "cache" / name)
                own += [answer] if repeat else []  # the first compiles Python and may make Vega's script
    medians = {
        name: [statistics.median(column) for column in zip(*own, strict=True)] for name, own in found.items()
    }
    print(f"report of {len(records)} runs")
    header = ("", "seconds", "processor seconds", "with its children")
    print_table(header, [(name, *values) for name, values in medians.items()])
    ratio = medians["now"][2] / medians["libraries"][2]
    print_claim("processor seconds with children / those of its libraries", ratio, at_most=CLAIMED)
    if arguments.before:
        for place, what in enumerate(header[1:]):
            print(f"now / before, {what}: {medians['now'][place] / medians['before'][place]:.2f}")


if __name__ == "__main__":
    main()
