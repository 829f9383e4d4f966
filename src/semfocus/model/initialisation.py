"""Initial weights, and the groups of parameters that studies treat apart."""

import math

import torch
from torch import nn

from semfocus.randomness import stream
from semfocus.settings import GroupFactors


def parameter_group(name: str) -> str:
    """The group of a parameter, one of the fields of GroupFactors, by the parameter's name.

    >>> parameter_group("blocks.0.attention.key.bias")
    'query_key'
    """
    if name.startswith("blocks."):
        *_, part, layer, _ = name.split(".")
        if part == "mlp":
            return "mlp"
        return "query_key" if layer in ("query", "key", "score") else "value_out"
    return name.split(".")[0]


@torch.no_grad()
def initialise(model: nn.Module, scale: GroupFactors, seed: int | None) -> None:
    """Embedding and readout weights uniform in [-0.1, 0.1], readout bias 0, the rest as nn.Linear does.

    Every tensor has its own random stream, so two models that differ in one part agree in the others.
    """
    factors = scale.model_dump()
    for module_name, module in model.named_modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            name = f"{module_name}.{leaf}"
            group = parameter_group(name)
            generator = None if seed is None else stream(seed, f"initial/{name}")
            bound = 0.1 if group in ("embedding", "readout") else _linear_bound(module)
            parameter.uniform_(-bound, bound, generator=generator)
            parameter.mul_(0.0 if name == "readout.bias" else factors[group])


def _linear_bound(module: nn.Module) -> float:
    """PyTorch's default for a linear layer, weight and bias alike: 1 / sqrt(inputs)."""
    assert isinstance(module, nn.Linear), module
    return 1.0 / math.sqrt(module.in_features)
