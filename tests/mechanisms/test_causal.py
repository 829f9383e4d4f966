"""Causal attention: no look ahead, and a cache decodes like the whole."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import Full, Random, attention
from tests.mechanisms.cases import CAUSAL_PATTERNS, draw, few_examples, inputs, random_mask, run, seeds

causal_patterns = st.sampled_from(CAUSAL_PATTERNS)


def allowed_by_causal(num_queries, num_keys):
    info = attention(*inputs(num_queries, num_keys, leading=()), causal=True, return_info=True)[1]
    return draw(info.kept)


def test_a_query_sees_keys_up_to_its_own_position():
    assert allowed_by_causal(3, 3) == ["x..", "xx.", "xxx"]


def test_fewer_queries_are_the_last_ones():
    assert allowed_by_causal(2, 4) == ["xxx.", "xxxx"]


def test_queries_before_the_first_key_see_nothing():
    assert allowed_by_causal(4, 2) == ["..", "..", "x.", "xx"]


@given(causal_patterns, st.integers(1, 5), st.sampled_from([0.0, 0.3]), seeds)
@few_examples
def test_changing_what_comes_later_leaves_earlier_rows_identical(pattern, position, dropout, seed):
    first, second = inputs(seed=seed), inputs(seed=seed + 1)
    mixed = [
        torch.cat([a[..., :position, :], b[..., position:, :]], -2)
        for a, b in zip(first, second, strict=True)
    ]
    earlier = torch.arange(6) < position
    options = {"causal": True, "dropout": dropout, "rows_in_loss": earlier}
    before, after = run(*first, pattern, **options), run(*mixed, pattern, **options)
    assert torch.equal(before.output[..., earlier, :], after.output[..., earlier, :])
    for part in ("query_gradient", "key_gradient", "value_gradient"):
        assert torch.equal(getattr(before, part)[..., earlier, :], getattr(after, part)[..., earlier, :])
        assert (getattr(after, part)[..., ~earlier, :] == 0).all()


@given(causal_patterns.filter(lambda pattern: pattern != Random(2)), st.integers(1, 6), seeds)
@few_examples
def test_fewer_queries_give_the_last_rows_of_the_square(pattern, num_queries, seed):
    query, key, value = inputs(dtype=torch.float64, seed=seed)
    mask = random_mask(6, 6, seed, share=0.8)
    whole, seen = attention(query, key, value, pattern, mask=mask, causal=True, return_info=True)
    last, seen_last = attention(
        query[..., -num_queries:, :],
        key,
        value,
        pattern,
        mask=mask[-num_queries:],
        causal=True,
        return_info=True,
    )
    assert torch.equal(seen_last.kept, seen.kept[..., -num_queries:, :])
    torch.testing.assert_close(last, whole[..., -num_queries:, :])


@pytest.mark.parametrize("pattern", [p for p in CAUSAL_PATTERNS if p != Random(2)], ids=str)
def test_decoding_token_by_token_with_a_cache_is_the_square(pattern):
    query, key, value = inputs(dtype=torch.float64)
    whole = attention(query, key, value, pattern, causal=True)
    for length in range(1, 7):
        step = attention(
            query[..., length - 1 : length, :],
            key[..., :length, :],
            value[..., :length, :],
            pattern,
            causal=True,
        )
        torch.testing.assert_close(step, whole[..., length - 1 : length, :])


@pytest.mark.parametrize("pattern", CAUSAL_PATTERNS, ids=str)
def test_causal_is_the_same_as_a_triangular_mask(pattern):
    arguments = inputs()
    triangle = torch.ones(6, 6, dtype=torch.bool).tril()
    assert torch.equal(
        run(*arguments, pattern, causal=True).output, run(*arguments, pattern, mask=triangle).output
    )


def test_mask_and_causal_both_hold():
    mask = torch.tensor([False, True, True])
    info = attention(*inputs(3, 3, leading=()), Full(), mask=mask, causal=True, return_info=True)[1]
    assert draw(info.kept) == ["...", ".x.", ".xx"]
