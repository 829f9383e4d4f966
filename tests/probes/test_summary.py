"""Summaries: exact while they hold everything, a fair sample beyond."""

import math

import numpy as np
import pytest
import torch

from semfocus.probes import Summary
from semfocus.probes.collection import Collector, Selection, ValuePlace
from semfocus.probes.summary import QUANTILES


def filled(*chunks: torch.Tensor) -> Summary:
    summary = Summary()
    for chunk in chunks:
        summary.add(chunk)
    return summary


def test_values_that_are_not_numbers_are_counted_apart() -> None:
    summary = filled(torch.tensor([[1.0, math.nan], [math.inf, 3.0]]), torch.tensor([]))
    assert (summary.num, summary.num_infinite, summary.num_missing, summary.mean) == (2, 1, 1, 2.0)
    assert summary.quantiles()["50"] == 2.0
    assert summary.quantiles()["0"] == 1.0


def test_nothing_is_none_and_never_nan() -> None:
    summary = filled(torch.tensor([math.nan, math.inf]))
    assert summary.mean is None
    assert set(summary.quantiles().values()) == {None}


def test_quantiles_do_not_depend_on_chunks() -> None:
    values = torch.randn(1000, dtype=torch.float64)
    expected = np.quantile(values.numpy(), [each / 100 for each in QUANTILES])
    for size in (1000, 7):
        assert list(filled(*values.split(size)).quantiles().values()) == pytest.approx(list(expected), abs=0)


def test_a_thinned_summary_is_a_fair_sample_whatever_the_chunks() -> None:
    values = torch.randn(40_000, dtype=torch.float64)
    values[::40] += 10  # a period would show in a sample of every n-th value
    whole = filled(values)
    thinned = [Summary() for _ in range(2)]
    for summary, size in zip(thinned, (40_000, 640), strict=True):
        for number, chunk in enumerate(values.split(size)):
            summary.add(chunk)
            if number == 0:
                summary.thin()
                summary.thin()
    one, other = thinned
    assert np.array_equal(one.values(), other.values())
    assert not one.is_exact
    assert one.num_held == pytest.approx(10_000, rel=0.05)
    assert (one.num, one.mean) == (whole.num, pytest.approx(whole.mean))
    assert (one.quantiles()["0"], one.quantiles()["100"]) == (
        whole.quantiles()["0"],
        whole.quantiles()["100"],
    )
    assert one.quantiles()["50"] == pytest.approx(whole.quantiles()["50"], abs=0.05)
    assert float((one.values() > 5).mean()) == pytest.approx(1 / 40, abs=0.005)


def test_a_collector_never_holds_more_than_it_may() -> None:
    collector = Collector(values_held=1000)
    places = [ValuePlace(name, Selection(None, False)) for name in ("small", "large")]
    for _ in range(20):
        collector.add(places[0], torch.randn(10))
        collector.add(places[1], torch.randn(500))
        collector.thin()
        assert sum(each.num_held for each in collector.summaries.values()) <= 1000
    small, large = (collector.summaries[place] for place in places)
    assert small.is_exact
    assert not large.is_exact
    assert large.num == 10_000
