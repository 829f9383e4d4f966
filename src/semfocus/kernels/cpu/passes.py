"""What a block does between its matrix products, each in one pass over memory: residual, dropout, norm, ReLU."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus.kernels.cpu.layout import Pass, PassKind
from semfocus.kernels.cpu.library import Library, compiled_library, load_library
from semfocus.kernels.onlookers import is_dispatched, is_transformed
from semfocus.randomness import draw_seed, drop


def norm(x: Tensor, epsilon: float) -> Tensor:
    """LayerNorm without parameters."""
    if kernels_for(x) is None:
        return F.layer_norm(x, x.shape[-1:], eps=epsilon)
    return _Norm.apply(x, epsilon)


def add_dropped(x: Tensor, other: Tensor, rate: float, generator: torch.Generator | None) -> Tensor:
    """x + drop(other)"""
    if kernels_for(x, other) is None:
        return x + drop(other, rate, generator)
    return _AddDropped.apply(x, other, rate, draw_seed(generator) if rate else 0)


def add_dropped_and_norm(
    x: Tensor, other: Tensor, rate: float, epsilon: float, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """y = x + drop(other), and norm(y)"""
    if kernels_for(x, other) is None:
        y = x + drop(other, rate, generator)
        return y, norm(y, epsilon)
    return _AddDroppedAndNorm.apply(x, other, rate, epsilon, draw_seed(generator) if rate else 0)


def dropped(x: Tensor, rate: float, generator: torch.Generator | None) -> Tensor:
    """drop(x)"""
    if rate == 0.0 or kernels_for(x) is None:
        return drop(x, rate, generator)
    return _Dropped.apply(x, rate, draw_seed(generator))


def dropped_relu(x: Tensor, rate: float, generator: torch.Generator | None) -> Tensor:
    """drop(relu(x)); x is used up: it may become the result."""
    if kernels_for(x) is None:
        return drop(F.relu(x), rate, generator)
    return _DroppedRelu.apply(x, rate, draw_seed(generator) if rate else 0)


def kernels_for(x: Tensor, other: Tensor | None = None) -> Library | None:
    """The kernels, where they serve these tensors outside of torch.compile, which fuses passes itself."""
    if other is not None and (other.dtype, other.shape, other.device) != (x.dtype, x.shape, x.device):
        return None
    if torch.jit.is_tracing() or is_transformed() or is_dispatched(x):  # type: ignore[attr-defined]
        return None
    if (
        x.device.type != "cpu"
        or x.dtype not in (torch.float32, torch.float64)
        or torch.compiler.is_compiling()
    ):
        return None
    return load_library()


def run_pass(
    kind: PassKind,
    like: Tensor,
    rate: float = 0.0,
    seed: int = 0,
    epsilon: float = 0.0,
    **arrays: Tensor | None,
) -> None:
    """One pass over contiguous arrays with the rows and the width of `like`; the names are those of `Pass`."""
    library = compiled_library()
    assert library is not None
    values = Pass(
        **{name: array.data_ptr() for name, array in arrays.items() if array is not None},
        rows=like.numel() // like.shape[-1],
        width=like.shape[-1],
        epsilon=epsilon,
        dropout=rate,
        seed=seed,
        threads=torch.get_num_threads(),
    )
    library.run_pass(values, like.dtype == torch.float64, kind)


def _refuse_second_derivative() -> None:
    if torch.is_grad_enabled():
        raise RuntimeError("the native passes have no second derivative; compute inside `without_kernels()`")


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, epsilon: float) -> Tensor:
        x = x.contiguous()
        normed, factors = torch.empty_like(x), x.new_empty(x.shape[:-1])
        run_pass("forward", x, epsilon=epsilon, input=x, normed=normed, factors=factors)
        ctx.save_for_backward(normed, factors)
        return normed

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        _refuse_second_derivative()
        normed, factors = ctx.saved_tensors
        grad_input = torch.empty_like(normed)
        run_pass(
            "backward",
            normed,
            normed=normed,
            factors=factors,
            grad_normed=grad.contiguous(),
            grad_input=grad_input,
        )
        return grad_input, None


class _AddDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, other: Tensor, rate: float, seed: int) -> Tensor:
        x, other = x.contiguous(), other.contiguous()
        result = torch.empty_like(x)
        run_pass("forward", x, rate, seed, input=x, other=other, sum=result)
        ctx.options = rate, seed
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        _refuse_second_derivative()
        rate, seed = ctx.options
        if rate == 0.0:
            return grad, grad, None, None
        grad = grad.contiguous()
        grad_other = torch.empty_like(grad)
        run_pass("backward", grad, rate, seed, grad_sum=grad, grad_other=grad_other)
        return grad, grad_other, None, None


class _AddDroppedAndNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, other: Tensor, rate: float, epsilon: float, seed: int
    ) -> tuple[Tensor, Tensor]:
        x, other = x.contiguous(), other.contiguous()
        result, normed, factors = torch.empty_like(x), torch.empty_like(x), x.new_empty(x.shape[:-1])
        run_pass(
            "forward",
            x,
            rate,
            seed,
            epsilon,
            input=x,
            other=other,
            sum=result,
            normed=normed,
            factors=factors,
        )
        ctx.save_for_backward(normed, factors)
        ctx.options = rate, seed
        ctx.set_materialize_grads(False)
        return result, normed

    @staticmethod
    def backward(
        ctx: Any, grad_result: Tensor | None, grad_normed: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        _refuse_second_derivative()
        normed, factors = ctx.saved_tensors
        rate, seed = ctx.options
        if grad_result is None and grad_normed is None:
            return None, None, None, None, None
        grad_input = torch.empty_like(normed)
        grad_other = grad_input if rate == 0.0 else torch.empty_like(normed)
        if grad_normed is None:
            assert grad_result is not None
            grad_input.copy_(grad_result)
        run_pass(
            "backward",
            normed,
            rate,
            seed,
            normed=normed,
            factors=factors,
            grad_sum=grad_input if grad_normed is None else _contiguous(grad_result),
            grad_normed=_contiguous(grad_normed),
            grad_input=grad_input,
            grad_other=None if rate == 0.0 else grad_other,
        )
        return grad_input, grad_other, None, None, None


class _Dropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float, seed: int) -> Tensor:
        x = x.contiguous()
        result = torch.empty_like(x)
        run_pass("forward", x, rate, seed, other=x, sum=result)
        ctx.options = rate, seed
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        _refuse_second_derivative()
        grad = grad.contiguous()
        grad_input = torch.empty_like(grad)
        run_pass("backward", grad, *ctx.options, grad_sum=grad, grad_other=grad_input)
        return grad_input, None, None


class _DroppedRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float, seed: int) -> Tensor:
        in_place = x.is_contiguous() and not (x.is_leaf and x.requires_grad)
        result = x if in_place else torch.empty_like(x, memory_format=torch.contiguous_format)
        run_pass("relu", x, rate, seed, input=x.contiguous(), sum=result)
        if in_place:
            ctx.mark_dirty(x)
        ctx.save_for_backward(result)
        ctx.rate = rate
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        _refuse_second_derivative()
        (result,) = ctx.saved_tensors
        grad_input = torch.empty_like(result)
        run_pass(
            "relu_backward", result, ctx.rate, sum=result, grad_sum=grad.contiguous(), grad_input=grad_input
        )
        return grad_input, None, None


def _contiguous(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.contiguous()
