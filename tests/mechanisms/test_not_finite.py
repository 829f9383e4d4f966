"""NaN, infinities and huge numbers: they reach those who may see them, and nobody else, not by a bit."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import Banded, BlockLocal, Full, TopK, TopP, attention
from tests.mechanisms.cases import (
    CAUSAL_PATTERNS,
    EVERY_PATTERN,
    assert_identical,
    draw,
    everything,
    few_examples,
    inputs,
    patterns,
    picture,
    random_mask,
    run,
    seeded,
    seeds,
)

NAN, INF = float("nan"), float("inf")
poisons = st.sampled_from([NAN, INF, -INF, 1e38, -1e38])
pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.fixture(params=["reference", "torch"], scope="module")
def implementation(request):
    """Those that choose among all scores; the kernels have tests of their own."""
    return request.param


def poisoned(tensor, position, poison, feature=slice(None)):
    changed = tensor.clone()
    changed[..., position, feature] = poison
    return changed


@given(patterns, poisons, st.integers(0, 5), st.sampled_from([slice(None), 0]), seeds)
@few_examples
def test_a_key_and_value_nobody_may_use_change_nothing(
    implementation, pattern, poison, position, feature, seed
):
    query, key, value = inputs(seed=seed)
    mask = random_mask(6, 6, seed)
    mask[:, position] = False
    clean = run(query, key, value, pattern, mask=mask, implementation=implementation)
    dirty = run(
        query,
        poisoned(key, position, poison, feature),
        poisoned(value, position, poison, feature),
        pattern,
        mask=mask,
        implementation=implementation,
    )
    assert_identical(dirty, clean)
    assert (dirty.key_gradient[..., position, :] == 0).all()
    assert (dirty.value_gradient[..., position, :] == 0).all()


@given(st.sampled_from(CAUSAL_PATTERNS), poisons, st.integers(1, 5), seeds)
@few_examples
def test_a_later_key_and_value_do_not_reach_earlier_rows(implementation, pattern, poison, position, seed):
    query, key, value = inputs(seed=seed)
    earlier = torch.arange(6) < position
    clean = run(query, key, value, pattern, causal=True, rows_in_loss=earlier, implementation=implementation)
    dirty = run(
        query,
        poisoned(key, position, poison),
        poisoned(value, position, poison),
        pattern,
        causal=True,
        rows_in_loss=earlier,
        implementation=implementation,
    )
    assert torch.equal(dirty.output[..., earlier, :], clean.output[..., earlier, :])
    assert torch.equal(dirty.query_gradient[..., earlier, :], clean.query_gradient[..., earlier, :])


@given(patterns, poisons, st.integers(0, 5), seeds)
@few_examples
def test_a_value_reaches_only_the_rows_that_keep_it(implementation, pattern, poison, position, seed):
    query, key, value = inputs(seed=seed)
    kept = attention(query, key, value, pattern, generator=seeded(7), return_info=True)[1].kept
    others = ~kept[..., position]
    clean = run(query, key, value, pattern, rows_in_loss=others, implementation=implementation)
    dirty = run(
        query,
        key,
        poisoned(value, position, poison),
        pattern,
        rows_in_loss=others,
        implementation=implementation,
    )
    assert torch.equal(dirty.output[others], clean.output[others])
    assert torch.equal(dirty.query_gradient, clean.query_gradient)
    assert torch.equal(dirty.key_gradient, clean.key_gradient)
    assert torch.equal(dirty.value_gradient, clean.value_gradient)


@given(patterns, st.sampled_from([NAN, INF, -INF]), seeds)
@few_examples
def test_a_value_that_is_not_finite_shows_in_every_row_that_keeps_it(implementation, pattern, poison, seed):
    query, key, value = inputs(seed=seed)
    kept = attention(query, key, value, pattern, generator=seeded(7), return_info=True)[1].kept
    output = run(
        query, key, poisoned(value, 3, poison, feature=1), pattern, implementation=implementation
    ).output
    assert torch.equal(~output[..., 1].isfinite(), kept[..., 3])
    assert output[..., [0, 2]].isfinite().all()


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize("poison", [NAN, 1e38])
def test_whichever_implementation_serves_a_key_nobody_may_use_changes_no_choice(pattern, poison):
    """Not bit by bit: another implementation may serve the call that holds the poison."""
    query, key, value = inputs(dtype=torch.float64)
    mask = torch.arange(6) != 3
    clean, dirty = (
        attention(query, each, value, pattern, mask=mask, generator=seeded())
        for each in (key, poisoned(key, 3, poison))
    )
    torch.testing.assert_close(dirty, clean)


def transposed(tensor):
    return tensor.mT.contiguous().mT


def part_of_a_larger_tensor(tensor):
    return torch.cat([tensor, tensor, tensor], dim=-1).chunk(3, dim=-1)[1]


@pytest.mark.parametrize(
    ("layout", "num_queries"),
    [
        (transposed, 6),
        (part_of_a_larger_tensor, 6),
        (part_of_a_larger_tensor, 1),
        (transposed, 1),
    ],
)
def test_a_key_and_value_nobody_may_use_change_nothing_in_any_memory_layout(layout, num_queries):
    mask = torch.arange(40) != 20
    query, key, value = inputs(num_queries, 40, width=33, value_width=33)
    arguments = [
        [layout(query), layout(each_key), layout(each_value)]
        for each_key, each_value in ((key, value), (poisoned(key, 20, NAN), poisoned(value, 20, NAN)))
    ]
    results = []
    for tensors in arguments:
        leaves = [tensor.detach().requires_grad_() for tensor in tensors]
        output = attention(*leaves, Banded(5), mask=mask, implementation="reference")
        results.append([output, *torch.autograd.grad(output.square().sum(), leaves)])
    assert all(torch.equal(clean, dirty) for clean, dirty in zip(*results, strict=True))


@given(patterns, poisons, seeds)
@few_examples
def test_a_query_with_nothing_allowed_may_hold_anything(implementation, pattern, poison, seed):
    query, key, value = inputs(seed=seed)
    mask = random_mask(6, 6, seed)
    mask[4] = False
    clean = run(query, key, value, pattern, mask=mask, implementation=implementation)
    assert_identical(
        run(poisoned(query, 4, poison), key, value, pattern, mask=mask, implementation=implementation), clean
    )


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_a_nan_query_makes_its_own_row_nan_and_no_other(pattern, implementation):
    query, key, value = inputs()
    clean = run(query, key, value, pattern, implementation=implementation).output
    dirty = run(poisoned(query, 1, NAN, feature=0), key, value, pattern, implementation=implementation).output
    others = torch.arange(6) != 1
    assert dirty[..., 1, :].isnan().all()
    assert torch.equal(dirty[..., others, :], clean[..., others, :])


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize("position", range(6))
def test_a_nan_score_makes_its_row_nan_and_no_other_even_where_not_kept(pattern, position, implementation):
    query, key, value = inputs()
    mask = everything(6, 6)
    mask[:3, position] = False  # only the rows 3, 4, 5 may see the NaN
    clean = run(query, key, value, pattern, mask=mask, implementation=implementation).output
    dirty = run(
        query, poisoned(key, position, NAN), value, pattern, mask=mask, implementation=implementation
    ).output
    assert dirty[..., 3:, :].isnan().all()
    assert torch.equal(dirty[..., :3, :], clean[..., :3, :])


def test_the_weights_of_a_row_with_a_nan_score_are_nan_where_kept_even_if_that_key_is_not():
    query, key, value = inputs(3, 3, leading=())
    mask = picture(".xx", "xxx", ".xx")  # only the query 1 may see the NaN, and its band is the key 1
    info = attention(query, poisoned(key, 0, NAN), value, Banded(1), mask=mask, return_info=True)[1]
    assert draw(info.kept) == [".x.", ".x.", "..x"]
    assert draw(info.weights.isnan()) == ["...", ".x.", "..."]


def test_a_nan_score_makes_its_row_nan_even_where_the_pattern_keeps_nothing():
    query, key, value = inputs(4, 4, leading=())
    mask = torch.tensor([True, True, False, False])  # rows 2 and 3 may see keys outside their block only
    output = attention(
        query, poisoned(key, 1, NAN), value, BlockLocal(2), mask=mask, implementation="reference"
    )
    assert output.isnan().all()


@pytest.mark.parametrize("pattern", [Full(), TopK(2), TopP(1.0), TopP(0.6)], ids=str)
def test_an_infinite_score_of_a_kept_key_is_not_hidden(pattern):
    """Softmax of +inf is NaN, as in PyTorch; what must not happen is a silent number."""
    query, key, value = inputs(3, 4, leading=())
    query, key = query.abs(), poisoned(key, 1, INF)
    assert attention(query, key, value, pattern, implementation="reference").isnan().all()


def test_an_infinite_score_of_a_key_that_is_not_kept_does_not_matter(implementation):
    query, key, value = inputs(6, 6, leading=())
    query = query.abs()
    far_rows = torch.tensor([0, 1, 2])  # whose bands of 3 do not reach key 5
    clean = run(query, key, value, Banded(3), implementation=implementation).output
    dirty = run(query, poisoned(key, 5, INF), value, Banded(3), implementation=implementation).output
    assert torch.equal(dirty[far_rows], clean[far_rows])


def test_gradients_of_rows_that_do_not_see_a_nan_are_unchanged(implementation):
    query, key, value = inputs(seed=3)
    mask = everything(6, 6)
    mask[:3, 5] = False
    unaffected = torch.arange(6) < 3
    clean = run(query, key, value, TopK(2), mask=mask, implementation=implementation)
    dirty = run(query, poisoned(key, 5, NAN), value, TopK(2), mask=mask, implementation=implementation)
    assert torch.equal(dirty.query_gradient[..., unaffected, :], clean.query_gradient[..., unaffected, :])
