"""Analytic gradients against finite differences, in double precision."""

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from semfocus.mechanisms import Banded, BlockLocal, BottomK, Full, Random, TopK, TopP, WithGlobals, attention
from tests.mechanisms.cases import CAUSAL_PATTERNS, EVERY_PATTERN, inputs, picture, seeded

HOLES = picture("x.xx", "....", "xxxx", "xx.x")


def leaves(num_queries=4, num_keys=4, leading=(), seed=0):
    arguments = inputs(
        num_queries, num_keys, leading=leading, width=2, value_width=2, dtype=torch.float64, seed=seed
    )
    return [tensor.requires_grad_() for tensor in arguments]


@pytest.fixture(params=["reference", "torch", "auto"])
def implementation(request):
    """The definition, the blocks of queries, and whatever serves by default."""
    return request.param


def function_of(pattern, **options):
    """Attention as a function of its tensors alone: every evaluation draws the same random numbers."""

    def evaluate(query, key, value):
        return attention(query, key, value, pattern, generator=seeded(4), **options)

    return evaluate


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"mask": HOLES}, {"dropout": 0.4}, {"scale": -1.3}],
    ids=["plain", "mask", "dropout", "scale"],
)
def test_gradients(pattern, options, implementation):
    assert gradcheck(function_of(pattern, implementation=implementation, **options), leaves())


@pytest.mark.parametrize("pattern", CAUSAL_PATTERNS, ids=str)
@pytest.mark.parametrize("num_queries", [2, 4, 5])
def test_gradients_when_causal(pattern, num_queries, implementation):
    assert gradcheck(function_of(pattern, implementation=implementation, causal=True), leaves(num_queries))


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize(("num_queries", "num_keys"), [(2, 5), (5, 2), (1, 1)])
def test_gradients_when_there_are_more_or_fewer_queries_than_keys(
    pattern, num_queries, num_keys, implementation
):
    assert gradcheck(function_of(pattern, implementation=implementation), leaves(num_queries, num_keys))


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_gradients_of_inputs_that_are_not_contiguous(pattern, implementation):
    evaluate = function_of(pattern, implementation=implementation, mask=HOLES)
    transposed = [leaf.detach().mT.contiguous().requires_grad_() for leaf in leaves()]
    assert gradcheck(lambda query, key, value: evaluate(query.mT, key.mT, value.mT), transposed)


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_inputs_that_are_not_contiguous_give_the_same_output(pattern, implementation):
    arguments = inputs(dtype=torch.float64)
    strided = [tensor.mT.contiguous().mT for tensor in arguments]
    assert not any(tensor.is_contiguous() for tensor in strided)
    evaluate = function_of(pattern, implementation=implementation)
    torch.testing.assert_close(evaluate(*strided), evaluate(*arguments))


@pytest.mark.parametrize("pattern", [Full(), TopK(2)], ids=str)
def test_gradients_of_inputs_that_broadcast(pattern, implementation):
    query, key, value = leaves(3, 3, leading=(2, 1))
    shared_key, shared_value = key.detach()[0].requires_grad_(), value.detach()[0, 0].requires_grad_()
    assert gradcheck(function_of(pattern, implementation=implementation), [query, shared_key, shared_value])


@pytest.mark.parametrize("pattern", [Full(), Banded(2)], ids=str)
def test_gradients_of_shared_heads(pattern, implementation):
    query = leaves(3, 3, leading=(4,))[0]
    _, key, value = leaves(3, 3, leading=(2,), seed=1)
    assert gradcheck(
        function_of(pattern, implementation=implementation, enable_gqa=True), [query, key, value]
    )


@pytest.mark.parametrize(
    "pattern", [Full(), Banded(2), BlockLocal(2), TopK(2), WithGlobals(TopK(1), 1)], ids=str
)
@pytest.mark.parametrize("options", [{}, {"mask": HOLES}], ids=["plain", "mask"])
@pytest.mark.parametrize("implementation", ["reference", "torch"])
def test_second_gradients(pattern, options, implementation):
    assert gradgradcheck(function_of(pattern, implementation=implementation, **options), leaves())


@pytest.mark.parametrize("pattern", [TopK(2), BottomK(1), Random(1), TopP(0.5), Banded(1)], ids=str)
def test_gradients_flow_through_the_kept_keys_only(pattern):
    query, key, value = leaves(1, 5)
    output, info = attention(query, key, value, pattern, generator=seeded(), return_info=True)
    output.sum().backward()
    left_out = ~info.kept[0]
    assert left_out.any()
    assert (key.grad[left_out] == 0).all()
    assert (value.grad[left_out] == 0).all()
    assert (value.grad[~left_out] != 0).all()


def test_a_single_kept_key_has_a_constant_weight_and_so_no_gradient_by_its_score():
    query, key, value = leaves()
    attention(query, key, value, TopK(1)).sum().backward()
    assert (query.grad == 0).all()
    assert (key.grad == 0).all()
    assert (value.grad != 0).any()


def test_inputs_without_gradients_give_an_output_without():
    assert not attention(*inputs(), TopK(2)).requires_grad
