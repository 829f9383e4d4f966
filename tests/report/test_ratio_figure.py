"""The figure of a trial: numbers below its axis can be read, however far the ratios reach."""

from itertools import pairwise

import pytest

from semfocus.report.ratio_figure import _APART, _ticks
from semfocus.report.scales import Logarithmic


@pytest.mark.parametrize(("low", "high"), [(0.75, 1.3), (0.16, 37.0), (0.01, 80.0), (0.9, 60.0)])
def test_numbers_below_the_axis_do_not_touch(low: float, high: float) -> None:
    axis = Logarithmic(low, high, 200.0, 630.0)
    ticks = _ticks(axis)
    assert 1 in ticks
    assert len(ticks) >= 3
    assert all(axis(right) - axis(left) >= _APART for left, right in pairwise(ticks))
    assert all(low <= tick <= high for tick in ticks)
