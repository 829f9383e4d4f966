"""The loss on a square grid around a point in the space of parameters."""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from semfocus.probes.directions import Parameters

#: the loss at a point; what it is given may be overwritten after it returns
Loss = Callable[[Mapping[str, Tensor]], float]


def losses_along_row(
    loss: Loss,
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
