"""How steep the loss is around a trained model, read from its landscapes."""

from pathlib import Path
from statistics import median

from semfocus.execution.executor import Conditions
from semfocus.execution.measurement_parts import survey
from semfocus.measurements import Landscape
from semfocus.measurements.landscape.plan import plan_landscape
from semfocus.measurements.landscape.surface import (
    QUANTILE,
    RADIUS,
    landscape_rows,
    read_landscape,
    steepness,
)
from semfocus.report.export import export, read_export
from semfocus.runs import RunDirectory, Store
from semfocus.runs.record import read_record
from semfocus.training import run


def test_the_median_over_finished_grids_of_the_training_loss(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    run(spec, store, device="cpu")
    directory = store.directory(spec)
    assert steepness(read_record(directory)) == []
    planned = plan_landscape(directory, Landscape(points=5, radius=1.0, pairs=2), "cpu")
    assert steepness(read_record(directory)) == [], "planned, and not computed yet"
    survey(planned.places, Conditions("serial", device="cpu"))
    other = plan_landscape(directory, Landscape(points=3, radius=0.2), "cpu")
    survey(other.places, Conditions("serial", device="cpu"))
    unlike = plan_landscape(directory, Landscape(points=5, radius=1.0, samples=7), "cpu")
    apart = plan_landscape(directory, Landscape(points=5, radius=1.0, data="held_out"), "cpu")
    survey([*unlike.places, *apart.places], Conditions("serial", device="cpu"))
    rows = steepness(read_record(directory))
    assert len(rows) == 2, (
        "grids on fewer samples are of another kind, those of held-out data are no part of it"
    )
    (found,) = [each for each in rows if " 7 samples" not in each["grid"]]
    grids = read_landscape(planned).grids
    inside = [each for grid in grids for each in grid.lipschitz if each.radius == RADIUS]
    assert found["steepness"] == median(each.distance[QUANTILE] for each in inside)
    assert (found["epoch"], found["grids"]) == (4, 2), "the small grid does not reach that far"


def test_the_ends_of_a_finished_hessian_stand_beside_the_steepness(
    trained: RunDirectory, tmp_path: Path
) -> None:
    planned = plan_landscape(trained, Landscape(points=5, pairs=1, hessian=2), "cpu")
    assert landscape_rows(read_record(trained)) == [], "planned, and not computed yet"
    survey(planned.places, Conditions("serial", device="cpu"))
    rows = landscape_rows(read_record(trained))
    found = read_landscape(planned).eigenvalues
    assert found is not None
    (curved,) = [row for row in rows if "hessian" in row]
    assert (curved["largest_eigenvalue"], curved["smallest_eigenvalue"]) == (
        max(found["largest"]),
        min(found["smallest"]),
    )
    assert steepness(read_record(trained)) == [row for row in rows if row is not curved]
    export([read_record(trained)], tmp_path / "tables", "csv")
    (back,) = read_export(tmp_path / "tables")
    assert back.measured("landscape") == rows
    assert steepness(back) == steepness(read_record(trained))
