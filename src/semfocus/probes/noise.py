"""Gaussian noise that is a function of (seed, sequence, place), whatever the chunks."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from semfocus.randomness import derive_seed, draws


def gaussian(shape: torch.Size, first: int, seed: int, name: str, device: torch.device) -> Tensor:
    """Independent normal numbers (sequences, ...) in float64 for the sequences first, first + 1, ...

    Box and Muller's method on counter-based uniform numbers.
    """
    num_places = shape[1:].numel()
    rows = torch.arange(first, first + shape[0], device=device).unsqueeze(1)
    places = torch.arange(num_places, device=device)
    number = derive_seed(seed, f"gaussian/{name}")
    radius, angle = ((draws(number, rows, 2 * places + each).double() + 0.5) / 2**32 for each in (0, 1))
    normal = (-2 * radius.log()).sqrt() * (2 * math.pi * angle).cos()
    return normal.view(shape)


@contextmanager
def noisy_embedding(model: nn.Module, size: float, real: Tensor, first: int, seed: int) -> Iterator[None]:
    """While open, the output of the model's embedding carries Gaussian noise.

    Its standard deviation is `size` times the root mean square of the entries of that sequence's embedded tokens, over
    the positions that count: `real` (batch, L). Noise of different sizes points in the same directions.
    """

    def add(module: nn.Module, inputs: object, output: Tensor) -> Tensor:
        counts = real.unsqueeze(-1)
        squares = output.double().square().masked_fill(~counts, 0.0).sum((1, 2))
        spread = (squares / (counts.sum((1, 2)) * output.shape[-1])).sqrt().view(-1, 1, 1)
        noise = gaussian(output.shape, first, seed, "embedding", output.device) * (size * spread)
        return output + noise.to(output.dtype)

    handle = embedding_of(model).register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()


def embedding_of(model: nn.Module) -> nn.Module:
    """`model.embedding`, or the first nn.Embedding of the model."""
    named = getattr(model, "embedding", None)
    if isinstance(named, nn.Module):
        return named
    found = next((module for module in model.modules() if isinstance(module, nn.Embedding)), None)
    if found is None:
        raise ValueError(f"{type(model).__name__} has no embedding to add noise to")
    return found
