"""Evaluating a model: the loss of its logits, one answer per sequence or per position, and evaluation mode
for a while.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch.nn.functional as F
from torch import Tensor, nn


def mean_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy: logits (batch, classes) and labels (batch,), or (batch, length, classes) and
    (batch, length).
    """
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def summed_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over sequences of each one's mean cross-entropy."""
    total = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="sum")
    return total if labels.dim() == 1 else total / labels[0].numel()


def sequence_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """(batch,): the mean cross-entropy of each sequence."""
    each = F.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="none")
    return each if labels.dim() == 1 else each.view(labels.shape).mean(1)


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Afterwards every module is in the mode it was in, whatever was raised."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
