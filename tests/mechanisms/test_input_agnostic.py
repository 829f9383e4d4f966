"""Full, Banded and BlockLocal, drawn by hand; Random, by its statistics."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import Banded, BlockLocal, Full, Random, TopK, attention
from tests.mechanisms.cases import (
    counts,
    draw,
    everything,
    few_examples,
    inputs,
    lengths,
    picture,
    positions_kept,
    random_mask,
    seeded,
    seeds,
)


def kept_by(pattern, *arguments, **options):
    return attention(*arguments, pattern, return_info=True, **options)[1].kept


def test_full_keeps_all_that_is_allowed():
    allowed = picture("x.x", "...", "xxx")
    assert positions_kept(Full(), allowed) == ["x.x", "...", "xxx"]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (1, ["x....", ".x...", "..x..", "...x.", "....x"]),
        (2, ["xx...", ".xx..", "..xx.", "...xx", "...xx"]),
        (3, ["xxx..", "xxx..", ".xxx.", "..xxx", "..xxx"]),
        (4, ["xxxx.", "xxxx.", ".xxxx", ".xxxx", ".xxxx"]),
        (5, ["xxxxx"] * 5),
        (9, ["xxxxx"] * 5),
    ],
)
def test_a_band_is_centred_inside_and_shifted_inward_at_the_edges(width, expected):
    assert positions_kept(Banded(width), everything(5, 5)) == expected


def test_a_band_keeps_the_nearest_allowed_keys_across_holes():
    allowed = picture("x.x.xx").expand(6, 6)
    expected = ["x.x.x.", "x.x.x.", "x.x.x.", "..x.xx", "..x.xx", "..x.xx"]
    assert positions_kept(Banded(3), allowed) == expected


def test_a_band_under_a_causal_mask_is_a_sliding_window():
    assert positions_kept(Banded(2), everything(4, 4).tril()) == ["x...", "xx..", ".xx.", "..xx"]


def test_a_band_stands_at_the_last_positions_when_there_are_fewer_queries():
    assert positions_kept(Banded(3), everything(3, 6)) == ["..xxx.", "...xxx", "...xxx"]


def test_a_band_of_a_query_before_the_first_key_is_the_first_keys():
    assert positions_kept(Banded(1), everything(3, 2)) == ["x.", "x.", ".x"]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, ["x....", ".x...", "..x..", "...x.", "....x"]),
        (2, ["xx...", "xx...", "..xx.", "..xx.", "....x"]),
        (3, ["xxx..", "xxx..", "xxx..", "...xx", "...xx"]),
        (5, ["xxxxx"] * 5),
        (9, ["xxxxx"] * 5),
    ],
)
def test_a_block_is_the_same_for_all_its_queries_and_the_last_may_be_shorter(size, expected):
    assert positions_kept(BlockLocal(size), everything(5, 5)) == expected


def test_a_block_loses_what_is_not_allowed_and_takes_nothing_instead():
    assert positions_kept(BlockLocal(2), picture("x.xx", ".xxx", "xx..", "xxx.")) == [
        "x...",
        ".x..",
        "....",
        "..x.",
    ]


def test_a_block_stands_at_the_last_positions_when_there_are_fewer_queries():
    assert positions_kept(BlockLocal(2), everything(2, 5)) == ["..xx.", "....x"]


def test_a_query_before_the_first_key_has_no_block():
    assert positions_kept(BlockLocal(2), everything(3, 2)) == ["..", "xx", "xx"]


@given(counts, lengths, lengths, seeds)
@few_examples
def test_a_band_keeps_exactly_its_width_or_all_that_is_allowed(width, num_queries, num_keys, seed):
    allowed = random_mask(num_queries, num_keys, seed)
    kept = Banded(width).keep(torch.zeros(allowed.shape), allowed)
    assert torch.equal(kept.sum(-1), allowed.sum(-1).clamp(max=width))


@given(st.integers(1, 9), st.booleans(), lengths, lengths, seeds)
@few_examples
def test_random_keeps_exactly_k_or_all_that_is_allowed(k, fixed, num_queries, num_keys, seed):
    allowed = random_mask(num_queries, num_keys, seed)
    kept = Random(k, fixed).keep(torch.zeros(2, num_queries, num_keys), allowed, seeded(seed))
    expected = allowed.sum(-1).clamp(max=k)
    assert not (kept & ~allowed).any()
    assert torch.equal(kept.expand(2, num_queries, num_keys).sum(-1), expected.expand(2, num_queries))


@given(
    st.sampled_from([Full(), Banded(2), Banded(3), BlockLocal(2), Random(2), Random(2, fixed=True)]),
    st.booleans(),
    seeds,
)
@few_examples
def test_other_queries_and_keys_do_not_change_what_is_kept(pattern, causal, seed):
    mask = random_mask(5, 6, seed)
    first, second = (
        kept_by(pattern, *inputs(5, 6, seed=each), mask=mask, causal=causal, generator=seeded(seed))
        for each in (seed, seed + 1)
    )
    assert torch.equal(first, second)


def test_other_queries_and_keys_change_what_top_k_keeps():
    """The test above could not see anything if this one failed."""
    assert not torch.equal(kept_by(TopK(2), *inputs(seed=0)), kept_by(TopK(2), *inputs(seed=1)))


def test_random_repeats_itself_with_the_same_generator():
    query, key, value = inputs()
    first, again, other = (kept_by(Random(2), query, key, value, generator=seeded(s)) for s in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_random_without_a_generator_follows_the_global_seed():
    query, key, value = inputs()
    torch.manual_seed(11)
    first = kept_by(Random(2), query, key, value)
    torch.manual_seed(11)
    assert torch.equal(first, kept_by(Random(2), query, key, value))


def test_random_with_a_generator_leaves_the_global_one_alone():
    before = torch.get_rng_state()
    attention(*inputs(), Random(2), generator=seeded())
    assert torch.equal(before, torch.get_rng_state())


def test_random_draws_anew_for_each_call_batch_row_head_and_query():
    query, key, value = inputs(8, 8, leading=(3, 2))
    generator = seeded()
    calls = torch.stack([kept_by(Random(3), query, key, value, generator=generator) for _ in range(2)])
    for dim, what in enumerate(["call", "batch row", "head", "query"]):
        first, second = calls.select(dim, 0), calls.select(dim, 1)
        assert not torch.equal(first, second), f"the same keys for every {what}"


def test_random_draws_anew_for_each_batch_row_even_when_only_the_values_have_one():
    query, key, _ = inputs(8, 8, leading=())
    value = torch.randn(2, 8, 3)
    kept = kept_by(Random(3), query, key, value, generator=seeded())
    assert not torch.equal(kept[0], kept[1])


def test_fixed_random_is_the_same_in_every_call_row_and_head_whatever_the_generator():
    query, key, value = inputs(leading=(3, 2))
    first = kept_by(Random(2, fixed=True), query, key, value, generator=seeded(0))
    second = kept_by(Random(2, fixed=True), query, key, value, generator=seeded(1))
    assert torch.equal(first, second)
    assert torch.equal(first, first[:1, :1].expand(first.shape))


def test_fixed_random_draws_no_random_number():
    generator = seeded()
    before = generator.get_state()
    attention(*inputs(), Random(2, fixed=True), generator=generator)
    assert torch.equal(before, generator.get_state())


def test_fixed_random_differs_between_queries():
    kept = Random(2, fixed=True).keep(torch.zeros(9, 9), everything(9, 9))
    assert len(set(draw(kept))) > 1


@pytest.mark.parametrize("causal", [False, True])
def test_fixed_random_decodes_the_last_query_as_in_the_square(causal):
    query, key, value = inputs(dtype=torch.float64)
    whole, seen = attention(query, key, value, Random(2, fixed=True), causal=causal, return_info=True)
    last, seen_last = attention(
        query[..., -1:, :], key, value, Random(2, fixed=True), causal=causal, return_info=True
    )
    assert torch.equal(seen.kept[..., -1:, :], seen_last.kept)
    torch.testing.assert_close(whole[..., -1:, :], last)


@pytest.mark.parametrize("fixed", [False, True])
def test_all_keys_are_chosen_about_equally_often(fixed):
    num_rows, num_keys, k = 4096, 8, 3
    allowed = torch.ones(num_rows, num_keys, dtype=torch.bool)
    times = Random(k, fixed).keep(torch.zeros(allowed.shape), allowed, seeded()).sum(0).double()
    expected = num_rows * k / num_keys
    # Drawing without replacement shrinks the variance by (n - k) / (n - 1).
    chi_square = ((times - expected) ** 2 / expected).sum() * (num_keys - 1) / (num_keys - k)
    assert chi_square < 24.32  # the 99.9 % point with 7 degrees of freedom


@pytest.mark.parametrize("fixed", [False, True])
def test_all_pairs_of_keys_are_chosen_about_equally_often(fixed):
    num_rows, num_keys = 4096, 6
    allowed = torch.ones(num_rows, num_keys, dtype=torch.bool)
    kept = Random(2, fixed).keep(torch.zeros(allowed.shape), allowed, seeded()).double()
    together = (kept.T @ kept)[torch.triu_indices(num_keys, num_keys, offset=1).unbind()]
    expected = num_rows / 15
    assert ((together - expected) ** 2 / expected).sum() < 36.12  # 99.9 %, 14 degrees of freedom


@pytest.mark.parametrize("fixed", [1, 0, None, "fixed"])
def test_fixed_is_true_or_false(fixed):
    with pytest.raises(ValueError, match="random: fixed must be True or False"):
        Random(5, fixed)
