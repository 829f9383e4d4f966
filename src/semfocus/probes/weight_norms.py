"""Spectral norms of the weights: Γ of W, Υ of V, and those of the MLP, each with its bias column."""

import torch
from torch import Tensor

from semfocus.model import Classifier
from semfocus.model.block import Block
from semfocus.probes.projections import linear_matrix, score_matrices, value_matrices


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
