"""The optimiser of a run, with a learning rate for each group of parameters."""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from semfocus.model import parameter_group
from semfocus.runs import TrainingSettings
from semfocus.settings import GroupFactors


def _as_written(method: Any) -> Any:
    """A method of torch's without what is wrapped around it for graphs."""
    return inspect.unwrap(method)


class SGD(torch.optim.SGD):
    """torch's, whose methods do not import the compiler of graphs first: it takes as long as torch itself.

    No run is compiled; a process that trains begins, and a short one ends, in two thirds of the time.
    """

    add_param_group = _as_written(torch.optim.Optimizer.add_param_group)
    zero_grad = _as_written(torch.optim.Optimizer.zero_grad)
    state_dict = _as_written(torch.optim.Optimizer.state_dict)
    load_state_dict = _as_written(torch.optim.Optimizer.load_state_dict)
    step = torch.no_grad()(_as_written(torch.optim.SGD.step))


def build_optimiser(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """SGD or Adam; each parameter group carries the factor on its learning rate."""
    factors = settings.learning_rate_scale.model_dump()
    groups = [
        {
            "params": [
                parameter for name, parameter in model.named_parameters() if parameter_group(name) == group
            ],
            "factor": factor,
        }
        for group, factor in factors.items()
    ]
    if settings.optimiser == "adam":
        return torch.optim.Adam(
            groups, lr=settings.learning_rate, weight_decay=settings.weight_decay, foreach=True
        )
    return SGD(
        groups,
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
        foreach=True,
    )


@dataclass(frozen=True)
class Clipping:
    """The joint norm of all gradients before they were clipped, and whether any of them was scaled down."""

    norm: torch.Tensor
    was_needed: bool


def clip_gradients(optimiser: torch.optim.Optimizer, settings: TrainingSettings) -> Clipping:
    """Scale all gradients down to a joint norm of at most `clip_norm`, or each parameter group's to its own."""
    groups = [group["params"] for group in optimiser.param_groups]
    every = [parameter for group in groups for parameter in group]
    norm = _norm_of(every)
    if settings.clip_norm is None:
        return Clipping(norm, False)
    parts = groups if settings.clip_per_group else [every]
    norms = [_norm_of(part) for part in parts] if settings.clip_per_group else [norm]
    for part, own in zip(parts, norms, strict=True):
        nn.utils.clip_grads_with_norm_(part, settings.clip_norm, own, foreach=True)
    return Clipping(norm, any(float(own) > settings.clip_norm for own in norms))


def _norm_of(parameters: Iterable[nn.Parameter]) -> torch.Tensor:
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return nn.utils.get_total_norm(gradients, foreach=True)


def set_learning_rate(
    optimiser: torch.optim.Optimizer, settings: TrainingSettings, epoch: int, plain: bool = False
) -> float:
    """The rate of an epoch, counted from 1: decayed once after every epoch.

    While attention is plain, so is the rate of queries and keys.
    """
    rate = settings.learning_rate * settings.learning_rate_decay ** max(epoch - 1, 0)
    for name, group in zip(GroupFactors.model_fields, optimiser.param_groups, strict=True):
        group["lr"] = rate if plain and name == "query_key" else rate * group["factor"]
    return rate


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The optimiser's memory as flat named tensors: `INDEX.KEY`."""
    state = optimiser.state_dict()["state"]
    return {
        f"{index}.{key}": value
        for index, values in state.items()
        for key, value in values.items()
        if isinstance(value, torch.Tensor)
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    """The inverse of `optimiser_tensors`."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        index, key = name.split(".", 1)
        state.setdefault(int(index), {})[key] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
