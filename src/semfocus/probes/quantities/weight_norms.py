"""Matrices of a layer in the paper's form, one of each per head, and their spectral norms: Γ of W, Υ of V,
those of the MLP.

Scores are x_j' W x_i, outputs V x_j. With `bias`, the token vectors are (x, 1) and the biases are a last row or column.
"""

import torch
from torch import Tensor, nn

from semfocus.model import Classifier
from semfocus.model.block import Block
from semfocus.model.self_attention import JointSelfAttention, SelfAttention


def score_matrices(attention: nn.Module, *, bias: bool) -> Tensor:
    """(heads, d, d), or (heads, d + 1, d + 1): W with the scale of the scores in it, in float64."""
    if isinstance(attention, JointSelfAttention):
        weight = attention.score.weight.detach().double() * attention.config.inverse_temperature
        return (nn.functional.pad(weight, (0, 1, 0, 1)) if bias else weight).unsqueeze(0)
    separate = _separate(attention)
    heads = separate.config.num_heads
    query, key = (
        linear_matrix(each, bias=bias).unflatten(0, (heads, -1)) for each in (separate.query, separate.key)
    )
    return separate.scale * key.transpose(-2, -1) @ query


def value_matrices(attention: nn.Module, *, bias: bool) -> Tensor:
    """(heads, d, d), or (heads, d, d + 1): V, what the attended token adds to the output of the layer, in float64."""
    if isinstance(attention, JointSelfAttention):
        weight = attention.value.weight.detach().double()
        return (nn.functional.pad(weight, (0, 1)) if bias else weight).unsqueeze(0)
    separate = _separate(attention)
    heads = separate.config.num_heads
    value = linear_matrix(separate.value, bias=bias).unflatten(0, (heads, -1))
    out = separate.out.weight.detach().double().unflatten(1, (heads, -1)).transpose(0, 1)
    return out @ value


def linear_matrix(linear: nn.Linear, *, bias: bool) -> Tensor:
    """The weight of a linear map in float64, with its bias, if it has one, as a last column."""
    weight = linear.weight.detach().double()
    if not bias or linear.bias is None:
        return weight
    return torch.cat([weight, linear.bias.detach().double().unsqueeze(1)], dim=1)


def has_projections(attention: nn.Module) -> bool:
    """Whether the matrices of this layer are known."""
    return isinstance(attention, SelfAttention | JointSelfAttention)


def _separate(attention: nn.Module) -> SelfAttention:
    if not isinstance(attention, SelfAttention):
        raise ValueError(
            f"the score and value matrices of {type(attention).__name__} are unknown; "
            "expected SelfAttention or JointSelfAttention"
        )
    return attention


def weight_norms(model: Classifier) -> dict[str, Tensor]:
    """(layers, heads) for "score_norm" and "value_norm", (layers, 1) for "expand_norm" and "contract_norm"."""
    matrices: dict[str, list[Tensor]] = {}
    for block in model.blocks:
        assert isinstance(block, Block)
        parts = {
            "score_norm": score_matrices(block.attention, bias=True),
            "value_norm": value_matrices(block.attention, bias=True),
            "expand_norm": linear_matrix(block.mlp.expand, bias=True).unsqueeze(0),
            "contract_norm": linear_matrix(block.mlp.contract, bias=True).unsqueeze(0),
        }
        for name, part in parts.items():
            matrices.setdefault(name, []).append(part)
    return {name: spectral_norm(torch.stack(each)) for name, each in matrices.items()}


def spectral_norm(matrices: Tensor) -> Tensor:
    """The largest singular value of each of (..., m, n)."""
    return torch.linalg.matrix_norm(matrices, ord=2)
