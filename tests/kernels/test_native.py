"""The compiled kernels against the reference: outputs and every gradient."""

import itertools
import os
import subprocess
import sys

import pytest
import torch

from semfocus.kernels.cpu.layout import INSTRUCTION_SETS
from semfocus.kernels.cpu.library import load_library
from semfocus.kernels.cpu.operations import attend_backward_operation, attend_operation
from semfocus.mechanisms import Banded, BlockLocal, BottomK, Full, Random, TopK, TopP, attention

LIBRARY = load_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the kernels were not compiled (no C++ compiler)")

PATTERNS = (Full(), TopK(1), TopK(5), TopK(64), BottomK(3), Banded(4), Banded(9), BlockLocal(5))

LENGTHS = ((1, 1), (2, 2), (7, 7), (16, 16), (97, 97), (257, 257), (5, 40), (40, 5), (1, 300))


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request, monkeypatch):
    """Every instruction set that this machine has."""
    if INSTRUCTION_SETS.index(request.param) > INSTRUCTION_SETS.index(LIBRARY.best):
        pytest.skip(f"this machine has no {request.param}")
    monkeypatch.setattr(LIBRARY, "instruction_set", request.param)


def draw(num_queries, num_keys, width, value_width=3, batch=(2, 2), dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((num_queries, width), (num_keys, width), (num_keys, value_width), (num_queries, value_width))
    return [torch.randn(*batch, *shape, dtype=dtype, generator=generator) for shape in shapes]


def draw_mask(kind, num_queries, num_keys):
    generator = torch.Generator().manual_seed(1)
    if kind == "padding":
        return torch.rand(2, 1, 1, num_keys, generator=generator) > 0.3
    return torch.rand(2, 2, num_queries, num_keys, generator=generator) > 0.5 if kind == "any" else None


def run(implementation, query, key, value, grad_output, pattern, **options):
    leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    output = attention(*leaves, pattern, implementation=implementation, **options)
    return output.detach(), *torch.autograd.grad(output, leaves, grad_output)


def assert_equal_to(expected, actual, tolerance):
    for right, wrong in zip(expected, actual, strict=True):
        assert (right - wrong).abs().max() <= tolerance * right.abs().max()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("width", [1, pytest.param(8, marks=pytest.mark.slow), 64])
def test_equals_the_reference_in_float64(pattern, width):
    for (num_queries, num_keys), causal, kind in itertools.product(
        LENGTHS, (False, True), ("none", "padding", "any")
    ):
        tensors = draw(num_queries, num_keys, width)
        options = {"causal": causal, "mask": draw_mask(kind, num_queries, num_keys)}
        expected = run("reference", *tensors, pattern, **options)
        assert_equal_to(expected, run("native", *tensors, pattern, **options), 1e-12)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", [TopK(5), TopK(64), Banded(9), Full()], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_long_sequences_cross_chunks_of_keys(pattern, masked):
    tensors = draw(3, 5000, 8, batch=(1,))
    mask = torch.rand(3, 5000, generator=torch.Generator().manual_seed(1)) > 0.5 if masked else None
    expected, actual = (run(each, *tensors, pattern, mask=mask) for each in ("reference", "native"))
    assert_equal_to(expected, actual, 1e-12)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", [TopK(5), Banded(9)], ids=str)
def test_float32_is_as_exact_as_pytorch(pattern):
    """Error against float64 on the same keys: at most 1.25 times that of the dense float32 reference."""
    tensors = draw(97, 97, 64, dtype=torch.float32)
    exact = run("reference", *(tensor.double() for tensor in tensors), pattern)
    for truth, dense, ours in zip(
        exact, run("reference", *tensors, pattern), run("native", *tensors, pattern), strict=True
    ):
        allowance = (
            1.25 * (dense - truth).abs().max() + 4 * torch.finfo(torch.float32).eps * truth.abs().max()
        )
        assert (ours - truth).abs().max() <= allowance


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("pattern", [TopK(3), BottomK(3), TopK(40)], ids=str)
def test_ties_go_to_the_lowest_index_at_every_place(pattern, dtype):
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randint(-1, 2, (1, 50, 3), generator=generator).to(dtype) for _ in range(2))
    value = torch.eye(50, dtype=dtype).unsqueeze(0)
    expected = attention(query, key, value, pattern, implementation="reference")
    actual = attention(query, key, value, pattern, implementation="native")
    assert torch.equal(actual != 0, expected != 0)


