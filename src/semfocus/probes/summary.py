"""Many values as a few numbers: how many, their mean, their quantiles.

Quantiles are exact (all values sorted, linear interpolation) while all values are held. A summary that is
thinned goes on with a deterministic sample: value number i stays if a hash of i is below a threshold, which
each thinning halves. The number of values, their mean, the smallest and the largest are exact always.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from semfocus.randomness import draws

QUANTILES = (0, 5, 10, 25, 50, 75, 90, 95, 100)

_ALL = 2**32

Floats = NDArray[np.float64]


class Summary:
    """Takes values chunk by chunk; NaN is a value that does not exist, infinite ones are only counted."""

    def __init__(self) -> None:
        self.num = self.num_infinite = self.num_missing = self.num_held = 0
        self.total = 0.0
        self.smallest, self.largest = math.inf, -math.inf
        self._threshold = _ALL
        self._values: list[Floats] = []
        self._luck: list[NDArray[np.int64]] = []

    def add(self, values: Tensor) -> None:
        """Values of any shape, in the order in which they count."""
        array = values.detach().double().flatten().cpu().numpy()
        self.num_missing += int(np.isnan(array).sum())
        self.num_infinite += int(np.isinf(array).sum())
        array = array[np.isfinite(array)]
        if len(array):
            self.total += float(array.sum())
            self.smallest = min(self.smallest, float(array.min()))
            self.largest = max(self.largest, float(array.max()))
            self._hold(array)
            self.num += len(array)

    def thin(self) -> None:
        """Hold about half as many values."""
        if self.is_exact:
            self._luck = [_luck(0, self.num)]
        self._threshold //= 2
        values, luck = self.values(), np.concatenate(self._luck)
        stays = luck < self._threshold
        self._values, self._luck = [values[stays]], [luck[stays]]
        self.num_held = len(self._values[0])

    @property
    def is_exact(self) -> bool:
        """Whether every finite value is held."""
        return self._threshold == _ALL

    @property
    def mean(self) -> float | None:
        """Of the finite values."""
        return self.total / self.num if self.num else None

    def values(self) -> Floats:
        """The finite values that are held, in the order they came."""
        return np.concatenate(self._values) if self._values else np.empty(0)

    def quantiles(self) -> dict[str, float | None]:
        """By percent, as text, of the finite values; None where there is none."""
        if not self.num:
            return {str(each): None for each in QUANTILES}
        # A heavily thinned summary may hold nothing but its two ends.
        values = self.values() if self.num_held else np.array([self.smallest, self.largest])
        found = np.quantile(values, [each / 100 for each in QUANTILES])
        found[0], found[-1] = self.smallest, self.largest
        return {str(each): float(value) for each, value in zip(QUANTILES, found, strict=True)}

    def _hold(self, array: Floats) -> None:
        if not self.is_exact:
            luck = _luck(self.num, len(array))
            stays = luck < self._threshold
            array = array[stays]
            self._luck.append(luck[stays])
        self._values.append(array)
        self.num_held += len(array)


def _luck(first: int, num: int) -> NDArray[np.int64]:
    return draws(0, torch.arange(first, first + num), torch.zeros((), dtype=torch.int64)).numpy()
