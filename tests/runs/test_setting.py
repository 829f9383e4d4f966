"""What differs from the paper, told without torch but in agreement with what a spec really fills in."""

import pytest

from semfocus.runs import RunSpec
from semfocus.runs.arms import flat, unlike_the_paper
from semfocus.tasks import TASKS

ALWAYS = ("task", "pattern", "seed")


def differences(**spec: object) -> dict[str, object]:
    values = flat(RunSpec(**spec).model_dump(mode="json"))  # type: ignore[arg-type]
    found = unlike_the_paper(values["task"], values)
    return {key: value for key, value in found.items() if key not in ALWAYS}


@pytest.mark.parametrize("task", [*TASKS, "marked_majority(3)"])
def test_the_papers_setting_differs_in_nothing(task: str) -> None:
    assert differences(task=task) == {}


def test_what_differs_is_named() -> None:
    assert differences(
        task="listops",
        model={"num_blocks": 5, "initial_scale": {"query_key": 3.0}},
        training={"length": (20, 40), "learning_rate": 1.0},
        recipe="abc",
    ) == {
        "model.initial_scale.query_key": 3.0,
        "model.num_blocks": 5,
        "recipe": "abc",
        "training.length": [20, 40],
    }
