"""The centre is the model, every executor gives the same bits, and a kill loses at most a row."""

import json
import math
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
import torch

from semfocus.execution.executor import Conditions
from semfocus.execution.measurement_parts import MeasuredPart, survey
from semfocus.execution.progress import Watcher
from semfocus.measurements import Landscape
from semfocus.measurements.landscape.grids import missing_parts
from semfocus.measurements.landscape.plan import PlannedLandscape, plan_landscape
from semfocus.measurements.landscape.surface import Surface, read_landscape
from semfocus.runs import RunDirectory, Store
from semfocus.runs.checkpoints import Checkpoint, save_checkpoint
from semfocus.runs.directory import DamagedRun
from semfocus.training import dataset_of, evaluate, run
from semfocus.training.trained_run import load_run

SMALL = Landscape(points=5, radius=0.5)


def computed(trained: RunDirectory, options: Landscape = SMALL, executor: str = "serial") -> Surface:
    planned = plan_landscape(trained, options, "cpu")
    survey(planned.places, Conditions(executor, workers=2, device="cpu"))
    return read_landscape(planned)


def copy_of(trained: RunDirectory, name: str) -> RunDirectory:
    path = trained.path.parent.parent / name / trained.name
    shutil.copytree(trained.path, path)
    return RunDirectory(path)


@pytest.mark.parametrize("pattern", ["full", "top_k(3)", "random(3)", "block_local(3)+G1"])
@pytest.mark.parametrize("data", ["train", "held_out"])
def test_the_centre_is_the_loss_of_the_model(store: Store, tiny_spec, pattern: str, data: str) -> None:
    spec = tiny_spec(pattern=pattern)
    record = run(spec, store, device="cpu")
    trained = store.directory(spec)
    found = computed(trained, Landscape(points=3, data=data, scaling="filter"))
    model, samples = load_run(trained), getattr(dataset_of(spec), data)
    expected = evaluate(model.model, samples, spec.seed, model.epoch).loss
    assert found.grids[0].centre == expected == found.own_loss
    assert expected == record["curve"][f"{data}_loss"][-1] == found.recorded_loss
    assert len(np.unique(found.grids[0].losses)) == 9, "every point is another model"


def test_a_subset_of_the_samples(trained: RunDirectory) -> None:
    found = computed(trained, Landscape(points=3, samples=7))
    assert found.grids[0].centre == found.own_loss != computed(trained).own_loss
    assert found.recorded_loss is None
    for samples in (0, -1, 61):
        with pytest.raises(ValueError, match=f"samples must be from 1 to 60, .*; got {samples}"):
            plan_landscape(trained, Landscape(samples=samples), "cpu")


@pytest.mark.slow
def test_the_pool_gives_the_same_bits_as_this_process(trained: RunDirectory) -> None:
    other = copy_of(trained, "other")
    options = Landscape(points=5, pairs=2, hessian=1)
    here, there = computed(trained, options), computed(other, options, "pool")
    assert [grid.losses.tobytes() for grid in here.grids] == [grid.losses.tobytes() for grid in there.grids]
    assert here.eigenvalues == there.eigenvalues
    assert here.as_plain() == there.as_plain()
    assert not np.array_equal(here.grids[0].losses, here.grids[1].losses)


