"""How steep the loss is around a trained model, read from its landscapes."""

from statistics import median

from semfocus.execution.executor import Conditions
from semfocus.execution.measuring import survey
from semfocus.measurements import Landscape
from semfocus.measurements.landscape.plan import plan_landscape
from semfocus.measurements.landscape.surface import QUANTILE, RADIUS, read_landscape, steepness
from semfocus.runs import Store
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
