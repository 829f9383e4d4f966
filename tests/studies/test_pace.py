"""What runs to come are expected to take, from runs made by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from semfocus.runs import RunSpec
from semfocus.runs.record import Record
from semfocus.studies.cost import rough_seconds
from semfocus.studies.pace import Pace

Make = Callable[..., RunSpec]


def ended(
    spec: RunSpec, seconds: Sequence[float], reached: int | None = None, state: str = "done"
) -> tuple[RunSpec, Record]:
    """A run with these seconds per epoch, that reached 95 % at an epoch, or never."""
    epochs = range(len(seconds) + 1)
    curve: dict[str, Any] = {
        "epoch": list(epochs),
        "train_accuracy": [1.0 if reached is not None and epoch >= reached else 0.5 for epoch in epochs],
        "train_seconds": [0.0, *seconds],
        "evaluation_seconds": [9.0, *[0.0] * len(seconds)],
    }
    return spec, Record({"run": spec.digest, "state": state, "curve": curve})


@pytest.fixture
def small(tiny_spec: Make) -> Make:
    def build(**training: Any) -> RunSpec:
        seed, pattern = training.pop("seed", 0), training.pop("pattern", "top_k(3)")
        return tiny_spec(seed=seed, pattern=pattern, training={"epochs": 100, **training})

    return build


def test_a_machine_that_was_busy_for_a_while_does_not_count(small: Make) -> None:
    """A third of the epochs of each run took ten times as long, and all of one run in three."""
    known = [
        ended(small(seed=0), [1.0, 1.0, 10.0]),
        ended(small(seed=1), [1.0, 10.0, 1.0]),
        ended(small(seed=2), [10.0, 10.0, 10.0]),
    ]
    assert Pace(known).seconds(small(seed=3)) == 100.0
    assert Pace(known).seconds(small(seed=3), after=60) == 40.0
    assert Pace(known).seconds(small(seed=3), after=101) == 0.0


def test_a_run_that_stops_takes_the_median_of_its_arm_on_its_task(small: Make) -> None:
    known = [ended(small(seed=seed), [1.0] * 100, place) for seed, place in enumerate((20, 30, None))]
    known += [ended(small(seed=0, pattern="full"), [1.0] * 100, 80)]
    pace = Pace(known)
    assert pace.epochs(small(seed=3)) == 100
    assert pace.epochs(small(seed=3, stop_at=0.95)) == 30
    assert pace.epochs(small(seed=3, stop_at=0.95, epochs=25)) == 25, "its limit comes sooner"
    assert pace.seconds(small(seed=3, stop_at=0.95)) == 30.0
    assert pace.epochs(small(seed=3, stop_at=0.95, clip_norm=5.0)) == 30, "the same arm, set otherwise"
    assert pace.epochs(small(seed=3, stop_at=0.95, pattern="top_k(2)")) == 55, "any arm: 20, 30, 80 and 100"
    assert pace.epochs(small(seed=3, stop_at=0.95, length=9)) == 100, "of another size nothing is known"


def test_a_run_that_stopped_earlier_says_nothing_about_a_higher_target(small: Make) -> None:
    low = small(seed=0, stop_at=0.9)
    pace = Pace([ended(low, [1.0] * 4)])
    assert pace.epochs(small(seed=1, stop_at=0.95)) == 100
    assert Pace([ended(small(seed=0, stop_at=0.95), [1.0] * 4, 4)]).epochs(small(seed=1, stop_at=0.95)) == 4


def test_of_a_run_that_goes_on_only_its_seconds_count(small: Make) -> None:
    pace = Pace([ended(small(seed=0, stop_at=0.95), [2.0] * 4, 4, state="running")])
    assert pace.seconds(small(seed=1, stop_at=0.95)) == 200.0


def test_seconds_that_nobody_measured_come_from_a_formula(small: Make) -> None:
    spec, record = ended(small(seed=0), [float("nan")] * 3)
    without = Record({**record, "curve": {name: record.curve[name] for name in ("epoch", "train_accuracy")}})
    other = small(seed=1)
    for known in ([], [(spec, record)], [(spec, without)]):
        assert Pace(known).seconds(other) == rough_seconds(other)


def test_records_whose_spec_cannot_be_read_say_nothing(small: Make) -> None:
    spec, record = ended(small(seed=0), [1.0] * 3)
    good = Record({**record, "spec": spec.model_dump(mode="json")})
    bad = Record({**record, "spec": {"task": "nobody knows"}})
    assert Pace.of([good, bad]).seconds(small(seed=1)) == 100.0
