"""One transformer block: attention and MLP, each with its residual and LayerNorm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.mechanisms.kernels.native import has_kernel, options_of
from semfocus.model.config import ModelConfig
from semfocus.model.fused_block import BlockOptions, fused_block
from semfocus.model.passes import (
    add_dropped,
    add_dropped_and_norm,
    dropped,
    dropped_relu,
    kernels_for,
    norm,
)
from semfocus.model.self_attention import JointSelfAttention, SelfAttention, attention_dropout
from semfocus.randomness import draw_seed

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
        return self.contract(dropped(self.activation(hidden), rate, generator))


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
        if self._can_be_fused(x):
            return self._fused(x, mask, rate, generator)
        if self.pre_norm:
            mixed = self.attention(norm(x, self.attention_eps), mask, generator)
            x, normed = add_dropped_and_norm(x, mixed, rate, self.mlp_eps, generator)
            return add_dropped(x, self.mlp(normed, generator), rate, generator)
        _, x = add_dropped_and_norm(
            x, self.attention(x, mask, generator), rate, self.attention_eps, generator
        )
        return add_dropped_and_norm(x, self.mlp(x, generator), rate, self.mlp_eps, generator)[1]

    def _can_be_fused(self, x: Tensor) -> bool:
        """The paper's block, on the compiled kernels, with nobody listening."""
        attention = self.attention
        return (
            self.pre_norm
            and type(attention) is SelfAttention
            and not attention.listeners
            and self.mlp.activation is F.relu
            and has_kernel(attention.config.pattern)
            and 0 not in x.shape
            and kernels_for(x) is not None
        )

    def _fused(
        self, x: Tensor, mask: Tensor | None, rate: float, generator: torch.Generator | None
    ) -> Tensor:
        attention, length = self.attention, x.shape[1]
        assert isinstance(attention, SelfAttention)
        options = options_of(
            attention.config.pattern,
            length,
            length,
            causal=False,
            scale=attention.scale,
            dropout=attention_dropout(attention),
            generator=generator,
        )
        seeds = tuple(draw_seed(generator) if rate else 0 for _ in range(3))
        heads = attention.config.num_heads
        if mask is not None:
            mask = mask.expand(len(x), heads, length, length)
        maps = (
            attention.query,
            attention.key,
            attention.value,
            attention.out,
            self.mlp.expand,
            self.mlp.contract,
        )
        parameters = tuple(each for linear in maps for each in (linear.weight, linear.bias))
        block = BlockOptions(heads, rate, self.attention_eps, self.mlp_eps, options, seeds)
        return fused_block(x, mask, block, parameters)
