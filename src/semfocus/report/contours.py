"""Lines of equal value through a grid of numbers, by marching squares."""

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]

#: the corners of a cell in turn: lower left, lower right, upper right, upper left, as (row, column)
_CORNERS = ((0, 0), (0, 1), (1, 1), (1, 0))


def contour_segments(values: NDArray[np.float64], level: float) -> list[tuple[Point, Point]]:
    """Pieces of the line at a level, as pairs of (column, row); cells with a corner that is not finite have none.

    >>> contour_segments(np.array([[0.0, 0.0], [1.0, 1.0]]), 0.25)
    [((1.0, 0.25), (0.0, 0.25))]
    """
    above = values > level
    finite = np.isfinite(values)
    corners = [above[row : above.shape[0] - 1 + row, col : above.shape[1] - 1 + col] for row, col in _CORNERS]
    known = [
        finite[row : finite.shape[0] - 1 + row, col : finite.shape[1] - 1 + col] for row, col in _CORNERS
    ]
    total = np.sum(corners, axis=0)
    crossed = np.argwhere((total > 0) & (total < 4) & np.all(known, axis=0))
    return [piece for row, column in crossed.tolist() for piece in _of_cell(values, row, column, level)]


def _of_cell(values: NDArray[np.float64], row: int, column: int, level: float) -> list[tuple[Point, Point]]:
    """One or two pieces; in a saddle the mean of the corners decides which ends belong together."""
    at = [(row + down, column + right) for down, right in _CORNERS]
    heights = [float(values[each]) for each in at]
    ends: list[Point] = []
    for side in range(4):
        here, there = side, (side + 1) % 4
        if (heights[here] > level) != (heights[there] > level):
            share = (level - heights[here]) / (heights[there] - heights[here])
            (row_a, column_a), (row_b, column_b) = at[here], at[there]
            ends.append((column_a + share * (column_b - column_a), row_a + share * (row_b - row_a)))
    if len(ends) == 2:
        return [(ends[0], ends[1])]
    first_with_last = (sum(heights) / 4 > level) != (heights[0] > level)
    return (
        [(ends[3], ends[0]), (ends[1], ends[2])]
        if first_with_last
        else [(ends[0], ends[1]), (ends[2], ends[3])]
    )
