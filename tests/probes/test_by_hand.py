"""Tiny examples that can be checked by hand."""

import math

import pytest
import torch

from semfocus import probes
from semfocus.mechanisms import Banded, BottomK, Full, TopK, TopP
from tests.probes.cases import trace_of_scores

FOUR = [[2.0, 1.0, 0.0, -1.0], [0.0, 0.5, 3.0, 1.0], [1.0, 1.2, 0.9, 0.8], [-1.0, 2.0, 2.5, 0.0]]
LOW = -math.inf


def test_the_two_highest_of_four() -> None:
    trace = trace_of_scores(FOUR, TopK(2))
    assert probes.dispersion(trace)[0, 0].tolist() == pytest.approx([1, 2, 0.2, 0.5])
    assert probes.separation(trace)[0, 0].tolist() == pytest.approx([1, 0.5, 0.1, 2])
    assert probes.key_degree(trace)[0, 0].tolist() == [2, 3, 2, 1]
    assert probes.key_load(trace)[0, 0].tolist() == [1, 1.5, 1, 0.5]
    assert probes.largest_key_load(trace)[0, 0] == 1.5
    expected = [1.181225, 1.196316, 1.503256, 0.119203]
    assert probes.received_mass(trace)[0, 0].tolist() == pytest.approx(expected, abs=1e-6)


def test_the_loads_of_queries_that_do_not_count_are_left_out() -> None:
    trace = trace_of_scores(FOUR, TopK(2))
    counted = torch.tensor([[[True, True, False, False]]])
    assert probes.key_degree(trace, counted)[0, 0].tolist() == [1, 1, 1, 1]
    assert probes.key_load(trace, counted, k=5)[0, 0].tolist() == [0.2] * 4


@pytest.mark.parametrize("pattern", [Full(), TopK(4), TopK(9), TopP(1.0)], ids=str)
def test_where_nothing_is_masked_the_separation_is_infinite(pattern: TopK) -> None:
    trace = trace_of_scores(FOUR, pattern)
    assert probes.separation(trace).tolist() == [[[math.inf] * 4]]
    assert probes.dispersion(trace)[0, 0].tolist() == pytest.approx([3, 3, 0.4, 3.5])
    assert probes.retained_mass(trace)[0, 0].tolist() == pytest.approx([1.0] * 4)


def test_a_tie_has_separation_zero_and_lower_kept_scores_a_negative_one() -> None:
    scores = [[1.0, 1.0, 0.0], [3.0, 1.0, 2.0], [0.0, 0.0, 5.0]]
    assert probes.separation(trace_of_scores(scores, TopK(1)))[0, 0].tolist() == [0, 1, 5]
    assert probes.separation(trace_of_scores(scores, Banded(1)))[0, 0].tolist() == [0, -2, 5]
    assert probes.separation(trace_of_scores(scores, BottomK(1)))[0, 0].tolist() == [-1, -2, -5]


def test_a_query_without_keys_has_no_values() -> None:
    trace = trace_of_scores([[LOW, LOW], [0.0, 1.0]], TopK(1))
    for quantity in (
        probes.dispersion,
        probes.separation,
        probes.entropy,
        probes.retained_mass,
        probes.norm_22,
    ):
        values = quantity(trace)[0, 0]
        assert values[0].isnan()
        assert values[1].isfinite()
    assert probes.num_kept(trace)[0, 0].tolist() == [0, 1]
    assert probes.key_degree(trace)[0, 0].tolist() == [0, 1]
    assert probes.key_load(trace)[0, 0].tolist() == [0, 1], "k is the mean over queries that keep a key"


def of_weights(*weights: float) -> probes.View:
    return trace_of_scores([[math.log(each) for each in weights]] * len(weights), Full())


@pytest.mark.parametrize(
    ("weights", "norm_11", "norm_22", "upper", "low"),
    [
        ((0.5, 0.3, 0.2), 0.5, 0.388102, 0.4, 1.0),
        ((0.7, 0.2, 0.1), 0.42, 0.334403, 0.35, 0.84),
        ((0.2,) * 5, 0.32, 0.2, 0.2, 0.96),
        ((1.0,), 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_norms_of_the_softmax_jacobian(
    weights: tuple[float, ...], norm_11: float, norm_22: float, upper: float, low: float
) -> None:
    trace = of_weights(*weights)
    assert float(probes.norm_11(trace)[0, 0, 0]) == pytest.approx(norm_11, abs=1e-6)
    assert float(probes.norm_22(trace)[0, 0, 0]) == pytest.approx(norm_22, abs=1e-6)
    assert float(probes.norm_22_upper(trace)[0, 0, 0]) == pytest.approx(upper, abs=1e-6)
    assert float(probes.norm_inf1(trace)[0][0, 0, 0]) == pytest.approx(low, abs=1e-6)


def test_a_peaked_softmax_keeps_its_small_norms() -> None:
    """Differences of numbers near 1 would lose them."""
    trace = trace_of_scores([[30.0, 0.0]] * 2, Full())
    rest = math.exp(-30) / (1 + math.exp(-30))
    expected = 2 * rest * (1 - rest)
    assert float(probes.norm_frobenius(trace)[0, 0, 0]) == pytest.approx(expected, rel=1e-2, abs=1e-15)


def test_entropy_and_effective_keys() -> None:
    trace = of_weights(0.5, 0.25, 0.25)
    assert float(probes.entropy(trace)[0, 0, 0]) == pytest.approx(1.5 * math.log(2))
    assert float(probes.effective_keys(trace)[0, 0, 0]) == pytest.approx(2**1.5)
    assert float(probes.participation(trace)[0, 0, 0]) == pytest.approx(1 / 0.375)
    one = trace_of_scores([[5.0, 0.0]] * 2, TopK(1))
    assert probes.effective_keys(one)[0, 0].tolist() == [1, 1]


def test_focus_on_the_second_key() -> None:
    trace = trace_of_scores([[math.log(3), math.log(1), LOW]] * 3, Full())
    relevant = torch.tensor([False, True, True])
    assert float(probes.focus_mass(trace, relevant)[0, 0, 0]) == pytest.approx(0.25)
    assert float(probes.focus_share(trace, relevant)[0, 0, 0]) == 0.5
    assert float(probes.focus_chance(trace, relevant)[0, 0, 0]) == 0.5, (
        "a key that is not allowed is no chance"
    )


def density(*separations: float) -> float:
    summary = probes.Summary()
    summary.add(torch.tensor(separations, dtype=torch.float64))
    return probes.gap_density_of(summary)


def test_gap_density() -> None:
    assert density(0.1, 0.2, 0.3, math.inf) == pytest.approx(3 / 4 * (1 / 3) / 0.1), "one of four up to 0.1"
    assert density(math.inf, math.inf) == 0
    assert density(0.0, 0.0, 1.0) == math.inf
    assert math.isnan(density(-0.1, 0.2))
    assert math.isnan(density())
    assert density(*torch.linspace(0, 1, 1001).tolist()) == pytest.approx(1.0, abs=0.03)
    assert probes.average_slope(4.5, 5) == pytest.approx(4.6)


def test_differences_are_taken_in_float64() -> None:
    trace = trace_of_scores([[1.0, 1.0 + 2**-20], [1.0, 0.0]], Full())
    single = type(trace)(0, "", trace.inputs, trace.scores.float() + 100.0, trace.kept, trace.weights.float())
    exact = single.scores.double()
    assert probes.dispersion(single).dtype == torch.float64
    assert torch.equal(probes.dispersion(single)[0, 0], exact[0, 0].amax(-1) - exact[0, 0].amin(-1))
