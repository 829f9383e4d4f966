"""A quadratic gives its known contour."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from semfocus.measurements.landscape.place import grid_axis
from semfocus.probes.loss_surface.loss_grid import losses_along_row

CURVATURES = torch.tensor([1.0, 4.0, 9.0], dtype=torch.float64)


def quadratic(parameters: Mapping[str, Tensor]) -> float:
    """sum of c_i w_i^2 / 2"""
    return float((CURVATURES * parameters["w"].square()).sum() / 2)


def grid_of(points: int, radius: float) -> np.ndarray:
    centre = {"w": torch.zeros(3, dtype=torch.float64)}
    first, second = ({"w": torch.tensor(each, dtype=torch.float64)} for each in ([1.0, 0, 0], [0, 2.0, 0]))
    axis = grid_axis(points, radius)
    return np.array([list(losses_along_row(quadratic, centre, (first, second), axis, y)) for y in axis])


def test_a_quadratic_gives_its_contour() -> None:
    x, y = np.meshgrid(grid_axis(5, 2.0), grid_axis(5, 2.0))
    assert np.array_equal(grid_of(5, 2.0), x**2 / 2 + 4 * (2 * y) ** 2 / 2)


def test_the_centre_is_the_point_itself_to_the_last_bit() -> None:
    centre = {"w": torch.tensor([0.1, -0.0, 1e-30])}
    wild = {"w": torch.tensor([math.inf, math.nan, 1e30])}
    seen: list[Tensor] = []
    list(losses_along_row(lambda at: seen.append(at["w"].clone()) or 0.0, centre, (wild, wild), [0.0], 0.0))
    assert seen[0].numpy().tobytes() == centre["w"].numpy().tobytes()


@pytest.mark.parametrize("points", [40, 1, 0, -3])
def test_a_grid_without_a_centre_is_refused(points: int) -> None:
    with pytest.raises(ValueError, match=f"odd, and at least 3, .* got {points}"):
        grid_axis(points, 1.0)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_a_radius_must_be_a_positive_number(radius: float) -> None:
    with pytest.raises(ValueError, match="radius must be a positive number"):
        grid_axis(3, radius)
