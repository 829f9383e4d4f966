"""Random streams named by (run seed, stream name, step), so that resuming needs only the step."""

import hashlib

import torch

#: a tensor while torch.compile or torch.export traces, which draws when the graph runs
Seed = int | torch.Tensor

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


def draw_seed(generator: torch.Generator | None) -> Seed:
    """A seed for counter-based random numbers, drawn from a generator (or PyTorch's global one)."""
    source = generator.device if generator is not None else "cpu"
    seed = torch.randint(2**62, (), generator=generator, device=source)
    if torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None:
        return seed  # traced, or one for each call that vmap makes one of
    return int(seed)


def draws(seed: Seed, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Uniform numbers in {0, ..., 2^32 - 1}: a function of (seed, row, column) alone, here and in the kernels.

    Whoever knows the places gets the same numbers, in any order, on any device, in any chunk. `rows` and
    `columns` are int64 and broadcast against each other.
    """
    key = (seed if isinstance(seed, torch.Tensor) else _as_signed(seed)) + (rows + 1) * _as_signed(
        0x9E3779B97F4A7C15
    )
    key = (key ^ _shifted(key, 30)) * _as_signed(0xBF58476D1CE4E5B9)
    key = (key ^ _shifted(key, 27)) * _as_signed(0x94D049BB133111EB)
    key = key ^ _shifted(key, 31)
    low, high = key & _32_BITS, _shifted(key, 32)
    mixed = (columns * 0x9E3779B1 + low) & _32_BITS
    mixed = ((mixed ^ (mixed >> 16)) * 0x21F0AAAD) & _32_BITS
    mixed = (((mixed ^ (mixed >> 15)) + high) * 0x735A2D97) & _32_BITS
    return mixed ^ (mixed >> 15)


_32_BITS = 2**32 - 1


def _as_signed(number: int) -> int:
    """An unsigned 64-bit number as the signed one of the same bits: int64 sums and products wrap around."""
    return number - 2**64 if number >= 2**63 else number


def _shifted(number: torch.Tensor, bits: int) -> torch.Tensor:
    """A logical shift to the right; that of int64 copies the sign."""
    return (number >> bits) & (2 ** (64 - bits) - 1)


def survivors(seed: Seed, probability: float, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Which places are not dropped."""
    return draws(seed, rows, columns) >= min(2**32 - 1, int(probability * 2**32))


def all_places(shape: torch.Size, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and columns of every entry: the last dimension is the column, the others count the rows."""
    rows = torch.arange(shape[:-1].numel(), device=device).view(*shape[:-1], 1)
    return rows, torch.arange(shape[-1] if shape else 1, device=device)


def drop(tensor: torch.Tensor, probability: float, generator: torch.Generator | None) -> torch.Tensor:
    """Dropout by an explicit generator: zero each entry with this probability and rescale the others.

    It has no training flag: whoever calls it decides. (F.dropout takes no generator, and stays on in
    evaluation unless told otherwise.)
    """
    if probability == 0.0:
        return tensor
    return drop_at(tensor, probability, draw_seed(generator), *all_places(tensor.shape, tensor.device))


def drop_at(
    tensor: torch.Tensor, probability: float, seed: Seed, rows: torch.Tensor, columns: torch.Tensor
) -> torch.Tensor:
    """Dropout by a seed and the places of the entries, which may be a part of a larger whole."""
    stays = survivors(seed, probability, rows, columns)
    # Selected, not multiplied: what is dropped may be NaN.
    return torch.where(stays, tensor * (1.0 / (1.0 - probability)), 0.0)
