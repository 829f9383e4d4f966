"""Random streams named by (run seed, stream name, step), so that resuming needs only the step."""

import hashlib
import math
from typing import Any

import torch

# torch seeds are non-negative and fit in 63 bits on every device.
_SEED_BITS = 63


def derive_seed(seed: int, stream: str, step: int = 0) -> int:
    """The seed of one step of one named stream: unrelated streams never share random numbers.

    >>> derive_seed(0, "order", 1) == derive_seed(0, "order", 1)
    True
    >>> derive_seed(0, "order", 1) == derive_seed(0, "order", 2)
    False
    """
    name = f"{seed}/{stream}/{step}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) >> (64 - _SEED_BITS)


def stream(seed: int, name: str, step: int = 0, device: torch.device | str = "cpu") -> torch.Generator:
    """A fresh generator at the start of one step of a named stream."""
    generator = torch.Generator(device)
    generator.manual_seed(derive_seed(seed, name, step))
    return generator


def draw_seed(generator: torch.Generator | None) -> int:
    """A seed for counter-based random numbers, drawn from a generator (or PyTorch's global one)."""
    source = generator.device if generator is not None else "cpu"
    return int(torch.randint(2**62, (), generator=generator, device=source))


def drop(tensor: torch.Tensor, probability: float, generator: torch.Generator | None) -> torch.Tensor:
    """Dropout by an explicit generator: zero each entry with this probability and rescale the others.

    It has no training flag: whoever calls it decides. (F.dropout takes no generator, and stays on in
    evaluation unless told otherwise.)
    """
    if probability == 0.0:
        return tensor
    return _Drop.apply(tensor, _dropped(tensor, probability, generator), 1.0 / (1.0 - probability))


def add_dropped(
    tensor: torch.Tensor, other: torch.Tensor, probability: float, generator: torch.Generator | None
) -> torch.Tensor:
    """tensor + drop(other), of equal shapes, in one pass over memory."""
    if probability == 0.0:
        return tensor + other
    return _AddDropped.apply(
        tensor, other, _dropped(other, probability, generator), 1.0 / (1.0 - probability)
    )


class _Drop(torch.autograd.Function):
    """Multiply by `scale`, with zero at some flat places. Linear, so its gradient is the same operation."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, places: torch.Tensor, scale: float) -> torch.Tensor:
        ctx.places, ctx.scale = places, scale
        output = tensor.contiguous() * scale
        output.view(-1)[places] = 0.0
        return output

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return _Drop.apply(gradient, ctx.places, ctx.scale), None, None


class _AddDropped(torch.autograd.Function):
    """tensor + scale * other, with nothing added at some flat places."""

    @staticmethod
    def forward(
        ctx: Any, tensor: torch.Tensor, other: torch.Tensor, places: torch.Tensor, scale: float
    ) -> torch.Tensor:
        ctx.places, ctx.scale = places, scale
        output = torch.add(tensor, other, alpha=scale).contiguous()
        output.view(-1)[places] = tensor.reshape(-1)[places]
        return output

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None]:
        return gradient, _Drop.apply(gradient, ctx.places, ctx.scale), None, None


def _dropped(tensor: torch.Tensor, probability: float, generator: torch.Generator | None) -> torch.Tensor:
    """Flat places to drop, on the device of the tensor."""
    source = generator.device if generator is not None else tensor.device
    return _successes(tensor.numel(), probability, generator, source).to(tensor.device)


def _successes(
    trials: int, probability: float, generator: torch.Generator | None, device: torch.device
) -> torch.Tensor:
    """Which of many independent trials succeed, by drawing the gaps between successes.

    That takes one random number a success instead of one a trial: at the usual dropout of 0.01 a
    hundredth of the work, for exactly the same distribution.
    """
    expected = trials * probability
    enough = int(expected + 6 * math.sqrt(expected) + 10)  # falls short about once in 10^9 calls
    places = torch.empty(0, dtype=torch.int64, device=device)
    last = -1
    while last < trials - 1:
        gaps = torch.empty(enough, dtype=torch.float64, device=device)
        gaps.geometric_(probability, generator=generator)
        more = gaps.clamp(max=trials + 1).long().cumsum(0) + last
        places = torch.cat([places, more])
        last = int(more[-1])
    return places[places < trials]
