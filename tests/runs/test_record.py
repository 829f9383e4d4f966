"""The digest of a result: what it counts, and what it leaves out. When a target counts as reached."""

from typing import Any

import pytest

from semfocus.runs.outcome import TARGET_ACCURACY, summarise
from semfocus.runs.record import result_digest, study_digest

RECORD: dict[str, Any] = {
    "run": "a1",
    "spec": {"task": "parity", "seed": 0},
    "state": "done",
    "reason": None,
    "curve": {
        "epoch": [0, 1],
        "train_loss": [0.7, 0.6],
        "train_seconds": [0.0, 1.0],
        "gradient_norm": [None, 1.0],
    },
    "summary": {"epochs_to_target": None, "seconds": 1.0},
    "weights": "0123",
    "attempts": 1,
    "problems": [],
    "environment": {"host": "here"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"weights": "0124"},
        {"state": "diverged"},
        {"spec": {"task": "parity", "seed": 1}},
        {"curve": {**RECORD["curve"], "train_loss": [0.7, 0.6 + 1e-16]}},
        {"curve": {**RECORD["curve"], "epoch": [0]}},
        {"summary": {"epochs_to_target": 1, "seconds": 1.0}},
    ],
)
def test_another_result_has_another_digest(change: dict[str, Any]) -> None:
    other = RECORD | change
    assert other != RECORD
    assert result_digest(other) != result_digest(RECORD)
    assert study_digest([other]) != study_digest([RECORD])


@pytest.mark.parametrize(
    "change",
    [
        {"attempts": 3, "problems": ["continued"], "environment": {"host": "there"}},
        {"curve": {**RECORD["curve"], "train_seconds": [0.0, 2.0]}},
        {"curve": {key: values for key, values in RECORD["curve"].items() if key != "gradient_norm"}},
        {"summary": {"epochs_to_target": None, "seconds": 2.0}},
    ],
)
def test_where_when_and_how_often_it_was_tried_is_no_result(change: dict[str, Any]) -> None:
    assert result_digest(RECORD | change) == result_digest(RECORD)


def test_a_target_is_reached_at_its_own_accuracy() -> None:
    row = {"train_loss": 0.0, "held_out_loss": 0.0, "train_seconds": 1.0, "held_out_accuracy": 0.5}
    accuracies = [0.5, TARGET_ACCURACY - 1e-9, TARGET_ACCURACY, 1.0]
    rows = [row | {"epoch": epoch, "train_accuracy": each} for epoch, each in enumerate(accuracies)]
    assert summarise(rows)["epochs_to_target"] == 2
