"""How flat a loss surface is around its centre, in a few numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: a loss this little above the centre's, in nats, still counts as the same basin
NEAR = 0.1


@dataclass(frozen=True)
class Flatness:
    """`rise`: radius -> mean loss on the square ring at that radius, minus the centre's; None without a finite value.

    `near_share`: share of the grid whose loss is at most NEAR above the centre's; `lowest` with its place (x, y);
    `num_not_finite` points are in none of the means and count as not near.
    """

    centre: float
    rise: dict[float, float | None]
    near_share: float
    lowest: float
    lowest_at: tuple[float, float]
    highest: float
    num_not_finite: int


def flatness(losses: NDArray[np.float64], axis: Sequence[float]) -> Flatness:
    """Of a grid whose centre is finite; `losses[row, column]` is at y = axis[row], x = axis[column]."""
    half = len(axis) // 2
    centre = float(losses[half, half])
    if not np.isfinite(centre):
        raise ValueError(f"the loss at the centre is {centre}: the model itself has no finite loss")
    finite = np.isfinite(losses)
    row, column = divmod(int(np.argmin(np.where(finite, losses, np.inf))), len(axis))
    steps = sorted({max(1, half // 4), max(1, half // 2), half})
    return Flatness(
        centre=centre,
        rise={axis[half + each]: _mean_rise(losses, half, each, centre) for each in steps},
        near_share=float((finite & (losses <= centre + NEAR)).mean()),
        lowest=float(losses[row, column]),
        lowest_at=(axis[column], axis[row]),
        highest=float(losses[finite].max()),
        num_not_finite=int((~finite).sum()),
    )


def _mean_rise(losses: NDArray[np.float64], half: int, steps: int, centre: float) -> float | None:
    """Mean over the square ring that many steps from the centre."""
    square = losses[half - steps : half + steps + 1, half - steps : half + steps + 1]
    ring = np.concatenate([square[0], square[-1], square[1:-1, 0], square[1:-1, -1]])
    ring = ring[np.isfinite(ring)]
    return float(ring.mean()) - centre if len(ring) else None
