"""How far the fused block, and the LayerNorm in it, are from float64, in units of how far PyTorch's operations are."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus.kernels.cpu.library import without_kernels
from semfocus.kernels.cpu.passes import norm
from semfocus.mechanisms import Banded, BlockLocal, Full, Pattern, Random
from semfocus.model import ModelConfig
from semfocus.model.block import Block
from semfocus.randomness import stream
from tests.kernels.numerics.errors import HALF_ULP, Error, error_of
from tests.kernels.numerics.inputs import Draw

#: patterns whose choice no rounding changes
PATTERNS: tuple[Pattern, ...] = (Full(), Banded(5), BlockLocal(7), Random(3))
BLOCK = ("block output", "block input gradient", "block weight gradients")
NORM = ("norm output", "norm gradient")


def hard_block(number: int) -> tuple[Block, Tensor]:
    """A block and its input, by the number of the case."""
    draw = Draw(number)
    length, width, batch = draw.size(128), draw.one_of((8, 24, 64, 100)), 4 + draw.below(12)
    config = ModelConfig(
        vocab_size=2,
        num_classes=2,
        max_length=length,
        d_model=int(width),
        d_mlp=draw.size(130),
        num_heads=1 + draw.below(2),
        pattern=PATTERNS[draw.below(len(PATTERNS))],
        dropout=draw.one_of((0.0, 0.1)),
        inverse_temperature=draw.one_of((1.0, 30.0)),
    )
    layer = Block(config, is_first=True)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(draw.normal(*parameter.shape) * parameter.shape[-1] ** -0.5)
        # Every hidden unit clearly on or off: one that rounding switches would be an error as large as the unit.
        layer.mlp.expand.bias.copy_(8 * draw.normal(config.d_mlp).sign())
    # LayerNorm takes out what all features have in common, and divides by what is left.
    return layer, draw.normal(batch, length, int(width)) * draw.one_of((1e-3, 1.0, 1e4)) + draw.one_of(
        (0.0, 1e2)
    )


def results(layer: Block, x: Tensor) -> list[Tensor]:
    """Output, gradient of the input, gradients of all parameters in one row."""
    x = x.clone().requires_grad_()
    output = layer(x, None, stream(0, "noise"))
    upstream = Draw(1).normal(*output.shape).to(output.dtype)
    of_input, *of_parameters = torch.autograd.grad(output, [x, *layer.parameters()], upstream)
    return [output.detach(), of_input, torch.cat([each.flatten() for each in of_parameters])]


def of_norm(x: Tensor, compute: Callable[[Tensor], Tensor]) -> list[Tensor]:
    x = x.clone().requires_grad_()
    output = compute(x)
    upstream = Draw(1).normal(*output.shape).to(output.dtype)
    return [output.detach(), *torch.autograd.grad(output, x, upstream)]


def plain_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=1e-5)


def judged_block(number: int) -> dict[str, Error]:
    layer, x = hard_block(number)
    ours = results(layer, x) + of_norm(x, lambda x: norm(x, 1e-5))
    with without_kernels():
        usual = results(layer, x) + of_norm(x, plain_norm)
        truth = results(layer.double(), x.double()) + of_norm(x.double(), plain_norm)
    ratios = {}
    for name, exact, theirs, found in zip((*BLOCK, *NORM), truth, usual, ours, strict=True):
        size = HALF_ULP * exact.abs()
        least = Error(float(size.max()), float(size.square().mean().sqrt()))
        ratios[name] = error_of(found, exact).over(error_of(theirs, exact), least)
    return ratios
