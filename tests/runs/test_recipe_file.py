from pathlib import Path

import pytest
import torch

from semfocus import parse_pattern
from semfocus.runs import RunSpec, load_recipe, open_store, result_digest
from semfocus.tasks import TASKS
from semfocus.training import Observer, run
from tests.tests_recipe import RECIPE


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(RECIPE)
    return path


def test_a_users_pattern_and_task_train(recipe: Path, store) -> None:
    _, digest = load_recipe(recipe)
    spec = RunSpec(
        task="first_bit",
        pattern="every_other(2)+G1",
        recipe=digest,
        model={"d_model": 8, "d_mlp": 8, "num_blocks": 1},
        training={"length": 6, "num_train": 40, "num_held_out": 20, "epochs": 2},
    )
    assert run(spec, store)["state"] == "done"
    assert str(parse_pattern("every_other(2)")) == "every_other(2)"
    kept = parse_pattern("every_other(2)").keep(torch.zeros(1, 4), torch.ones(1, 4, dtype=torch.bool))
    assert kept.int().tolist() == [[1, 0, 1, 0]]


def test_the_source_is_part_of_the_runs_identity(recipe: Path) -> None:
    _, first = load_recipe(recipe)
    recipe.write_text(RECIPE + "\n# changed\n", encoding="utf-8")
    _, second = load_recipe(recipe)
    assert first != second
    specs = [RunSpec(task="first_bit", recipe=digest) for digest in (first, second)]
    assert specs[0].digest != specs[1].digest


def test_a_built_in_name_cannot_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "thief.py"
    path.write_text(RECIPE.replace('"first_bit"', '"parity"'))
    with pytest.raises(ValueError, match="'parity' is taken"):
        load_recipe(path)
    assert type(TASKS["parity"]).__module__ == "semfocus.tasks.parity"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read the recipe file .*nothing\.py"):
        load_recipe(tmp_path / "nothing.py")


class InterruptOnce(Observer):
    def __init__(self) -> None:
        self.done = False

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        if epoch == 2 and not self.done:
            self.done = True
            raise KeyboardInterrupt


def test_a_users_pattern_and_task_resume_bit_identically(recipe: Path, tmp_path: Path) -> None:
    _, digest = load_recipe(recipe)
    spec = RunSpec(
        task="first_bit",
        pattern="every_other(3)",
        recipe=digest,
        model={"d_model": 8, "d_mlp": 8, "num_blocks": 1},
        training={"length": 6, "num_train": 40, "num_held_out": 20, "epochs": 4},
    )
    whole = run(spec, open_store(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        run(spec, open_store(tmp_path / "parts"), observers=[InterruptOnce()])
    assert result_digest(run(spec, open_store(tmp_path / "parts"))) == result_digest(whole)


def test_of_two_files_with_one_name_the_last_loaded_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text(RECIPE)
    second.write_text(RECIPE + "\n# another file\n")
    for path in (first, second, first):
        module, _ = load_recipe(path)
        assert type(parse_pattern("every_other(2)")) is module.EveryOther