def test_what_is_there_is_not_computed_again(trained: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = computed(trained).grids[0].losses
    planned = plan_landscape(trained, SMALL, "cpu")
    values = planned.grids[0].path / "values.jsonl"
    lines = values.read_bytes().splitlines(keepends=True)
    values.write_bytes(b"".join(lines[:2]) + lines[2][:-9])  # the third row was being written
    rows: list[int] = []
    add = type(planned.grids[0]).add_row
    monkeypatch.setattr(
        type(planned.grids[0]), "add_row", lambda self, row, *rest: (rows.append(row), add(self, row, *rest))
    )
    survey(planned.places, Conditions("serial", device="cpu"))
    assert rows == [3, 0, 4]  # the centre's row came first, then its neighbours
    assert np.array_equal(read_landscape(planned).grids[0].losses, whole)


# After three rows it waits to be killed, so that no machine is too fast for that.
PROGRAM = """
import signal, sys
from pathlib import Path
from semfocus.runs import RunDirectory
from semfocus.measurements.landscape.place import LandscapeDirectory
from semfocus.measurements import Landscape
from semfocus.measurements.landscape.plan import plan_landscape
from semfocus.execution.executor import Conditions
from semfocus.execution.measurement_parts import MeasuredPart, survey
from semfocus.execution.progress import Watcher

add_row, added = LandscapeDirectory.add_row, []

def add_three(*arguments):
    add_row(*arguments)
    added.append(arguments)
    if len(added) == 3:
        print("three rows", flush=True)
        signal.pause()

LandscapeDirectory.add_row = add_three
planned = plan_landscape(RunDirectory(Path(sys.argv[1])), Landscape(points=15), "cpu")
survey(planned.places, Conditions(sys.argv[2], workers=2, device="cpu"))
"""


@pytest.mark.parametrize("executor", ["serial", pytest.param("pool", marks=pytest.mark.slow)])
def test_a_killed_survey_continues_to_the_same_grid(trained: RunDirectory, executor: str) -> None:
    whole = computed(copy_of(trained, "whole"), Landscape(points=15))
    command = [sys.executable, "-c", PROGRAM, str(trained.path), executor]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "three rows\n"
        process.kill()
    (values,) = trained.landscapes.glob("grid-*/values.jsonl")
    kept = values.read_bytes()
    assert kept.count(b"\n") == 3
    again = computed(trained, Landscape(points=15), executor)
    assert again.grids[0].losses.tobytes() == whole.grids[0].losses.tobytes()
    assert values.read_bytes().startswith(kept)
    assert values.read_bytes().count(b"\n") == 15, "no row is computed twice"


def test_ctrl_c_keeps_the_rows_that_are_done(trained: RunDirectory) -> None:
    planned = plan_landscape(trained, SMALL, "cpu")

    class Interrupt(Watcher):
        points = 0

        def epoch_ended(self, work: MeasuredPart, row: dict[str, float]) -> None:
            self.points += 1
            if self.points == 12:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey(planned.places, Conditions("serial", device="cpu", watcher=Interrupt()))
    assert sorted(planned.grids[0].rows()) == [1, 2]
    with pytest.raises(ValueError, match="lacks 3 of its 5 rows"):
        read_landscape(planned)
    survey(planned.places, Conditions("serial", device="cpu"))
    assert len(planned.grids[0].rows()) == 5


def test_losses_that_are_not_finite_are_kept_as_they_are(trained: RunDirectory) -> None:
    found = computed(trained, Landscape(points=5, radius=1e38))
    losses = found.grids[0].losses
    assert not np.isfinite(losses).all()
    assert found.num_not_finite == int((~np.isfinite(losses)).sum())
    assert math.isfinite(found.grids[0].centre)
    plain = json.dumps(found.as_plain()["grids"][0]["losses"], allow_nan=False)
    assert "nan" in plain or "inf" in plain


def test_a_landscape_in_use_is_waited_for_and_not_touched(trained: RunDirectory) -> None:
    """Here the other process computes the first grid; the second is left to us."""
    planned = plan_landscape(trained, Landscape(points=5, radius=0.25, pairs=2), "cpu")
    place, *others = planned.places
    seen = Seen()
    with ThreadPoolExecutor(1) as threads:
        with place.owned():
            waiting = threads.submit(survey, planned.places, Conditions("serial", device="cpu", watcher=seen))
            assert seen.computed.wait(60), "what nobody has is computed meanwhile"
            while any(missing_parts(each) for each in others):
                time.sleep(0.01)
            assert place.rows() == {}
            for part in missing_parts(place):
                found = Landscape().compute(
                    trained, part, device="cpu", threads=1, notify=lambda message: None
                )
                Landscape().keep(trained, part, found)
        waiting.result(60)
    assert place.name not in {name.split("/")[1] for name in seen.started}, (
        "what is kept is not computed again"
    )


def test_a_landscape_that_another_process_leaves_is_gone_on_with(trained: RunDirectory) -> None:
    planned = plan_landscape(trained, Landscape(points=5, radius=0.75), "cpu")
    with ThreadPoolExecutor(1) as threads:
        with planned.grids[0].owned():
            waiting = threads.submit(survey, planned.places, Conditions("serial", device="cpu"))
            time.sleep(0.3)
            assert not waiting.done()
        waiting.result(60)
    assert not any(missing_parts(place) for place in planned.places)


class Seen(Watcher):
    """Which parts were computed here."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.computed = Event()

    def epoch_ended(self, work: MeasuredPart, row: dict) -> None:
        self.started.append(work.digest)
        self.computed.set()


@pytest.mark.parametrize("points", [4, 40, 1])
def test_a_grid_without_a_centre_is_refused(trained: RunDirectory, points: int) -> None:
    with pytest.raises(ValueError, match=f"odd, and at least 3, so that the centre .* got {points}"):
        plan_landscape(trained, Landscape(points=points), "cpu")


def test_a_checkpoint_of_another_model_is_refused(trained: RunDirectory) -> None:
    weights = {"readout.weight": torch.zeros(2, 9), "readout.bias": torch.zeros(2)}
    for path in trained.checkpoints.glob("last-*"):
        shutil.rmtree(path)
    save_checkpoint(trained.checkpoints, "last", Checkpoint(4, {"model": weights}), keep=1)
    with pytest.raises(ValueError, match=r"the checkpoint of epoch 4 of run .* is of another model: blocks"):
        plan_landscape(trained, SMALL, "cpu")


def test_other_weights_in_a_landscape_are_noticed(trained: RunDirectory) -> None:
    planned = plan_landscape(trained, SMALL, "cpu")
    place = planned.grids[0]
    weights = {name: tensor + 1 for name, tensor in place.weights().items()}
    save_checkpoint(place.path, "centre", Checkpoint(planned.epoch, {"model": weights}), keep=1)
    with pytest.raises(DamagedRun, match="not those that it was made for"):
        place.weights()
    with pytest.raises(ValueError, match="not those that it was made for"):
        survey_of(planned)


def survey_of(planned: PlannedLandscape) -> None:
    survey(planned.places, Conditions("serial", device="cpu"))


def test_a_run_without_weights_says_so(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    store.directory(spec).create(spec.model_dump(mode="json"))
    with pytest.raises(ValueError, match="has no state to measure"):
        plan_landscape(store.directory(spec), SMALL, "cpu")


@pytest.mark.parametrize("epoch", ["first", "reaching", "-1", "reaching:high"])
def test_an_unknown_epoch_is_an_error(trained: RunDirectory, epoch: str) -> None:
    with pytest.raises(ValueError, match=r"epoch|reaching"):
        plan_landscape(trained, Landscape(epoch=epoch), "cpu")


def test_a_part_that_cannot_be_computed_says_why(trained: RunDirectory) -> None:
    planned = plan_landscape(trained, SMALL, "cpu")
    shutil.rmtree(next(planned.grids[0].path.glob("centre-*")))
    with pytest.raises(ValueError, match="has no usable weights: none kept"):
        survey(planned.places, Conditions("pool", workers=1, device="cpu"))


@pytest.mark.parametrize("control", [{"score_gradient": 0.5}, {"match_dispersion": "full"}])
def test_a_gradient_of_no_loss_has_no_hessian(store: Store, tiny_spec, control: dict[str, object]) -> None:
    spec = tiny_spec(model=control)
    run(spec, store)
    with pytest.raises(ValueError, match="there is no Hessian"):
        plan_landscape(store.directory(spec), replace(SMALL, hessian=1), "cpu")