@pytest.mark.usefixtures("instruction_set")
def test_equal_keys_keep_equal_scores_wherever_they_lie():
    """All keys the same vector of awkward numbers: any difference in summation order would break the tie."""
    query = torch.randn(1, 30, 61, generator=torch.Generator().manual_seed(0))
    key = query[:, :1].expand(1, 3000, 61)
    kept = attention(query, key, torch.eye(3000).unsqueeze(0), TopK(4), implementation="native") != 0
    assert torch.equal(kept, (torch.arange(3000) < 4).expand(1, 30, 3000))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("poison", [torch.nan, torch.inf, -torch.inf, 1e38])
def test_what_nobody_may_see_changes_no_bit(pattern, poison):
    query, key, value, grad_output = draw(9, 9, 4, dtype=torch.float32)
    mask = torch.arange(9) < 7
    clean = run("native", query, key, value, grad_output, pattern, mask=mask)
    poisoned_key, poisoned_value = key.clone(), value.clone()
    poisoned_key[..., 7:, :], poisoned_value[..., 7:, :] = poison, poison
    poisoned = run("native", query, poisoned_key, poisoned_value, grad_output, pattern, mask=mask)
    assert all(torch.equal(left, right) for left, right in zip(clean, poisoned, strict=True))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_a_nan_score_of_an_allowed_key_makes_its_row_nan_and_no_other(pattern):
    query, key, value, _ = draw(9, 9, 4, dtype=torch.float32)
    key[..., 5, :] = torch.nan
    output = attention(query, key, value, pattern, causal=True)
    assert output[..., 5:, :].isnan().all()
    assert output[..., :5, :].isfinite().all()


@pytest.mark.usefixtures("instruction_set")
def test_a_row_with_nothing_allowed_is_zero_with_zero_gradient():
    tensors = draw(6, 6, 4)
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[2] = False
    output, grad_query, _, _ = run("native", *tensors, TopK(2), mask=mask)
    assert (output[..., 2, :] == 0).all()
    assert (grad_query[..., 2, :] == 0).all()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", [*PATTERNS, Random(3)], ids=str)
def test_gradients_by_finite_differences(pattern):
    *tensors, _ = draw(6, 7, 3, batch=(2,))
    leaves = [tensor.requires_grad_() for tensor in tensors]

    def call(query, key, value):
        generator = torch.Generator().manual_seed(3)
        return attention(
            query, key, value, pattern, dropout=0.3, generator=generator, implementation="native"
        )

    assert torch.autograd.gradcheck(call, leaves)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", [*PATTERNS, Random(1), Random(3), Random(64)], ids=str)
