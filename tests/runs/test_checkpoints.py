import hashlib
import pickle
from pathlib import Path

import pytest
import torch

from semfocus.runs.checkpoints import (
    Checkpoint,
    DamagedCheckpoint,
    load_checkpoint,
    load_newest,
    save_checkpoint,
)
from semfocus.runs.journal import seal


def checkpoint(epoch: int) -> Checkpoint:
    return Checkpoint(epoch, {"model": {"weight": torch.full((3, 2), float(epoch))}})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    for epoch in range(4):
        save_checkpoint(tmp_path, "last", checkpoint(epoch), keep=2)
    return tmp_path


def weights_file(parent: Path, epoch: int) -> Path:
    return parent / f"last-{epoch:06d}" / "model.safetensors"


def test_two_generations_are_kept_and_the_newest_is_loaded(saved: Path) -> None:
    assert sorted(path.name for path in saved.iterdir()) == ["last-000002", "last-000003"]
    loaded, problems = load_newest(saved, "last")
    assert loaded is not None
    assert (loaded.epoch, problems) == (3, [])
    assert torch.equal(loaded.groups["model"]["weight"], torch.full((3, 2), 3.0))


def truncate(content: bytes) -> bytes:
    return content[:-1]


def flip_one_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("damage", [truncate, flip_one_bit, lambda content: b""])
@pytest.mark.parametrize("name", ["model.safetensors", "manifest.json"])
def test_damage_is_detected_and_the_previous_generation_used(saved: Path, damage, name: str) -> None:
    file = saved / "last-000003" / name
    file.write_bytes(damage(file.read_bytes()))
    loaded, problems = load_newest(saved, "last")
    assert loaded is not None
    assert loaded.epoch == 2
    assert len(problems) == 1
    assert "last-000003" in problems[0]


def test_a_missing_file_is_damage(saved: Path) -> None:
    weights_file(saved, 3).unlink()
    loaded, problems = load_newest(saved, "last")
    assert loaded is not None
    assert (loaded.epoch, len(problems)) == (2, 1)


class Trap:
    """Unpickling this would create a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path(self.path),))


def test_a_pickle_is_refused_and_never_loaded(saved: Path, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    weights_file(saved, 3).write_bytes(pickle.dumps(Trap(str(trap))))
    with pytest.raises(DamagedCheckpoint, match="not the file that was saved"):
        load_checkpoint(saved / "last-000003")
    assert not trap.exists()


def test_a_pickle_is_refused_even_where_its_manifest_fits(saved: Path, tmp_path: Path) -> None:
    trap, content = tmp_path / "sprung", pickle.dumps(Trap(str(tmp_path / "sprung")))
    weights_file(saved, 3).write_bytes(content)
    manifest = {"epoch": 3, "files": {"model.safetensors": hashlib.sha256(content).hexdigest()}}
    (saved / "last-000003" / "manifest.json").write_text(seal(manifest))
    with pytest.raises(DamagedCheckpoint, match=r"last-000003: "):
        load_checkpoint(saved / "last-000003")
    assert not trap.exists()


def test_a_checkpoint_under_the_name_of_another_epoch_is_damage(saved: Path) -> None:
    (saved / "last-000003").rename(saved / "last-000007")
    with pytest.raises(DamagedCheckpoint, match="its manifest is of epoch 3"):
        load_checkpoint(saved / "last-000007")
    loaded, problems = load_newest(saved, "last")
    assert loaded is not None
    assert (loaded.epoch, len(problems)) == (2, 1)


def test_what_has_another_name_is_no_checkpoint(saved: Path) -> None:
    for name in ("last-", "last-new", "last-3b"):
        (saved / name).mkdir()
    loaded, problems = load_newest(saved, "last")
    assert loaded is not None
    assert (loaded.epoch, problems) == (3, [])


def test_an_unfinished_save_is_invisible_and_cleared_by_the_next(saved: Path) -> None:
    partial = saved / ".last-000004.partial"
    partial.mkdir()
    (partial / "model.safetensors").write_bytes(b"half")
    loaded, problems = load_newest(saved, "last")
    assert loaded is not None
    assert (loaded.epoch, problems) == (3, [])
    save_checkpoint(saved, "last", checkpoint(4), keep=2)
    assert not partial.exists()


def test_saving_an_epoch_again_replaces_it(saved: Path) -> None:
    weights_file(saved, 3).write_bytes(b"damaged")
    save_checkpoint(saved, "last", checkpoint(3), keep=2)
    loaded, problems = load_newest(saved, "last")
    assert loaded is not None
    assert (loaded.epoch, problems) == (3, [])


def test_nothing_saved_is_no_problem(tmp_path: Path) -> None:
    assert load_newest(tmp_path, "last") == (None, [])
