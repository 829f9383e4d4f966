"""The public function: shapes, dtypes, shared heads, and how it refuses what means nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import AttentionInfo, Full, TopK, attention
from tests.mechanisms.cases import (
    EVERY_PATTERN,
    draws_random_numbers,
    few_examples,
    inputs,
    lengths,
    patterns,
    random_mask,
    run,
    seeded,
    seeds,
)


@pytest.fixture(params=["reference", "torch", "auto"])
def implementation(request):
    """The definition, the blocks of queries, and whatever serves by default."""
    return request.param


@given(patterns, st.sampled_from([(), (3,), (2, 3), (2, 1, 3), (0,), (2, 0)]), lengths, lengths, seeds)
@few_examples
def test_shapes(pattern, leading, num_queries, num_keys, seed):
    query, key, value = inputs(num_queries, num_keys, leading=leading, width=2, value_width=5, seed=seed)
    output, info = attention(query, key, value, pattern, return_info=True)
    assert output.shape == (*leading, num_queries, 5)
    assert isinstance(info, AttentionInfo)
    for part in (info.scores, info.kept, info.weights):
        assert part.shape == (*leading, num_queries, num_keys)
    assert info.kept.dtype == torch.bool


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_asking_for_the_info_does_not_change_the_output(pattern):
    arguments = inputs()
    plain = attention(*arguments, pattern, dropout=0.1, generator=seeded(), implementation="reference")
    output, _ = attention(*arguments, pattern, dropout=0.1, generator=seeded(), return_info=True)
    assert torch.equal(plain, output)


def test_the_pattern_defaults_to_full():
    assert torch.equal(attention(*inputs()), attention(*inputs(), Full()))


def test_the_pattern_may_be_given_by_name():
    arguments = inputs()
    assert torch.equal(attention(*arguments, pattern=TopK(2)), attention(*arguments, TopK(2)))


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_inputs_are_not_changed(pattern, implementation):
    arguments = inputs()
    mask = random_mask(6, 6, seed=0)
    copies = [tensor.clone() for tensor in (*arguments, mask)]
    run(*arguments, pattern, mask=mask, dropout=0.1, implementation=implementation)
    for tensor, copy in zip((*arguments, mask), copies, strict=True):
        assert torch.equal(tensor, copy)


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize("implementation", ["reference", "auto"])
def test_no_keys_give_zeros(pattern, implementation):
    query, key, value = inputs(3, 0)
    result = run(query, key, value, pattern, implementation=implementation)
    assert torch.equal(result.output, torch.zeros(2, 2, 3, 3))
    assert torch.equal(result.query_gradient, torch.zeros(2, 2, 3, 4))


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize("implementation", ["reference", "auto"])
def test_no_queries_give_no_rows(pattern, implementation):
    assert run(*inputs(0, 3), pattern, implementation=implementation).output.shape == (2, 2, 0, 3)


@pytest.mark.parametrize(
    "pattern", [each for each in EVERY_PATTERN if not draws_random_numbers(each)], ids=str
)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_comes_back_as_it_came_and_close_to_single(pattern, dtype, implementation):
    rounded = [tensor.to(dtype) for tensor in inputs()]
    half, single = (
        run(*tensors, pattern, implementation=implementation)
        for tensors in (rounded, [tensor.float() for tensor in rounded])
    )
    for part in ("output", "query_gradient", "key_gradient", "value_gradient"):
        assert getattr(half, part).dtype == dtype
        tolerance = 8 * torch.finfo(dtype).eps
        torch.testing.assert_close(
            getattr(half, part).float(), getattr(single, part), rtol=tolerance, atol=tolerance
        )


def test_double_precision_is_used_throughout():
    query, key, value = inputs(dtype=torch.float64)
    output = attention(query, key, value)
    assert output.dtype == torch.float64
    rounded = attention(query.float(), key.float(), value.float()).double()
    assert 1e-9 < (output - rounded).abs().max() < 1e-4


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize(
    ("query_leading", "key_leading", "value_leading"),
    [((2, 3), (3,), ()), ((), (2, 3), (3,)), ((1,), (), (2, 3)), ((2, 1), (1, 3), (1, 1))],
)
def test_leading_dimensions_broadcast(pattern, query_leading, key_leading, value_leading):
    query = inputs(leading=query_leading, seed=0)[0]
    key = inputs(leading=key_leading, seed=1)[1]
    value = inputs(leading=value_leading, seed=2)[2]
    whole = [tensor.expand(2, 3, *tensor.shape[-2:]) for tensor in (query, key, value)]
    output, info = attention(query, key, value, pattern, generator=seeded(), return_info=True)
    expected, expected_info = attention(*whole, pattern, generator=seeded(), return_info=True)
    torch.testing.assert_close(output, expected)
    assert torch.equal(info.kept, expected_info.kept)


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize("shape", [(), (6,), (1, 6), (6, 1), (6, 6), (2, 6, 6), (2, 1, 1, 6), (2, 2, 6, 6)])
def test_masks_broadcast(pattern, shape, implementation):
    mask = torch.rand(shape, generator=seeded(3)) < 0.7
    arguments = inputs()
    small, whole = (
        run(*arguments, pattern, mask=each, implementation=implementation)
        for each in (mask, mask.expand(2, 2, 6, 6))
    )
    assert torch.equal(small.output, whole.output)
    assert torch.equal(small.key_gradient, whole.key_gradient)


def test_a_mask_may_have_the_leading_dimensions_that_only_the_values_have():
    query, key, _ = inputs(leading=())
    value = inputs(leading=(3,))[2]
    mask = torch.rand(3, 6, 6, generator=seeded(3)) < 0.7
    output = attention(query, key, value, TopK(2), mask=mask)
    for index in range(3):
        alone = attention(query, key, value[index], TopK(2), mask=mask[index])
        torch.testing.assert_close(output[index], alone)


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize("key_heads", [1, 2, 4])
def test_grouped_queries_share_consecutive_heads(pattern, key_heads, implementation):
    query = inputs(leading=(2, 4), seed=0)[0]
    _, key, value = inputs(leading=(2, key_heads), seed=1)
    grouped = run(query, key, value, pattern, enable_gqa=True, implementation=implementation)
    repeated = run(
        query,
        *(tensor.repeat_interleave(4 // key_heads, dim=-3) for tensor in (key, value)),
        pattern,
        implementation=implementation,
    )
    assert torch.equal(grouped.output, repeated.output)
    assert torch.equal(grouped.query_gradient, repeated.query_gradient)
    summed = repeated.key_gradient.unflatten(1, (key_heads, -1)).sum(2)
    torch.testing.assert_close(grouped.key_gradient, summed)


@pytest.mark.parametrize(
    ("query_leading", "key_leading"), [((2, 4), (2, 3)), ((2, 2), (2, 4)), ((), ()), ((4,), ())]
)
def test_grouped_queries_need_a_multiple_of_the_key_heads(query_leading, key_leading):
    query = inputs(leading=query_leading)[0]
    _, key, value = inputs(leading=key_leading)
    with pytest.raises(ValueError, match="number of query heads a multiple of the key heads, got shapes"):
        attention(query, key, value, enable_gqa=True)


def test_heads_are_not_shared_unless_asked():
    query = inputs(leading=(2, 4))[0]
    _, key, value = inputs(leading=(2, 2))
    with pytest.raises(ValueError, match="do not broadcast"):
        attention(query, key, value)


@pytest.mark.parametrize("pattern", [None, 5, TopK])
def test_the_pattern_must_be_a_pattern(pattern):
    with pytest.raises(ValueError, match=r"pattern must be a Pattern such as TopK\(5\), got"):
        attention(*inputs(), pattern)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_that_is_not_bool_is_a_type_error(dtype):
    with pytest.raises(TypeError, match=r"mask must be a bool tensor \(True = may attend\), got torch"):
        attention(*inputs(), mask=torch.zeros(6, 6, dtype=dtype))


@pytest.mark.parametrize("shape", [(5,), (5, 6), (6, 5), (3, 6, 6), (3, 1, 6, 6), (1, 2, 2, 6, 6)])
def test_a_mask_that_does_not_fit_is_refused(shape):
    with pytest.raises(ValueError, match=r"mask of shape \(.*\) does not broadcast to \(2, 2, 6, 6\)"):
        attention(*inputs(), mask=torch.ones(shape, dtype=torch.bool))


def test_a_mask_may_not_enlarge_the_output():
    with pytest.raises(ValueError, match=r"mask of shape \(4, 6, 6\) does not broadcast to \(1, 6, 6\)"):
        attention(*inputs(leading=(1,)), mask=torch.ones(4, 6, 6, dtype=torch.bool))


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_tensors_must_be_floating_point(position, dtype):
    arguments = list(inputs())
    arguments[position] = arguments[position].to(dtype)
    name = ("query", "key", "value")[position]
    with pytest.raises(ValueError, match=f"{name} must be a floating-point tensor .*, got {dtype}"):
        attention(*arguments)


@pytest.mark.parametrize("position", range(3))
def test_tensors_must_have_a_length_and_features(position):
    arguments = list(inputs())
    arguments[position] = torch.zeros(4)
    name = ("query", "key", "value")[position]
    with pytest.raises(
        ValueError, match=rf"{name} must be .* \(\.\.\., length, features\), got .* shape \(4,\)"
    ):
        attention(*arguments)


@pytest.mark.parametrize("position", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_tensors_must_share_their_dtype(position, dtype):
    arguments = list(inputs())
    arguments[position] = arguments[position].to(dtype)
    name = ("query", "key", "value")[position]
    with pytest.raises(ValueError, match=f"must share dtype and device, got torch.float32 .* {name} {dtype}"):
        attention(*arguments)


def test_query_and_key_must_share_their_width():
    query, key, value = inputs()
    with pytest.raises(ValueError, match="query and key need the same width, at least 1: 3, 4"):
        attention(query[..., :3], key, value)


def test_a_width_of_zero_is_refused():
    query, key, value = inputs(width=0)
    with pytest.raises(ValueError, match="at least 1: 0, 0"):
        attention(query, key, value)


def test_key_and_value_must_share_their_length():
    query, key, value = inputs()
    with pytest.raises(ValueError, match="key and value need the same length: 6, 5"):
        attention(query, key, value[..., :5, :])


@pytest.mark.parametrize("position", range(3))
def test_leading_dimensions_that_do_not_broadcast_are_refused(position):
    arguments = list(inputs(leading=(2,)))
    arguments[position] = inputs(leading=(3,))[position]
    with pytest.raises(ValueError, match="leading dimensions of query, key and value do not broadcast"):
        attention(*arguments)
