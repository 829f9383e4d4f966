"""The guide that the theory of stability gives for twin runs."""

import pytest

from semfocus.measurements.twins import stability_guide
from semfocus.theory import stability_schedule

TWINS = {
    "learning_rates": [0.01, 0.005],
    "steps_per_epoch": 3,
    "largest_sample_gradient": 1.0,
    "is_plain_descent": True,
    "largest_loss_ratio": 2.0,
    "largest_gradient_ratio": 1.5,
    "num_train": 100,
    "largest_loss": 4.0,
    "batch_size": 5,
}


def test_it_is_the_theorys_bound_over_the_largest_loss() -> None:
    bound, _ = stability_schedule([0.01] * 3 + [0.005] * 3, 1.0, 2.0, 1.5, 100, 4.0, 5)
    assert stability_guide(TWINS) == pytest.approx(bound / 4.0)
    assert 0 < stability_guide(TWINS) < 1


def test_steps_that_are_many_and_steep_leave_no_guide_at_all() -> None:
    assert stability_guide({**TWINS, "learning_rates": [0.5] * 400, "largest_gradient_ratio": 50.0}) == 1.0


@pytest.mark.parametrize(
    "lost",
    [
        {"is_plain_descent": False},
        {"largest_loss": None},
        {"largest_sample_gradient": float("nan")},
        {"largest_loss": 0.0},
    ],
)
def test_without_a_number_there_is_none(lost: dict) -> None:
    assert stability_guide({**TWINS, **lost}) is None
