"""Files of runs with any one value wrong: each reader calls the run corrupt, or copes with it."""

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from semfocus.analysis.plans import Analysis
from semfocus.report.export import archive, export, read_export
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from semfocus.runs.directory import RunDirectory
from semfocus.runs.progress import progress_of
from semfocus.runs.record import Record, read_record, result_digest
from tests.report.made_up import record_of, spec_of

WRONG: list[Any] = ["soon", {"x": 1}, "away", 5, 0.5, True, None, [1]]
MEASURED = {
    "evaluations.json": {"rows": [{"length": 20, "num": 100, "epoch": 6, "loss": 0.5, "accuracy": 0.75}]},
    "twins.json": {
        "twins": [
            {
                **{"replaced": 0, "num_train": 20, "batch_size": 2, "steps_per_epoch": 10, "diverged": None},
                **{"is_plain_descent": True, "learning_rates": [0.1], "largest_gradient": 1.0},
                **{"largest_sample_gradient": 1.0, "largest_loss_ratio": 1.0, "largest_gradient_ratio": 1.0},
                "largest_loss": 1.0,
                "rows": [
                    {
                        **{"epoch": 6, "distance": 0.5, "relative_distance": 0.1, "groups": {"mlp": 0.25}},
                        **{
                            "train_loss": 0.1,
                            "held_out_loss": 0.1,
                            "replaced_loss": 0.1,
                            "largest_loss": 0.1,
                        },
                    }
                ],
            }
        ]
    },
    "probes.json": {
        "rows": [
            {
                **{"quantity": "dispersion", "pattern": "full", "counterfactual": False, "epoch": 6},
                **{"data": "held_out", "samples": 64, "num": 8, "mean": 1.5, "null": None, "layer": 0},
                **{
                    "head": None,
                    "quantiles": {"25": 1.0, "50": 1.5, "75": 2.0},
                    "quantities": "all:1f3a9c2e",
                },
            }
        ]
    },
}
FILES = ("record.json", *MEASURED)


def paths_in(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value in it: of a list, its first."""
    if above:
        yield above
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for key, each in inner:
        yield from paths_in(each, (*above, key))


def with_wrong(values: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    changed = part = copy.deepcopy(values)
    for key in path[:-1]:
        part = part[key]
    if wrong == "away":
        del part[path[-1]]
    else:
        part[path[-1]] = wrong
    return changed


def damaged_runs(store: Path, wrongs: Sequence[Any], names: Sequence[str] = FILES) -> list[Record]:
    """A run for each value of one of its files and each way to be wrong, all with seeds of their own."""
    whole = {
        **{"environment": {"host": "a", "numerics": {"torch": "2"}}, "problems": [], "attempts": 1},
        **{"steps": {"step": [40, 80, 120], "train_accuracy": [0.5, 0.6, 0.97]}},
    }
    first = record_of(spec_of("even_pairs", "full", 1, training__epochs=6), middle=3, last=6) | whole
    cases = [
        (name, path, wrong)
        for name in names
        for path in paths_in(first if name == "record.json" else MEASURED[name])
        for wrong in wrongs
    ]
    found = []
    for seed, (name, path, wrong) in enumerate(cases):
        record = first | {"run": f"{seed:020x}", "spec": first["spec"] | {"seed": seed}}
        files = {**MEASURED, "spec.json": record["spec"], "record.json": record}
        files[name] = with_wrong(files[name], path, wrong)
        folder = store / record["run"]
        folder.mkdir(parents=True)
        for file, values in files.items():
            (folder / file).write_text(json.dumps(values), encoding="utf-8")
        found.append(read_record(RunDirectory(folder)))
    return found


@pytest.mark.parametrize("wrongs", [WRONG[:3], pytest.param(WRONG[3:], marks=pytest.mark.slow)])
def test_one_wrong_value_stops_no_reader(wrongs: Sequence[Any], tmp_path: Path) -> None:
    damaged = damaged_runs(tmp_path / "store", wrongs)
    assert len(damaged) > 300
    assert 0.2 < sum(record.state == "corrupt" for record in damaged) / len(damaged) < 0.9
    specs = [
        spec_of("even_pairs", pattern, seed, training__epochs=6)
        for pattern in ("full", "top_k(5)")
        for seed in range(0, len(damaged), 20)
    ]
    good = [Record(record_of(spec, middle=3, last=6)) for spec in specs]
    records = [*good, *damaged]
    assert Analysis.of(records).judged
    assert len({result_digest(record) for record in records}) > 1
    assert [progress_of(record).run for record in records] == [record.run for record in records]
    assert f"{len(records)} runs" in report_text(records)
    export(records, tmp_path / "tables", "parquet")
    assert len(read_export(tmp_path / "tables")) == len(records)
    assert archive(records, tmp_path / "archive") == len(records)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_one_wrong_value_stops_no_page(name: str, tmp_path: Path) -> None:
    damaged = damaged_runs(tmp_path / "store", WRONG, [name])
    for first in range(0, len(damaged), 50):
        assert "runs on" in report_page(damaged[first : first + 50])
