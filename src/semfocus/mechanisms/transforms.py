"""Whether a derivative is being taken in a way that only PyTorch's own operations understand."""

import torch
from torch.autograd import forward_ad

REASON = "torch.func and forward-mode derivatives need PyTorch's own operations"


def is_transformed() -> bool:
    """Inside torch.func (grad, jvp, vmap ...) or a level of forward-mode derivatives."""
    return forward_ad._current_level >= 0 or torch._C._functorch.peek_interpreter_stack() is not None
