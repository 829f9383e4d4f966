"""Attention calls that are hard to compute in float32: a function of their number alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms import Banded, BlockLocal, BottomK, Full, Pattern, Random, TopK, WithGlobals
from semfocus.mechanisms.native import MOST_ENTRIES

#: in a case of short sequences
FEWEST_ROWS = 512
Inputs = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Hard:
    """A call, and the gradient of its output; tensors (batch, heads, length, features)."""

    number: int
    family: str
    pattern: Pattern
    query: Tensor
    key: Tensor
    value: Tensor
    grad: Tensor
    mask: Tensor | None
    causal: bool
    scale: float
    softcap: float | None = None
    bias: Tensor | None = None

    def __str__(self) -> str:
        changes = "".join(
            f", {name}" for name in ("mask", "bias", "softcap") if getattr(self, name) is not None
        )
        sizes = f"{self.query.shape[2]} x {self.key.shape[2]}, width {self.query.shape[3]}"
        causal = ", causal" if self.causal else ""
        return f"case {self.number}: {self.family}, {self.pattern}, {sizes}{causal}{changes}"


class Draw:
    """Random numbers of one case."""

    def __init__(self, number: int) -> None:
        self.generator = torch.Generator().manual_seed(number)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator)

    def below(self, limit: int) -> int:
        return int(torch.randint(limit, (), generator=self.generator))

    def one_of(self, choices: tuple[float, ...]) -> float:
        return choices[self.below(len(choices))]

    def size(self, most: int) -> int:
        """From 1 on, each order of magnitude as often as the next."""
        return max(1, round(math.exp(float(self.uniform()) * math.log(most))))


def _usual(draw: Draw, inputs: Inputs) -> Inputs:
    return inputs


def _scores_of_size(*sizes: float) -> Callable[[Draw, Inputs], Inputs]:
    def change(draw: Draw, inputs: Inputs) -> Inputs:
        query, key, value, grad = inputs
        size = math.sqrt(draw.one_of(sizes))
        return query * size, key * size, value, grad

    return change


def _near_ties(draw: Draw, inputs: Inputs) -> Inputs:
    """Keys that differ in their last bits."""
    query, key, value, grad = inputs
    return query, key[:, :, :1] * (1 + 2e-7 * draw.normal(*key.shape)), value, grad


def _one_dominant_key(draw: Draw, inputs: Inputs) -> Inputs:
    """All queries look at one key; its gradients are sums over all queries."""
    query, key, value, grad = inputs
    key[:, :, draw.below(key.shape[2])] = draw.one_of((1.0, 5.0, 50.0, 1000.0))
    return query.abs(), key, value, grad


def _equal_keys(draw: Draw, inputs: Inputs) -> Inputs:
    query, key, value, grad = inputs
    return query, key[:, :, :1].expand_as(key).clone(), value, grad


def _denormals(draw: Draw, inputs: Inputs) -> Inputs:
    which = draw.below(4)
    query, key, value, grad = (each * 1e-39 if place == which else each for place, each in enumerate(inputs))
    return query, key, value, grad


def _cancelling_values(draw: Draw, inputs: Inputs) -> Inputs:
    """Large values of both signs, whose sums are small."""
    query, key, value, grad = inputs
    signs = torch.where(torch.arange(value.shape[2]) % 2 == 0, 1.0, -1.0)[:, None]
    return query * 0.1, key, value + draw.one_of((1e2, 1e4, 1e6)) * signs, grad


def _cancelling_products(draw: Draw, inputs: Inputs) -> Inputs:
    """Scores that are small differences of large products."""
    query, key, value, grad = inputs
    half = query.shape[3] // 2
    size = draw.one_of((1e1, 1e2, 1e3))
    query[..., :half] = query[..., half : 2 * half] + 0.1 * query[..., :half] / size
    key[..., :half] = -key[..., half : 2 * half] + 0.1 * key[..., :half] / size
    return query * size, key, value, grad


def _offset_scores(draw: Draw, inputs: Inputs) -> Inputs:
    """A large number in all scores of a row, which the softmax takes out again."""
    query, key, value, grad = inputs
    return query + draw.one_of((1.0, 10.0)), key + draw.one_of((1e1, 1e2, 1e3)), value, grad


def _offset_values(draw: Draw, inputs: Inputs) -> Inputs:
    """A large number in all values: the gradients of the weights have it in common."""
    query, key, value, grad = inputs
    return query, key, value + draw.one_of((1e2, 1e4, 1e6)), grad


def _equal_values(draw: Draw, inputs: Inputs) -> Inputs:
    """The output does not depend on the weights: the true gradients of queries and keys are 0."""
    query, key, value, grad = inputs
    return query, key, value[:, :, :1].expand_as(value).clone(), grad


def _many_sizes(draw: Draw, inputs: Inputs) -> Inputs:
    """Features, keys and queries of sizes from 1e-3 to 1e3."""
    query, key, value, grad = inputs
    features, keys, queries = (
        10 ** (6 * draw.uniform(size) - 3) for size in (query.shape[3], key.shape[2], query.shape[2])
    )
    return query * features, key / features, value * keys[:, None], grad * queries[:, None]


def _sparse_gradient(draw: Draw, inputs: Inputs) -> Inputs:
    """The gradient of a single query, as of the token that is read out."""
    query, key, value, grad = inputs
    only = torch.zeros_like(grad)
    row = draw.below(grad.shape[2])
    only[:, :, row] = grad[:, :, row]
    return query, key, value, only


def _equal_gradients(draw: Draw, inputs: Inputs) -> Inputs:
    """All queries pull the same way, as under a mean over tokens: sums over queries grow and do not cancel."""
    query, key, value, grad = inputs
    return query, key, value, grad[:, :, :1].expand_as(grad).clone()


FAMILIES: dict[str, Callable[[Draw, Inputs], Inputs]] = {
    "usual": _usual,
    "huge scores": _scores_of_size(1e2, 1e4, 1e8, 1e30),
    "tiny scores": _scores_of_size(1e-3, 1e-8, 1e-30),
    "near ties": _near_ties,
    "one dominant key": _one_dominant_key,
    "equal keys": _equal_keys,
    "denormals": _denormals,
    "cancelling values": _cancelling_values,
    "cancelling products": _cancelling_products,
    "offset scores": _offset_scores,
    "offset values": _offset_values,
    "equal values": _equal_values,
    "many sizes": _many_sizes,
    "sparse gradient": _sparse_gradient,
    "equal gradients": _equal_gradients,
}


def _pattern(draw: Draw, num_keys: int) -> Pattern:
    some = draw.size(num_keys)
    return (
        Full(),
        TopK(1),
        TopK(5),
        TopK(some),
        TopK(num_keys + draw.below(3)),
        BottomK(some),
        Random(some),
        Banded(some),
        BlockLocal(some),
        WithGlobals(BlockLocal(max(some, 2)), 1),
    )[draw.below(10)]


def _mask(draw: Draw, batch: int, num_queries: int, num_keys: int) -> Tensor | None:
    """None, padding, or anything, with rows in which nothing is allowed."""
    kind = draw.below(3)
    if kind == 0:
        return None
    mask = draw.uniform(batch, 1, num_queries if kind == 2 else 1, num_keys) > 0.3
    if kind == 2:
        mask &= draw.uniform(batch, 1, num_queries, 1) > 0.1
    return mask.expand(batch, 2, num_queries, num_keys)


def hard_case(number: int, longest: int = 2048) -> Hard:
    """The case of this number: the families take turns, everything else is drawn."""
    family = list(FAMILIES)[number % len(FAMILIES)]
    draw = Draw(number)
    num_queries, num_keys = draw.size(longest), draw.size(longest)
    if draw.below(2):
        num_queries = num_keys
    width, value_width = draw.size(130), draw.size(130)
    if draw.below(3) == 0:
        width = value_width = 64  # which the kernels have code of its own for
    # Many rows, so that the largest of their errors is no matter of luck.
    batch = max(1, min(32, FEWEST_ROWS // (2 * min(num_queries, num_keys))))
    shapes = ((num_queries, width), (num_keys, width), (num_keys, value_width), (num_queries, value_width))
    query, key, value, grad = (draw.normal(batch, 2, *shape) for shape in shapes)
    query, key, value, grad = FAMILIES[family](draw, (query, key, value, grad))
    pattern = _pattern(draw, num_keys)
    if isinstance(pattern, WithGlobals) and (
        min(num_queries, num_keys) < 2 or num_queries * num_keys > MOST_ENTRIES
    ):
        pattern = Full()
    softcap, bias = None, None
    if isinstance(pattern, TopK | BottomK) and pattern.k < num_keys and draw.below(4) == 0:
        softcap = draw.one_of((1.0, 30.0))
        bias = draw.normal(batch, 2, num_queries, num_keys)
    return Hard(
        number,
        family,
        pattern,
        query,
        key,
        value,
        grad,
        _mask(draw, batch, num_queries, num_keys),
        draw.below(2) == 1 and not isinstance(pattern, WithGlobals),
        width**-0.5,
        softcap,
        bias,
    )
