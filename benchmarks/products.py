"""The bare matrix products that a step of the model cannot do without: preallocated, nothing in between.

They are the yardstick of training_step.py and epoch.py. All blocks share one set of matrices, which is kinder to the
caches than a real step can be: the products take the least time they could.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus import Banded, Full, TopK
from semfocus.mechanisms import Pattern
from semfocus.settings import ModelSettings


@dataclass(frozen=True)
class Product:
    """out = left right, for single matrices or batches of them."""

    name: str
    left: Tensor
    right: Tensor
    out: Tensor

    def run(self) -> None:
        (torch.mm if self.out.dim() == 2 else torch.bmm)(self.left, self.right, out=self.out)

    @property
    def shape(self) -> str:
        """E.g. `25 x (600 x 64)(64 x 600)`."""
        rows, inner, columns = self.left.shape[-2], self.left.shape[-1], self.right.shape[-1]
        one = f"({rows} x {inner})({inner} x {columns})"
        return one if self.out.dim() == 2 else f"{len(self.out)} x {one}"


def product(name: str, left: Tensor, right: Tensor) -> Product:
    return Product(name, left, right, left.new_empty(*left.shape[:-1], right.shape[-1]))


def linear(name: str, rows: int, inputs: int, outputs: int, backward: bool) -> list[Product]:
    """A linear map of `rows` vectors, and the gradients of its input and of its weight."""
    x, weight, grad = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(rows, outputs)
    forward = [product(name, x, weight.t())]
    if not backward:
        return forward
    return [
        *forward,
        product(f"{name}: gradient of input", grad, weight),
        product(f"{name}: gradient of weight", grad.t(), x),
    ]


def attention(pattern: Pattern, batch: int, length: int, width: int, backward: bool) -> list[Product]:
    """What attention needs beyond the few products of kept keys: all scores, or nothing, or everything."""
    query, key, value, grad = torch.randn(4, batch, length, width)
    if isinstance(pattern, Banded):
        return []
    scores = product("scores", query, key.mT)
    if isinstance(pattern, TopK):
        return [scores]
    if not isinstance(pattern, Full):
        raise ValueError(f"the products of {pattern} are not listed")
    weights, grad_scores = torch.randn(2, batch, length, length)
    forward = [scores, product("output", weights, value)]
    if not backward:
        return forward
    return [
        *forward,
        product("scores again", query, key.mT),
        product("gradient of weights", grad, value.mT),
        product("gradient of values", weights.mT, grad),
        product("gradient of queries", grad_scores, key),
        product("gradient of keys", grad_scores.mT, query),
    ]


def block_products(
    model: ModelSettings, pattern: Pattern, batch: int, length: int, *, backward: bool
) -> list[Product]:
    """The products of one block with one head; embedding and readout are left out."""
    rows, width = batch * length, model.d_model
    return [
        *linear("query, key, value", rows, width, 3 * width, backward),
        *attention(pattern, batch, length, width, backward),
        *linear("attention output", rows, width, width, backward),
        *linear("MLP expand", rows, width, model.d_mlp, backward),
        *linear("MLP contract", rows, model.d_mlp, width, backward),
    ]


def run_all(products: Sequence[Product], times: int) -> None:
    """The products in their order, again and again."""
    for _ in range(times):
        for each in products:
            each.run()
