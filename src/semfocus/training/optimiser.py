"""The optimiser of a run, with a learning rate for each group of parameters."""

import torch
from torch import nn

from semfocus.model import parameter_group
from semfocus.runs import TrainingSettings


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
    return torch.optim.SGD(
        groups,
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
        foreach=True,
    )


def clip_gradients(optimiser: torch.optim.Optimizer, largest_norm: float | None) -> torch.Tensor:
    """Scale all gradients down to a joint norm of at most `largest_norm`; returns the norm they had."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = nn.utils.get_total_norm(gradients, foreach=True)
    if largest_norm is not None:
        nn.utils.clip_grads_with_norm_(parameters, largest_norm, norm, foreach=True)
    return norm


def set_learning_rate(optimiser: torch.optim.Optimizer, settings: TrainingSettings, epoch: int) -> float:
    """The rate of an epoch, counted from 1: decayed once after every epoch."""
    rate = settings.learning_rate * settings.learning_rate_decay ** max(epoch - 1, 0)
    for group in optimiser.param_groups:
        group["lr"] = rate * group["factor"]
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
