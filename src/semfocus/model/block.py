"""One transformer block: attention and MLP, each with its residual and LayerNorm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.model.config import ModelConfig
from semfocus.model.self_attention import JointSelfAttention, SelfAttention
from semfocus.randomness import add_dropped, drop

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
        hidden = self.activation(self.expand(x))
        return self.contract(drop(hidden, self.dropout if self.training else 0.0, generator))


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
        first_eps = config.first_norm_eps if is_first and config.first_norm_eps is not None else eps
        self.attention_norm = nn.LayerNorm(config.d_model, first_eps, elementwise_affine=False)
        self.mlp_norm = nn.LayerNorm(config.d_model, eps, elementwise_affine=False)

    def forward(self, x: Tensor, mask: Tensor | None, generator: torch.Generator | None) -> Tensor:
        rate = self.dropout if self.training else 0.0
        if self.pre_norm:
            x = add_dropped(x, self.attention(self.attention_norm(x), mask, generator), rate, generator)
            return add_dropped(x, self.mlp(self.mlp_norm(x), generator), rate, generator)
        x = self.attention_norm(add_dropped(x, self.attention(x, mask, generator), rate, generator))
        return self.mlp_norm(add_dropped(x, self.mlp(x, generator), rate, generator))
