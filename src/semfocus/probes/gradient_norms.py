"""Gradient norms of the loss, for each group of parameters: in all layers together, and in each."""

from collections import defaultdict
from collections.abc import Callable

import torch
from torch import Tensor, nn

from semfocus.model import Classifier
from semfocus.model.loss import summed_loss
from semfocus.probes.parameter_parts import Part, parts_of
from semfocus.probes.sequences import Sequences
from semfocus.randomness import stream
from semfocus.settings import GroupFactors

GROUPS = tuple(GroupFactors.model_fields)

#: a group, and the layer it is of, or None for all layers together
GroupPlace = tuple[str, int | None]

#: the sum over sequences of each one's loss, for a model that is not of ours
Loss = Callable[[nn.Module, Sequences], Tensor]


def mean_gradient_norms(
    model: nn.Module, data: Sequences, chunk: int, loss: Loss | None = None
) -> dict[GroupPlace, Tensor]:
    """(): the norm of the gradient of the mean cross-entropy over all sequences, in the model's present mode.

    Gradients of chunks are summed in float64. A model that is not of ours needs its `loss`.
    """
    total: dict[str, Tensor] = {}
    for part in data.chunks(chunk):
        for name, gradient in _gradients(model, part, loss).items():
            total[name] = total.get(name, 0.0) + gradient.double() / len(data)
    return _norms(total, parts_of(model))


def sample_gradient_norms(
    model: nn.Module, data: Sequences, num: int, loss: Loss | None = None
) -> dict[GroupPlace, Tensor]:
    """(sequences,): the norm of the gradient of each sequence's own cross-entropy.

    One backward pass a sequence, for at most `num` sequences taken evenly over the data: gradients of many sequences at
    once (torch.func.vmap) would need an attention that never looks at its values.
    """
    parts = parts_of(model)
    norms = [
        _norms(_gradients(model, data.part(each, each + 1), loss), parts) for each in _evenly(len(data), num)
    ]
    return {place: torch.stack([each[place] for each in norms]) for place in norms[0]}


def _evenly(size: int, num: int) -> list[int]:
    return torch.linspace(0, size - 1, min(num, size), dtype=torch.float64).round().long().tolist()


def _gradients(model: nn.Module, part: Sequences, loss: Loss | None) -> dict[str, Tensor]:
    """Of the summed loss, by the parameter's name."""
    named = {name: each for name, each in model.named_parameters() if each.requires_grad}
    with torch.enable_grad():
        total = _own_loss(model, part) if loss is None else loss(model, part)
        gradients = torch.autograd.grad(total, list(named.values()), allow_unused=True)
    found = {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for (name, parameter), gradient in zip(named.items(), gradients, strict=True)
    }
    for name, gradient in found.items():
        if gradient.isnan().any():
            raise ValueError(f"the gradient of {name} is NaN; the loss of these sequences is {total:.3g}")
    return found


def _own_loss(model: nn.Module, part: Sequences) -> Tensor:
    assert isinstance(model, Classifier)
    assert part.labels is not None
    generator = stream(0, "gradients", part.first, part.tokens.device)  # for random patterns
    return summed_loss(model(part.tokens, part.padding, generator=generator), part.labels)


def _norms(gradients: dict[str, Tensor], parts: dict[str, list[Part]]) -> dict[GroupPlace, Tensor]:
    """The l2 norm of each group, and of its part in each layer."""
    squares: dict[GroupPlace, Tensor] = defaultdict(lambda: torch.zeros((), dtype=torch.float64))
    for name, gradient in gradients.items():
        for part in parts[name]:
            square = part.of(gradient).double().square().sum().cpu()
            for layer in {None, part.layer}:
                squares[part.group, layer] = squares[part.group, layer] + square
    return {place: square.sqrt() for place, square in squares.items()}
