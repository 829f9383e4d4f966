"""TopP: the smallest set of keys whose softmax mass reaches p."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import TopP, attention
from tests.mechanisms.cases import draw, everything, few_examples, inputs, picture, random_mask, seeded, seeds


@pytest.mark.parametrize("p", [0.0, -0.1, 1.5, float("nan"), float("inf")])
def test_p_is_above_0_and_at_most_1(p):
    with pytest.raises(ValueError, match="top_p: p must be above 0 and at most 1"):
        TopP(p)


@pytest.mark.parametrize("p", [True, 1, "0.5", None])
def test_p_is_a_float_and_nothing_else(p):
    with pytest.raises(ValueError, match=f"top_p: p must be a float, got {p!r}"):
        TopP(p)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.01, ".x..."),
        (0.35, ".x..."),
        (0.45, ".x.x."),
        (0.65, ".x.x."),
        (0.75, "xx.x."),
        (0.85, "xx.x."),
        (0.92, "xx.xx"),
        (0.99, "xxxxx"),
        (1.0, "xxxxx"),
    ],
)
def test_keys_are_taken_from_the_heaviest_until_p_is_reached(p, expected):
    mass = torch.tensor([[0.2, 0.4, 0.05, 0.27, 0.08]])  # sums from the heaviest: 0.4 0.67 0.87 0.95 1
    assert draw(TopP(p).keep(mass.log(), everything(1, 5))) == [expected]


def test_the_mass_is_that_of_the_allowed_keys_only():
    mass = torch.tensor([[0.5, 0.3, 0.2]])
    assert draw(TopP(0.55).keep(mass.log(), picture(".xx"))) == [".x."]  # 0.3 / 0.5 = 0.6


def test_ties_go_to_the_lowest_index():
    assert draw(TopP(0.4).keep(torch.zeros(1, 5), everything(1, 5))) == ["xx..."]
    assert draw(TopP(0.6).keep(torch.zeros(1, 5), picture(".xxxx"))) == [".xxx."]


def test_p_of_1_keeps_every_allowed_key_however_light():
    scores = torch.tensor([[0.0, -200.0, -300.0, 5.0]])
    assert draw(TopP(1.0).keep(scores, picture("xxx."))) == ["xxx."]


def test_a_row_with_nothing_allowed_keeps_nothing():
    assert draw(TopP(0.5).keep(torch.zeros(2, 3), picture("...", "x.."))) == ["...", "x.."]


@pytest.mark.parametrize("p", [1e-300, 1e-46])
def test_the_heaviest_key_is_kept_however_small_p(p):
    assert draw(TopP(p).keep(torch.tensor([[0.0, 1.0]]), everything(1, 2))) == [".x"]


@pytest.mark.parametrize("num_allowed", range(3, 30))
def test_a_p_just_below_1_does_not_keep_what_is_not_allowed(num_allowed):
    """In single precision the mass of all allowed keys may round to less than p."""
    mass = torch.arange(num_allowed + 2.0, 0.0, -1.0)
    allowed = (torch.arange(num_allowed + 2) < num_allowed).unsqueeze(0)
    kept = TopP(0.9999999999999999).keep(mass.log().unsqueeze(0), allowed)
    assert not (kept & ~allowed).any()


@given(st.floats(0.01, 0.99), seeds)
@few_examples
def test_the_kept_mass_reaches_p_and_would_not_without_its_lightest_key(p, seed):
    scores = torch.randn(4, 7, generator=seeded(seed), dtype=torch.float64)
    allowed = random_mask(4, 7, seed) | torch.eye(4, 7, dtype=torch.bool)
    kept = TopP(p).keep(scores, allowed)
    mass = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    kept_mass = (mass * kept).sum(-1)
    lightest = mass.masked_fill(~kept, torch.inf).amin(-1)
    assert (kept_mass >= p - 1e-9).all()
    assert (kept_mass - lightest < p + 1e-9).all()
    assert (lightest >= mass.masked_fill(kept, 0.0).amax(-1)).all()


def test_the_weights_are_a_softmax_over_the_kept_keys():
    query, key, value = inputs(dtype=torch.float64)
    _, info = attention(query, key, value, TopP(0.6), return_info=True)
    expected = info.scores.masked_fill(~info.kept, -torch.inf).softmax(-1)
    torch.testing.assert_close(info.weights, expected)
