"""Slopes and rises of a loss surface that follow by hand."""

import math

import numpy as np
import pytest

from semfocus.measurements.landscape.place import grid_axis
from semfocus.measurements.landscape.surface import flatness, lipschitz_curve, lipschitz_estimate


def quadratic(points: int, radius: float) -> np.ndarray:
    x, y = np.meshgrid(grid_axis(points, radius), grid_axis(points, radius))
    return x**2 / 2 + 8 * y**2


def test_lipschitz_estimates_by_hand() -> None:
    # A plane: 3 a step of 0.5 to the right, 1 upwards. Per unit 6 and 2; per distance divided by the lengths.
    axis = [-1.0, -0.5, 0.0, 0.5, 1.0]
    plane = np.array([[3.0 * column + row for column in range(5)] for row in range(5)])
    found = lipschitz_estimate(plane, axis, (2.0, 4.0), 1.0, quantiles=(0, 50, 100))
    assert (found.num, found.num_left_out) == (40, 0)
    assert found.grid == {0: 2.0, 50: 4.0, 100: 6.0}  # half of the differences are 2, half 6
    assert found.distance == {0: 0.5, 50: 1.75, 100: 3.0}


def test_only_what_is_inside_the_radius_counts() -> None:
    losses, axis = quadratic(9, 1.0), grid_axis(9, 1.0)
    steepest = [each.grid[99] for each in lipschitz_curve(losses, axis, (1.0, 1.0))]
    assert [each.radius for each in lipschitz_curve(losses, axis, (1.0, 1.0))] == [0.25, 0.5, 0.75, 1.0]
    assert steepest == sorted(steepest)
    # Inside 0.25 there are 3 x 3 points; along y the loss falls and rises by 8 * 0.25^2.
    first = lipschitz_estimate(losses, axis, (1.0, 1.0), 0.25, quantiles=(100,))
    assert (first.num, first.grid[100]) == (12, 8 * 0.25)


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    losses = quadratic(5, 1.0)
    losses[0, 0], losses[0, 1] = math.inf, math.nan
    found = lipschitz_estimate(losses, grid_axis(5, 1.0), (1.0, 1.0), 1.0)
    assert (found.num, found.num_left_out) == (36, 4)
    assert all(value is not None and math.isfinite(value) for value in found.grid.values())
    nothing = lipschitz_estimate(np.full((3, 3), np.nan), grid_axis(3, 1.0), (1.0, 1.0), 1.0)
    assert (nothing.num, nothing.grid[50], nothing.distance[99]) == (0, None, None)


def test_flatness_by_hand() -> None:
    axis = grid_axis(5, 1.0)
    losses = np.ones((5, 5))
    losses[2, 2], losses[1, 1] = 0.0, 0.05
    losses[0, 3] = math.nan
    found = flatness(losses, axis)
    assert (found.centre, found.lowest, found.lowest_at, found.highest) == (0.0, 0.0, (0.0, 0.0), 1.0)
    assert found.num_not_finite == 1
    assert found.near_share == 2 / 25
    assert found.rise == {0.5: pytest.approx((7 + 0.05) / 8), 1.0: 1.0}
    losses[2, 2] = math.inf
    with pytest.raises(ValueError, match="the loss at the centre is inf"):
        flatness(losses, axis)
