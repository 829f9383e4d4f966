"""One transformer block: attention and MLP, each with its residual and LayerNorm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.model.config import ModelConfig
from semfocus.model.passes import add_dropped, add_dropped_and_norm, dropped_relu, norm
from semfocus.model.self_attention import JointSelfAttention, SelfAttention
from semfocus.randomness import drop

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "mish": F.mish}


class Mlp(nn.Module):
    """expand, activation, contract."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        bias = config.projections == "separate"
        self.expand = nn.Linear(config.d_model, config.d_mlp, bias=bias)
        self.contract = nn.Linear(config.d_mlp, config.d_model, bias=bias)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = config.dropout

    def forward(self, x: Tensor, generator: torch.Generator | None) -> Tensor:
        rate = self.dropout if self.training else 0.0
        hidden = self.expand(x)
        if self.activation is F.relu:
            return self.contract(dropped_relu(hidden, rate, generator))
        return self.contract(drop(self.activation(hidden), rate, generator))


class Block(nn.Module):
    """Pre-norm: x + f(norm(x)). Post-norm: norm(x + f(x)). LayerNorms have no parameters."""

    def __init__(self, config: ModelConfig, is_first: bool) -> None:
        super().__init__()
        attention = JointSelfAttention if config.projections == "joint" else SelfAttention
        self.attention = attention(config)
        self.mlp = Mlp(config)
        self.pre_norm = config.norm == "pre"
        self.dropout = config.dropout
        eps = config.layer_norm_eps
        self.attention_eps = config.first_norm_eps if is_first and config.first_norm_eps is not None else eps
        self.mlp_eps = eps

    def forward(self, x: Tensor, mask: Tensor | None, generator: torch.Generator | None) -> Tensor:
        rate = self.dropout if self.training else 0.0
        if self.pre_norm:
            mixed = self.attention(norm(x, self.attention_eps), mask, generator)
            x, normed = add_dropped_and_norm(x, mixed, rate, self.mlp_eps, generator)
            return add_dropped(x, self.mlp(normed, generator), rate, generator)
        _, x = add_dropped_and_norm(
            x, self.attention(x, mask, generator), rate, self.attention_eps, generator
        )
        return add_dropped_and_norm(x, self.mlp(x, generator), rate, self.mlp_eps, generator)[1]
