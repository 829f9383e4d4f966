"""How steep a loss surface is: quantiles of the differences between neighbouring grid points over the step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

QUANTILES = (50, 75, 95, 99)


@dataclass(frozen=True)
class LipschitzEstimate:
    """Inside abs(x), abs(y) <= radius, the edge included: at the largest radius the whole grid counts.

    `grid` is per unit of the coordinates, as in the paper; `distance` per unit of distance between the parameters.
    Both map a quantile in percent to its value; `num` differences counted, `num_left_out` had an end that is not
    finite. Without any finite difference the values are None.
    """

    radius: float
    num: int
    num_left_out: int
    grid: dict[int, float | None]
    distance: dict[int, float | None]


def lipschitz_estimate(
    losses: NDArray[np.float64],
    axis: Sequence[float],
    lengths: tuple[float, float],
    radius: float,
    quantiles: Sequence[int] = QUANTILES,
) -> LipschitzEstimate:
    """`losses[row, column]` is at y = axis[row], x = axis[column]; `lengths` are those of the two directions."""
    if losses.shape != (len(axis), len(axis)):
        raise ValueError(f"losses must be {len(axis)} x {len(axis)} as the axis is, got {losses.shape}")
    inside = np.flatnonzero(np.abs(np.asarray(axis)) <= radius * (1 + 1e-9))
    part = losses[np.ix_(inside, inside)]
    step = (axis[-1] - axis[0]) / (len(axis) - 1)
    with np.errstate(invalid="ignore"):  # inf - inf
        differences = [np.abs(np.diff(part, axis=which)).ravel() / step for which in (1, 0)]
    finite = [each[np.isfinite(each)] for each in differences]
    per_distance = [
        each / along if along > 0 else each[:0] for each, along in zip(finite, lengths, strict=True)
    ]
    num = sum(map(len, finite))
    return LipschitzEstimate(
        radius=radius,
        num=num,
        num_left_out=sum(map(len, differences)) - num,
        grid=_quantiles(np.concatenate(finite), quantiles),
        distance=_quantiles(np.concatenate(per_distance), quantiles),
    )


def lipschitz_curve(
    losses: NDArray[np.float64], axis: Sequence[float], lengths: tuple[float, float]
) -> list[LipschitzEstimate]:
    """The estimate at every radius of the grid, from one step to the whole."""
    return [lipschitz_estimate(losses, axis, lengths, radius) for radius in axis if radius > 0]


def _quantiles(values: NDArray[np.float64], wanted: Sequence[int]) -> dict[int, float | None]:
    if not len(values):
        return dict.fromkeys(wanted)
    return {each: float(value) for each, value in zip(wanted, np.percentile(values, wanted), strict=True)}
