"""A sample of `make torture`: faults at some points in every mode, and loss of power at some moments."""

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from semfocus import durable
from tests.faults.matrix import Ready, ready
from tests.faults.planting import MODES, possible
from tests.faults.power import Disk, Folder, lose_power, view

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    with contextlib.redirect_stdout(io.StringIO()):
        return ready("fresh study", tmp_path_factory.mktemp("faults") / "fresh")


def test_a_study_makes_all_kinds_of_operations(fresh: Ready) -> None:
    kinds = {kind for kind, _ in fresh.points}
    assert kinds >= {"open", "write", "fsync", "fsync of a directory", "rename", "mkdir", "lock", "read"}
    assert {mode for _, mode in fresh.cases()} == set(MODES)
    assert len(fresh.points) > 80


@pytest.mark.parametrize("mode", MODES)
def test_after_a_fault_the_same_command_ends_as_if_nothing_had_happened(fresh: Ready, mode: Any) -> None:
    cases = [number for number, each in fresh.cases() if each == mode]
    for number in cases[7 :: max(1, len(cases) // 2)][:2]:
        assert fresh.problems(number, mode) == []


def test_the_matrix_sees_a_result_that_is_lost(fresh: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that called itself done without its record would be noticed."""

    def forgetful(path: Path, content: bytes) -> None:
        if path.name != "record.json":
            durable.write_durably(path, content)

    monkeypatch.setattr("semfocus.runs.directory.write_durably", forgetful)
    assert any("record.json is missing" in each for each in fresh.problems(0, "EIO"))


def test_power_may_go_at_any_moment(fresh: Ready) -> None:
    found = lose_power(fresh, num=5, most=5)
    assert found.problems == []
    assert found.states >= 25
    assert found.continued >= 4


def recorded(folder: Path, make: Callable[[], object]) -> list[Folder]:
    disk = Disk(folder)
    with durable.intercept(disk):
        make()
    return [top for _, top in disk.moments]


def test_what_was_written_durably_is_there_after_any_loss_of_power(tmp_path: Path) -> None:
    import random

    from tests.faults.power import states

    (tmp_path / "file").write_bytes(b"old")
    moments = recorded(tmp_path, lambda: durable.write_durably(tmp_path / "file", b"new" * 500))
    seen = {tree.get("file") for top in moments for tree in states(top, random.Random(0), 50)}
    assert seen == {b"old", b"new" * 500}
    assert {tree.get("file") for tree in states(moments[-1], random.Random(0), 50)} == {b"new" * 500}


def test_a_checkpoint_that_has_its_name_is_whole_after_any_loss_of_power(tmp_path: Path) -> None:
    import random

    from semfocus.runs.checkpoints import Checkpoint, save_checkpoint
    from tests.faults.power import states

    def save(epoch: int) -> None:
        weights = {"weight": torch.full((500,), float(epoch))}
        save_checkpoint(tmp_path, "last", Checkpoint(epoch, {"model": weights}), keep=2)

    save(1)
    moments = recorded(tmp_path, lambda: save(2))
    names = ("last-000002/model.safetensors", "last-000002/manifest.json")
    whole = [(tmp_path / name).read_bytes() for name in names]
    draw = random.Random(0)
    for at, top in enumerate(moments):
        for tree in states(top, draw, 20):
            assert "last-000001/manifest.json" in tree
            if "last-000002" in tree or at == len(moments) - 1:
                assert [tree.get(name) for name in names] == whole


@pytest.mark.parametrize("missing", ["sync", "sync_directory"])
def test_the_disk_of_the_model_forgets_what_was_not_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Without one of the two the old content may come back, or a mixture."""
    import random

    from tests.faults.power import states

    monkeypatch.setattr(durable, missing, lambda place: None)
    (tmp_path / "file").write_bytes(b"old")
    moments = recorded(tmp_path, lambda: durable.write_durably(tmp_path / "file", b"new" * 500))
    seen = {tree.get("file") for tree in states(moments[-1], random.Random(0), 50)}
    assert seen - {b"new" * 500}
    assert missing != "sync" or seen - {b"new" * 500, b"old"}


def test_states_that_differ_in_what_nobody_reads_look_alike() -> None:
    one, other = {"a/.x.1-ab.partial": b"1"}, {"a/.x.2-cd.partial": b"2"}
    assert view(one, set()) == view(other, set())
    assert view({"j.jsonl": b"1\n2"}, set()) != view({"j.jsonl": b"1\n"}, set())


def test_what_can_fail_for_want_of_space() -> None:
    assert possible("write", "ENOSPC")
    assert not possible("read", "ENOSPC")
    assert not possible("fsync", "short write")
