"""Whether somebody looks on in a way that only PyTorch's own operations, or a registered one, can serve."""

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

REASON = "torch.func and forward-mode derivatives need PyTorch's own operations"


def is_transformed() -> bool:
    """Inside torch.func (grad, jvp, vmap ...) or a level of forward-mode derivatives."""
    if torch.compiler.is_compiling():  # then the compiler sees the operations, and transforms them itself
        return False
    return forward_ad._current_level >= 0 or torch._C._functorch.peek_interpreter_stack() is not None


class SilentMode:
    """A dispatch mode that only listens: every operation computes what it would without."""


def is_dispatched(*tensors: Tensor) -> bool:
    """Operations are traced (FakeTensorMode, make_fx), or a tensor may have no memory (meta, other classes)."""
    return _are_modes_open() or any(
        tensor.is_meta or type(tensor) not in (Tensor, torch.nn.Parameter) for tensor in tensors
    )


def _are_modes_open() -> bool:
    return torch._C._len_torch_dispatch_stack() > 0 and not all(
        isinstance(mode, SilentMode) for mode in _get_current_dispatch_mode_stack()
    )


def numbers_are_hidden(tensor: Tensor) -> bool:
    """No branch may depend on the numbers of a tensor: they are traced, are many (vmap), or may not be there at all."""
    return (
        torch.compiler.is_compiling()
        or is_dispatched(tensor)
        or torch._C._functorch.peek_interpreter_stack() is not None
    )
