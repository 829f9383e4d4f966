"""Random streams named by (run seed, stream name, step), so that resuming needs only the step."""

import hashlib

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


def drop(tensor: torch.Tensor, probability: float, generator: torch.Generator | None) -> torch.Tensor:
    """Dropout by an explicit generator: zero each entry with this probability and rescale the others.

    It has no training flag: whoever calls it decides. (F.dropout takes no generator, and stays on in
    evaluation unless told otherwise.)
    """
    if probability == 0.0:
        return tensor
    source = generator.device if generator is not None else tensor.device
    survive = torch.rand(tensor.shape, generator=generator, device=source) >= probability
    return tensor * (survive.to(tensor.device, tensor.dtype) / (1.0 - probability))
