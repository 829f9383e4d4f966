"""Dropout of attention weights, after the softmax."""

import pytest
import torch

from semfocus.mechanisms import TopK, attention
from tests.mechanisms.cases import EVERY_PATTERN, draws_random_numbers, inputs, seeded


@pytest.fixture(params=["reference", "torch", "auto"])
def dropped_weights(request):
    """Equal scores and values that are unit vectors: the output shows the weights after dropout."""

    def weights(dropout, generator=None, num_queries=4096):
        query, key, value = torch.zeros(num_queries, 2), torch.zeros(8, 2), torch.eye(8)
        return attention(
            query, key, value, TopK(8), dropout=dropout, generator=generator, implementation=request.param
        )

    return weights


def test_survivors_are_scaled_up_and_the_others_are_zero(dropped_weights):
    weights = dropped_weights(0.2, seeded())
    survivors = weights[weights != 0]
    torch.testing.assert_close(survivors, torch.full_like(survivors, 0.125 / 0.8))


@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
def test_the_share_dropped_and_the_mean_are_right(dropped_weights, dropout):
    weights = dropped_weights(dropout, seeded())
    share_dropped = (weights == 0).float().mean()
    deviation = (dropout * (1 - dropout) / weights.numel()) ** 0.5
    assert abs(share_dropped - dropout) < 4 * deviation
    assert abs(weights.mean() / 0.125 - 1.0) < 4 * deviation / (1 - dropout)


def test_every_row_and_key_has_its_own_draw(dropped_weights):
    weights = dropped_weights(0.5, seeded(), num_queries=64) != 0
    assert len({tuple(row) for row in weights.tolist()}) > 32
    assert len({tuple(column) for column in weights.T.tolist()}) == 8


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_no_dropout_drops_nothing_and_draws_nothing(pattern):
    generators = seeded(), seeded()
    first = attention(*inputs(), pattern, generator=generators[0])
    second = attention(*inputs(), pattern, dropout=0.0, generator=generators[1])
    assert torch.equal(first, second)
    if not draws_random_numbers(pattern):
        assert torch.equal(generators[0].get_state(), seeded().get_state())


def test_the_same_generator_drops_the_same(dropped_weights):
    assert torch.equal(dropped_weights(0.5, seeded(3)), dropped_weights(0.5, seeded(3)))
    assert not torch.equal(dropped_weights(0.5, seeded(3)), dropped_weights(0.5, seeded(4)))


def test_successive_calls_with_one_generator_differ(dropped_weights):
    generator = seeded()
    assert not torch.equal(dropped_weights(0.5, generator), dropped_weights(0.5, generator))


def test_without_a_generator_the_global_seed_decides(dropped_weights):
    torch.manual_seed(5)
    first = dropped_weights(0.5)
    torch.manual_seed(5)
    assert torch.equal(first, dropped_weights(0.5))


def test_a_generator_leaves_the_global_one_alone(dropped_weights):
    before = torch.get_rng_state()
    dropped_weights(0.5, seeded())
    assert torch.equal(before, torch.get_rng_state())


def test_the_weights_in_the_info_are_before_dropout():
    query, key, value = inputs()
    clean = attention(query, key, value, TopK(2), return_info=True)[1]
    dropped = attention(query, key, value, TopK(2), dropout=0.5, generator=seeded(), return_info=True)[1]
    assert torch.equal(clean.weights, dropped.weights)
    assert torch.equal(clean.kept, dropped.kept)


def test_gradients_go_through_the_survivors_only():
    query, key = torch.zeros(1, 2), torch.zeros(8, 2)
    value = torch.eye(8).requires_grad_()
    output = attention(query, key, value, dropout=0.5, generator=seeded())
    output.sum().backward()
    assert torch.equal(value.grad[:, 0], output.detach()[0])


def test_a_tiny_dropout_drops_nothing_here():
    arguments = inputs()
    output = attention(*arguments, dropout=1e-19, generator=seeded(), implementation="reference")
    assert torch.equal(output, attention(*arguments, implementation="reference"))


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 1.5, float("nan")])
def test_a_dropout_that_is_no_probability_below_one_is_refused(dropout):
    with pytest.raises(ValueError, match="dropout must be at least 0 and below 1, got"):
        attention(*inputs(), dropout=dropout)
