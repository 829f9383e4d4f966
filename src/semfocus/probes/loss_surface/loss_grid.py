"""The loss on a grid around a model, along random directions as long as the parameters they change."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import torch
from torch import Tensor

from semfocus.randomness import stream

Parameters = Mapping[str, Tensor]
Scaling = Literal["tensor", "filter"]
SCALINGS: tuple[Scaling, ...] = ("tensor", "filter")


def direction_pair(
    parameters: Parameters, seed: int, pair: int = 0, scaling: Scaling = "tensor"
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Two independent directions: a function of the seed, the number of the pair, and the parameters' norms.

    Every tensor has its own random stream, so models that differ in one part have the same draws in the others, and
    two models of one seed are looked at along the same directions up to their norms. The two are not made
    orthogonal: the paper's are not, and among so many parameters random directions nearly are.
    """
    if scaling not in SCALINGS:
        raise ValueError(f"scaling must be {' or '.join(SCALINGS)}, got {scaling!r}")
    first, second = (
        {
            name: _scaled(_draw(tensor, stream(seed, f"landscape/{axis}/{name}", pair)), tensor, scaling)
            for name, tensor in parameters.items()
        }
        for axis in ("x", "y")
    )
    return first, second


def _draw(tensor: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(tensor.shape, generator=generator, dtype=torch.float64)


def _scaled(drawn: Tensor, parameter: Tensor, scaling: Scaling) -> Tensor:
    """As long as the tensor (`tensor`), or every row as long as that row (`filter`; a bias has no rows).

    What is zero stays zero: there is no length to give it.
    """
    values = parameter.detach().cpu().double()
    rows = scaling == "filter" and values.dim() > 1
    wanted, drawn_norm = (
        each.flatten(1).norm(dim=1).view(-1, *[1] * (each.dim() - 1)) if rows else each.norm()
        for each in (values, drawn)
    )
    scale = torch.where(drawn_norm > 0, wanted / drawn_norm, torch.zeros_like(wanted))
    return (drawn * scale).to(parameter.dtype).to(parameter.device)


def length(direction: Parameters) -> float:
    """The Euclidean norm over all tensors.

    >>> length({"a": torch.tensor([3.0]), "b": torch.tensor([[4.0]])})
    5.0
    """
    return math.sqrt(sum(float(tensor.detach().double().square().sum()) for tensor in direction.values()))


#: the loss at a point; what it is given may be overwritten after it returns
LossAt = Callable[[Mapping[str, Tensor]], float]


def losses_along_row(
    loss: LossAt,
    centre: Parameters,
    directions: tuple[Parameters, Parameters],
    xs: list[float],
    y: float,
) -> Iterator[float]:
    """The loss at centre + x * first + y * second for each x, as it comes.

    Each point is computed from the centre alone, so it does not matter in which order, or by whom; where a
    coordinate is 0 its direction is left out, so the centre is the model to the last bit.
    """
    first, second = directions
    at = {name: torch.empty_like(tensor) for name, tensor in centre.items()}
    for x in xs:
        for name, tensor in centre.items():
            at[name].copy_(tensor.detach())
            for coordinate, direction in ((x, first), (y, second)):
                if coordinate != 0.0:
                    at[name].add_(direction[name], alpha=coordinate)
        yield loss(at)
