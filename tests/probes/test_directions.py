"""Directions are as long as what they change, and a function of (seed, pair) alone."""

import pytest
import torch

from semfocus.probes.loss_surface.loss_grid import direction_pair, length

PARAMETERS = {
    "weight": torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, 0.5]]),
    "bias": torch.tensor([1.0, 2.0, 2.0]),
    "zero": torch.zeros(4),
}


def test_every_tensor_of_a_direction_has_the_norm_of_its_parameter() -> None:
    for direction in direction_pair(PARAMETERS, seed=1):
        for name, tensor in PARAMETERS.items():
            torch.testing.assert_close(direction[name].norm(), tensor.norm())
        assert bool((direction["weight"] != 0).all()), "a row of zeros moves with its tensor"
    assert length(direction) == pytest.approx(length(PARAMETERS))


def test_every_row_of_a_filter_normalised_direction_has_the_norm_of_its_row() -> None:
    for direction in direction_pair(PARAMETERS, seed=1, scaling="filter"):
        torch.testing.assert_close(direction["weight"].norm(dim=1), torch.tensor([5.0, 0.0, 0.5]))
        torch.testing.assert_close(direction["bias"].norm(), torch.tensor(3.0))


def test_directions_follow_from_seed_and_pair() -> None:
    (first, second), again = direction_pair(PARAMETERS, 1, 0), direction_pair(PARAMETERS, 1, 0)
    assert torch.equal(first["bias"], again[0]["bias"])
    others = [second, direction_pair(PARAMETERS, 1, 1)[0], direction_pair(PARAMETERS, 2, 0)[0]]
    assert not any(torch.equal(first["bias"], other["bias"]) for other in others)
    # Another part of the model does not change the draws.
    alone = direction_pair({"bias": PARAMETERS["bias"]}, 1, 0)[0]
    assert torch.equal(first["bias"], alone["bias"])


def test_an_unknown_scaling_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="tensor or filter, got 'layer'"):
        direction_pair(PARAMETERS, 1, scaling="layer")  # type: ignore[arg-type]
