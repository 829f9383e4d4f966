"""Automatic mixed precision: scores are computed as the inputs came, and inputs of several types are made one."""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Both passes must see the same scores to choose the same keys, wherever autocast begins and ends."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def in_one_type(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where autocast made some of the three small and left others, all of them in its type.

    What is no tensor is handed back: whoever calls says so.
    """
    try:
        if query.dtype == key.dtype == value.dtype:
            return query, key, value
    except AttributeError:
        return query, key, value
    if not all(isinstance(each, Tensor) for each in (query, key, value)):
        return query, key, value
    device = query.device.type
    if not torch.is_autocast_enabled(device):
        return query, key, value
    dtype = torch.get_autocast_dtype(device)
    return query.to(dtype), key.to(dtype), value.to(dtype)