@pytest.mark.parametrize("kind", ["none", "padding", "any"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_one_generator_draws_the_same_on_the_kernels_and_on_the_reference(pattern, kind, dropout):
    for (num_queries, num_keys), causal in itertools.product(
        ((1, 1), (7, 7), (50, 97), (40, 5)), (False, True)
    ):
        tensors = draw(num_queries, num_keys, 8)
        mask = draw_mask(kind, num_queries, num_keys)
        expected, actual = (
            run(
                each,
                *tensors,
                pattern,
                causal=causal,
                mask=mask,
                dropout=dropout,
                generator=torch.Generator().manual_seed(3),
            )
            for each in ("reference", "native")
        )
        assert_equal_to(expected, actual, 1e-12)


def test_dropout_drops_the_right_share_and_keeps_the_mean():
    query, key = torch.zeros(1, 4096, 2), torch.zeros(1, 8, 2)
    generator = torch.Generator().manual_seed(0)
    weights = attention(
        query, key, torch.eye(8)[None], TopK(8), dropout=0.2, generator=generator, implementation="native"
    )
    assert abs((weights == 0).float().mean() - 0.2) < 4 * (0.2 * 0.8 / weights.numel()) ** 0.5
    torch.testing.assert_close(weights[weights != 0], torch.full_like(weights[weights != 0], 0.125 / 0.8))


@pytest.mark.parametrize("masked", [False, True])
def test_random_keeps_distinct_allowed_keys_equally_often(masked):
    query, key = torch.zeros(1, 20_000, 1), torch.zeros(1, 8, 1)
    mask = torch.tensor([True, True, False, True, True, True, True, True]) if masked else None
    generator = torch.Generator().manual_seed(0)
    weights = attention(
        query, key, torch.eye(8)[None], Random(3), mask=mask, generator=generator, implementation="native"
    )
    kept = weights != 0
    assert (kept.sum(-1) == 3).all()
    shares = kept.float().mean((0, 1))
    expected = torch.full((8,), 3 / 7 if masked else 3 / 8)
    if masked:
        expected[2] = 0
    assert (shares - expected).abs().max() < 4 * (0.25 / 20_000) ** 0.5
    pairs = (kept[0, :, 0] & kept[0, :, 1]).float().mean()  # independent of which other keys are kept
    assert abs(pairs - (3 / 7 * 2 / 6 if masked else 3 / 8 * 2 / 7)) < 4 * (0.25 / 20_000) ** 0.5


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [pytest.param((1,), marks=pytest.mark.slow), (3,)])
def test_repeats_are_bit_identical(threads, batch):
    tensors = draw(64, 64, 16, batch=batch, dtype=torch.float32)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        first = run("native", *tensors, TopK(5))
        for _ in range(200):
            again = run("native", *tensors, TopK(5))
            assert all(torch.equal(left, right) for left, right in zip(first, again, strict=True))
    finally:
        torch.set_num_threads(before)


def test_more_threads_than_batch_elements_give_the_same_gradients_up_to_rounding():
    tensors = draw(100, 100, 16, batch=(1,))
    one = run("native", *tensors, TopK(5))
    torch.set_num_threads(2)
    try:
        assert_equal_to(one, run("native", *tensors, TopK(5)), 1e-13)
    finally:
        torch.set_num_threads(1)


@pytest.mark.slow
def test_the_operators_pass_opcheck():
    query, key, value, grad_output = draw(9, 9, 4, batch=(2, 1))
    mask = torch.rand(2, 1, 9, 9, generator=torch.Generator().manual_seed(0)) > 0.3
    for each, mode in itertools.product((None, mask), ("top", "all")):
        seeds = torch.tensor(0), torch.tensor(7)
        options = (mode, 3, 3 if mode == "top" else 0, True, 0.5, 0.1, *seeds, 1)
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
        torch.library.opcheck(attend_operation, (*leaves, each, *options))
        results = attend_operation(query, key, value, each, *options)
        saved = (grad_output, query, key, value, each, *results)
        torch.library.opcheck(attend_backward_operation, (*saved, *options))


def test_it_says_why_it_refuses():
    query, key, value, _ = draw(4, 4, 2, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"floating-point numbers on the CPU, not torch.float32 on meta"):
        attention(query.to("meta"), key.to("meta"), value.to("meta"), TopK(2), implementation="native")
    with pytest.raises(ValueError, match=r"no native kernel for top_p\(0.5\)"):
        attention(query, key, value, TopP(0.5), implementation="native")


def test_an_instruction_set_that_is_not_there_is_refused():
    code = "from semfocus.kernels.cpu.library import load_library; load_library()"
    environment = os.environ | {"SEMFOCUS_INSTRUCTION_SET": "mmx"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "SEMFOCUS_INSTRUCTION_SET='mmx' is not possible here" in result.stderr


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("num_keys", [5, 7, 33, 40, 70])
def test_exactly_k_are_kept_where_all_scores_are_negative(dtype, num_keys):
    """Panels are filled up with zeros, which would win here if they counted."""
    query = torch.full((1, 13, 4), -1.0, dtype=dtype)
    key = torch.rand(1, num_keys, 4, dtype=dtype, generator=torch.Generator().manual_seed(0)) + 0.1
    value = torch.eye(num_keys, dtype=dtype)[None]
    for k in (1, 3, 5, 9, 17, 30):
        expected = attention(query, key, value, TopK(k), implementation="reference")
        actual = attention(query, key, value, TopK(k), implementation="native")
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("size", [2**31, 2**32, 2**70])
@pytest.mark.parametrize("make", [BlockLocal, TopK, Banded])
def test_sizes_beyond_any_integer_mean_everything(make, size):
    query, key, value, _ = draw(6, 6, 4)
    expected = attention(query, key, value)
    torch.testing.assert_close(attention(query, key, value, make(size), implementation="native"), expected)


def test_strided_and_broadcast_inputs_and_masks():
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(3, 2, 2, 4, 9, dtype=torch.float64, generator=generator).mT
    key = torch.randn(1, 2, 1, 4, 11, dtype=torch.float64, generator=generator).mT
    value = torch.randn(3, 1, 2, 11, 8, dtype=torch.float64, generator=generator)[..., ::2]
    wide = torch.rand(3, 2, 2, 22, 18, generator=generator) > 0.4
    for mask in (wide[..., ::2, ::2].mT, wide[:, :1, :, :11, :9].mT, wide[0, 0, 0, :11, 0], None):
        expected, actual = (
            attention(query, key, value, TopK(3), mask=mask, scale=-0.7, implementation=each)
            for each in ("reference", "native")
        )
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_a_second_derivative_is_refused_in_words():
    query, key, value, _ = draw(5, 5, 3)
    query.requires_grad_()
    output = attention(query, key, value, TopK(2), implementation="native")
    (gradient,) = torch.autograd.grad(output.sum(), query, create_graph=True)
    with pytest.raises(RuntimeError, match="use implementation='torch' or 'reference'"):
        gradient.sum().backward()


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("pattern", [TopK(1), Banded(1)], ids=str)
def test_a_score_that_overflows_before_a_small_scale_is_applied_makes_its_row_nan(pattern):
    query, key = torch.tensor([[1e20, 1e20]]), torch.tensor([[1e20, -1e20]])
    output = attention(query, key, torch.ones(1, 1), pattern, scale=1e-3, implementation="native")
    assert output.isnan().all()


def test_the_kernels_step_aside_for_tracing():
    """A trace records PyTorch's operations only; memory that a kernel fills would stay empty in it."""
    first, second = (torch.randn(3, 1, 6, 4, generator=torch.Generator().manual_seed(s)) for s in (0, 1))
    with torch.no_grad():
        traced = torch.jit.trace(lambda *inputs: attention(*inputs, TopK(2)), tuple(first), check_trace=False)
        torch.testing.assert_close(traced(*second), attention(*second, TopK(2)))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", [17, 33, 64, 150])
@pytest.mark.parametrize("pattern", [TopK, BottomK])
def test_many_kept_keys_among_ties_zeros_and_extremes(pattern, k, dtype):
    """One feature and scale 1: the keys are the scores; a tiny query makes zeros of both signs, which are equal."""
    generator = torch.Generator().manual_seed(k)
    limits = torch.finfo(dtype)
    choices = torch.tensor(
        [-0.0, 0.0, limits.tiny, -limits.tiny, limits.max / 4, -limits.max / 4, 1.5], dtype=dtype
    )
    key = choices[torch.randint(len(choices), (3, 1, 400, 1), generator=generator)]
    key[1] = torch.randn(1, 400, 1, generator=generator, dtype=dtype)
    query = torch.tensor([1.0, limits.tiny], dtype=dtype).reshape(1, 1, 2, 1).repeat(3, 1, 1, 1)
    value = torch.eye(400, dtype=dtype).expand(3, 1, 400, 400)
    expected = attention(
        query, key, value, pattern(k), scale=1.0, implementation="reference", return_info=True
    )[1]
    query.requires_grad_()
    output = attention(
        query, key, value.clone().requires_grad_(), pattern(k), scale=1.0, implementation="native"
    )
    indices = output.grad_fn.saved_tensors[5]
    kept = torch.zeros_like(expected.kept).scatter_(-1, indices.long(), True)
    assert torch.equal(kept, expected.kept)
