"""What the tests of the mechanisms share: inputs, pictures of kept keys, and one way to run attention."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

from semfocus.kernels.cpu.library import has_kernels
from semfocus.mechanisms import (
    Banded,
    BlockLocal,
    BottomK,
    Full,
    Pattern,
    Random,
    TopK,
    TopP,
    WithGlobals,
    attention,
)

needs_kernels = pytest.mark.skipif(
    not has_kernels(), reason="no compiled kernels here: no C++ compiler, or SEMFOCUS_KERNELS=none"
)
#: for parametrize
NATIVE = pytest.param("native", marks=needs_kernels)

few_examples = settings(deadline=None, max_examples=40)

CAUSAL_PATTERNS: tuple[Pattern, ...] = (
    Full(),
    Banded(3),
    BlockLocal(2),
    TopK(2),
    BottomK(2),
    Random(2),
    Random(2, fixed=True),
    TopP(0.6),
)
EVERY_PATTERN: tuple[Pattern, ...] = (
    *CAUSAL_PATTERNS,
    WithGlobals(Banded(2), 1),
    WithGlobals(TopK(2), 2),
    WithGlobals(Random(1), 1),
    WithGlobals(TopP(0.6), 1),
)

counts = st.integers(1, 7)
base_patterns = st.one_of(
    st.just(Full()),
    st.builds(Banded, counts),
    st.builds(BlockLocal, counts),
    st.builds(TopK, counts),
    st.builds(BottomK, counts),
    st.builds(Random, counts, st.booleans()),
    st.builds(TopP, st.floats(0.05, 1.0)),
)
patterns = base_patterns | st.builds(WithGlobals, base_patterns, st.integers(1, 3))
seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(1, 7)


def draws_random_numbers(pattern: Pattern) -> bool:
    base = pattern.base if isinstance(pattern, WithGlobals) else pattern
    return isinstance(base, Random) and not base.fixed


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def inputs(
    num_queries: int = 6,
    num_keys: int = 6,
    *,
    leading: tuple[int, ...] = (2, 2),
    width: int = 4,
    value_width: int = 3,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value of normal numbers."""
    generator = seeded(seed)
    shapes = ((num_queries, width), (num_keys, width), (num_keys, value_width))
    query, key, value = (torch.randn(*leading, *shape, generator=generator, dtype=dtype) for shape in shapes)
    return query, key, value


def picture(*rows: str) -> Tensor:
    """A bool matrix drawn with x for True: picture("x.", "xx")."""
    return torch.tensor([[mark == "x" for mark in row] for row in rows])


def draw(kept: Tensor) -> list[str]:
    """The rows of a bool matrix as a picture draws them."""
    return ["".join("x" if mark else "." for mark in row) for row in kept.tolist()]


def everything(num_queries: int, num_keys: int) -> Tensor:
    return torch.ones(num_queries, num_keys, dtype=torch.bool)


def positions_kept(pattern: Pattern, allowed: Tensor) -> list[str]:
    """What a pattern of positions keeps, drawn; the scores are all equal."""
    return draw(pattern.keep(torch.zeros(allowed.shape), allowed))


def random_mask(num_queries: int, num_keys: int, seed: int, share: float = 0.6) -> Tensor:
    return torch.rand(num_queries, num_keys, generator=seeded(seed)) < share


@dataclass(frozen=True)
class Result:
    """The output of one call, and the gradients of a fixed weighted sum of it."""

    output: Tensor
    query_gradient: Tensor
    key_gradient: Tensor
    value_gradient: Tensor


def run(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    *,
    rows_in_loss: Tensor | None = None,
    implementation: str = "reference",
    **options: Any,
) -> Result:
    """One call with a generator of its own; `rows_in_loss` (..., Lq) says which rows send gradients back."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in (query, key, value)]
    output = attention(*leaves, pattern, generator=seeded(7), implementation=implementation, **options)
    upstream = torch.randn(output.shape, generator=seeded(8), dtype=torch.float64).to(output.dtype)
    if rows_in_loss is not None:
        upstream = upstream * rows_in_loss.unsqueeze(-1)
    return Result(output.detach(), *torch.autograd.grad(output, leaves, upstream))


def assert_identical(actual: Result, expected: Result) -> None:
    """Equal in every bit but the sign of zero."""
    for part in ("output", "query_gradient", "key_gradient", "value_gradient"):
        assert torch.equal(getattr(actual, part), getattr(expected, part)), f"{part} differs"
