"""Which part of a model each parameter belongs to: a group such as query_key, and the attention layer it is beside."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from torch import Tensor, nn

from semfocus.mechanisms.trace import attention_points
from semfocus.model import Classifier, parameter_group

_QUERY_KEY = {"q", "k", "query", "key", "q_proj", "k_proj", "q_lin", "k_lin"}
_VALUE_OUT = {"v", "o", "value", "out", "v_proj", "o_proj", "out_proj", "v_lin", "out_lin", "c_proj", "dense"}
#: query, key and value after each other, and the dimension they follow each other in
_JOINT = {"in_proj_weight": 0, "in_proj_bias": 0, "c_attn.weight": -1, "c_attn.bias": 0}


@dataclass(frozen=True)
class Part:
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


def parts_of(model: nn.Module) -> dict[str, list[Part]]:
    """The parts of each parameter by its name; a parameter of an unknown kind, such as a norm's, has none.

    In a model that is not of ours parts are told by the names that PyTorch and transformers use. Where an attention
    keeps a matrix that is not known, its query_key and value_out could not be told apart, and no layer has them.
    """
    if isinstance(model, Classifier):
        return {name: [_own_part(name)] for name, _ in model.named_parameters()}
    attentions = [(name, module) for name, module, _ in attention_points(model)]
    modules = dict(model.named_modules())
    parts: dict[str, list[Part]] = {}
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


def _own_part(name: str) -> Part:
    layer = int(name.split(".")[1]) if name.startswith("blocks.") else None
    return Part(parameter_group(name), layer)


def _parts(name: str, holder: nn.Module, layer: int | None) -> list[Part]:
    words = name.split(".")
    if isinstance(holder, nn.Embedding):
        # (Inside of a layer it is a bias of distances, which is no token's.)
        return [Part("embedding", None)] if layer is None else []
    if "norm" in type(holder).__name__.lower():
        return []
    if layer is None:
        return [Part("readout", None)]
    joint = next(
        (dim for ending, dim in _JOINT.items() if name.endswith(f".{ending}") or name == ending), None
    )
    if joint is not None:
        return [Part("query_key", layer, joint, 0, 1), Part("value_out", layer, joint, 2, 2)]
    if any("attention" in word.lower() or "attn" in word.lower() for word in words[:-1]):
        leaves = {words[-2], words[-1].removesuffix("_weight")}  # q_proj.weight, or q_proj_weight
        if leaves & _QUERY_KEY:
            return [Part("query_key", layer)]
        return [Part("value_out", layer)] if leaves & _VALUE_OUT else []
    return [Part("mlp", layer)]


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
