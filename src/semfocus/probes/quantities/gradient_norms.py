"""Gradient norms of the loss, for each group of parameters: in all layers together, and in each."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

import torch
from torch import Tensor, nn

from semfocus.mechanisms.observation import attention_points
from semfocus.model import Classifier, parameter_group
from semfocus.model.evaluation import summed_loss
from semfocus.probes.sequences import Sequences
from semfocus.randomness import stream

_QUERY_KEY = {"q", "k", "query", "key", "q_proj", "k_proj", "q_lin", "k_lin"}
_VALUE_OUT = {"v", "o", "value", "out", "v_proj", "o_proj", "out_proj", "v_lin", "out_lin", "c_proj", "dense"}
#: query, key and value after each other, and the dimension they follow each other in
_JOINT = {"in_proj_weight": 0, "in_proj_bias": 0, "c_attn.weight": -1, "c_attn.bias": 0}


@dataclass(frozen=True)
class ParameterPart:
    """All of a parameter, or where `dim` is given the share first, ..., last of its three thirds."""

    group: str
    layer: int | None
    dim: int | None = None
    first: int = 0
    last: int = 2

    def of(self, tensor: Tensor) -> Tensor:
        if self.dim is None:
            return tensor
        third = tensor.shape[self.dim] // 3
        return tensor.narrow(self.dim, self.first * third, (self.last - self.first + 1) * third)


def parts_of(model: nn.Module) -> dict[str, list[ParameterPart]]:
    """The parts of each parameter by its name; a parameter of an unknown kind, such as a norm's, has none.

    In a model that is not of ours parts are told by the names that PyTorch and transformers use. Where an attention
    keeps a matrix that is not known, its query_key and value_out could not be told apart, and no layer has them.
    """
    if isinstance(model, Classifier):
        return {name: [_own_part(name)] for name, _ in model.named_parameters()}
    attentions = [(name, module) for name, module, _ in attention_points(model)]
    modules = dict(model.named_modules())
    parts: dict[str, list[ParameterPart]] = {}
    is_told_apart = True
    for name, parameter in model.named_parameters():
        holder = modules[name.rpartition(".")[0]]
        layer = _beside(name, [each for each, _ in attentions])
        found = _parts(name, holder, layer)
        inside = layer is not None and name.startswith(f"{attentions[layer][0]}.")
        if inside and not found and parameter.dim() == 2 and not isinstance(holder, nn.Embedding):
            is_told_apart = False
        parts[name] = found
    if not is_told_apart:
        for name, found in parts.items():
            parts[name] = [each for each in found if each.group not in ("query_key", "value_out")]
    return parts


def _own_part(name: str) -> ParameterPart:
    layer = int(name.split(".")[1]) if name.startswith("blocks.") else None
    return ParameterPart(parameter_group(name), layer)


def _parts(name: str, holder: nn.Module, layer: int | None) -> list[ParameterPart]:
    words = name.split(".")
    if isinstance(holder, nn.Embedding):
        # (Inside of a layer it is a bias of distances, which is no token's.)
        return [ParameterPart("embedding", None)] if layer is None else []
    if "norm" in type(holder).__name__.lower():
        return []
    if layer is None:
        return [ParameterPart("readout", None)]
    joint = next(
        (dim for ending, dim in _JOINT.items() if name.endswith(f".{ending}") or name == ending), None
    )
    if joint is not None:
        return [
            ParameterPart("query_key", layer, joint, 0, 1),
            ParameterPart("value_out", layer, joint, 2, 2),
        ]
    if any("attention" in word.lower() or "attn" in word.lower() for word in words[:-1]):
        leaves = {words[-2], words[-1].removesuffix("_weight")}  # q_proj.weight, or q_proj_weight
        if leaves & _QUERY_KEY:
            return [ParameterPart("query_key", layer)]
        return [ParameterPart("value_out", layer)] if leaves & _VALUE_OUT else []
    return [ParameterPart("mlp", layer)]


def _beside(name: str, attentions: Sequence[str]) -> int | None:
    """The attention layer in whose block a parameter is: the one with the longest path in common."""
    paths = [each.split(".") for each in attentions]
    shared = _num_shared(*paths) if len(paths) > 1 else 0
    best, longest = None, 0
    for layer, path in enumerate(paths):
        common = _num_shared(path, name.split("."))
        # A block is a number after what all attentions share: encoder.layers.3 of encoder.layers.3.self_attn.
        numbers = [place for place, word in enumerate(path) if place >= shared and word.isdigit()]
        block = numbers[0] + 1 if numbers else len(path)
        if common >= block and common > longest:
            best, longest = layer, common
    return best


def _num_shared(*paths: Sequence[str]) -> int:
    """How many words from the beginning are the same in all."""
    return len(list(takewhile(lambda words: len(set(words)) == 1, zip(*paths, strict=False))))


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


def _norms(gradients: dict[str, Tensor], parts: dict[str, list[ParameterPart]]) -> dict[GroupPlace, Tensor]:
    """The l2 norm of each group, and of its part in each layer."""
    squares: dict[GroupPlace, Tensor] = defaultdict(lambda: torch.zeros((), dtype=torch.float64))
    for name, gradient in gradients.items():
        for part in parts[name]:
            square = part.of(gradient).double().square().sum().cpu()
            for layer in {None, part.layer}:
                squares[part.group, layer] = squares[part.group, layer] + square
    return {place: square.sqrt() for place, square in squares.items()}
