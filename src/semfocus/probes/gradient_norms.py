"""Gradient norms of the loss, for each group of parameters: in all layers together, and in each."""

from collections import defaultdict

import torch
from torch import Tensor

from semfocus.model import Classifier, parameter_group
from semfocus.model.loss import summed_loss
from semfocus.probes.sequences import Sequences
from semfocus.randomness import stream
from semfocus.settings import GroupFactors

GROUPS = tuple(GroupFactors.model_fields)

#: a group, and the layer it is of, or None for all layers together
GroupPlace = tuple[str, int | None]


def mean_gradient_norms(model: Classifier, data: Sequences, chunk: int) -> dict[GroupPlace, Tensor]:
    """(): the norm of the gradient of the mean cross-entropy over all sequences, in the model's present mode.

    Gradients of chunks are summed in float64.
    """
    total: dict[str, Tensor] = {}
    for part in data.chunks(chunk):
        for name, gradient in _gradients(model, part).items():
            total[name] = total.get(name, 0.0) + gradient.double() / len(data)
    return _norms(total)


def sample_gradient_norms(model: Classifier, data: Sequences, num: int) -> dict[GroupPlace, Tensor]:
    """(sequences,): the norm of the gradient of each sequence's own cross-entropy.

    One backward pass a sequence, for at most `num` sequences taken evenly over the data: gradients of many sequences at
    once (torch.func.vmap) would need an attention that never looks at its values.
    """
    norms = [_norms(_gradients(model, data.part(each, each + 1))) for each in _evenly(len(data), num)]
    return {place: torch.stack([each[place] for each in norms]) for place in norms[0]}


def _evenly(size: int, num: int) -> list[int]:
    return torch.linspace(0, size - 1, min(num, size), dtype=torch.float64).round().long().tolist()


def _gradients(model: Classifier, part: Sequences) -> dict[str, Tensor]:
    """Of the summed loss, by the parameter's name."""
    assert part.labels is not None
    named = {name: each for name, each in model.named_parameters() if each.requires_grad}
    generator = stream(0, "gradients", part.first, part.tokens.device)  # for random patterns
    with torch.enable_grad():
        logits = model(part.tokens, part.padding, generator=generator)
        loss = summed_loss(logits, part.labels)
        gradients = torch.autograd.grad(loss, list(named.values()))
    return dict(zip(named, gradients, strict=True))


def _norms(gradients: dict[str, Tensor]) -> dict[GroupPlace, Tensor]:
    """The l2 norm of each group, and of its part in each layer."""
    squares: dict[GroupPlace, Tensor] = defaultdict(lambda: torch.zeros((), dtype=torch.float64))
    for name, gradient in gradients.items():
        square = gradient.double().square().sum().cpu()
        group = parameter_group(name)
        squares[group, None] = squares[group, None] + square
        if name.startswith("blocks."):
            layer = int(name.split(".")[1])
            squares[group, layer] = squares[group, layer] + square
    return {place: square.sqrt() for place, square in squares.items()}
