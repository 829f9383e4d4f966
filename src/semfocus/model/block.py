"""One transformer block: attention and MLP, each with its residual and LayerNorm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.kernels.cpu.fused_block import BlockOptions, fused_block
from semfocus.kernels.cpu.passes import (
    add_dropped,
    add_dropped_and_norm,
    dropped,
    dropped_relu,
    kernels_for,
    norm,
)
from semfocus.mechanisms import Full, Pattern
from semfocus.mechanisms.native import has_kernel, kept_mask, options_of, serves_as_mask
from semfocus.model.config import ModelConfig
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

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        generator: torch.Generator | None,
        chosen: Tensor | None = None,
    ) -> Tensor:
        """`mask` and `chosen` as in SelfAttention."""
        rate = self.dropout if self.training else 0.0
        if self._can_be_fused(x, mask, chosen):
            return self._fused(x, mask, rate, generator, chosen)
        if self.pre_norm:
            mixed = self.attention(norm(x, self.attention_eps), mask, generator, chosen)
            x, normed = add_dropped_and_norm(x, mixed, rate, self.mlp_eps, generator)
            return add_dropped(x, self.mlp(normed, generator), rate, generator)
        _, x = add_dropped_and_norm(
            x, self.attention(x, mask, generator, chosen), rate, self.attention_eps, generator
        )
        return add_dropped_and_norm(x, self.mlp(x, generator), rate, self.mlp_eps, generator)[1]

    def _can_be_fused(self, x: Tensor, mask: Tensor | None, chosen: Tensor | None = None) -> bool:
        """The paper's block as it was built, on the compiled kernels, with nobody listening or hooked in."""
        attention = self.attention
        if not (self.pre_norm and type(attention) is SelfAttention and self.mlp.activation is F.relu):
            return False
        return (
            not attention.listeners
            and _has_plain_scores(attention.config)
            and (chosen is not None or _has_fast_path(attention.config.pattern, x.shape[1]))
            and 0 not in x.shape
            and x.shape[-1] == attention.config.d_model
            and (mask is None or (mask.dtype == torch.bool and mask.device == x.device))
            and kernels_for(x) is not None
            and not torch.is_autocast_enabled("cpu")
            and all(_is_plain(module) for module in (attention, self.mlp))
            and all(_is_plain(linear) and _fits(linear, x) for linear in self._maps())
        )

    def _maps(self) -> tuple[nn.Linear, ...]:
        attention = self.attention
        assert isinstance(attention, SelfAttention)
        query, key, value, out = attention.query, attention.key, attention.value, attention.out
        return query, key, value, out, self.mlp.expand, self.mlp.contract

    def _fused(
        self,
        x: Tensor,
        mask: Tensor | None,
        rate: float,
        generator: torch.Generator | None,
        chosen: Tensor | None,
    ) -> Tensor:
        attention, length = self.attention, x.shape[1]
        assert isinstance(attention, SelfAttention)
        pattern = attention.config.pattern
        if chosen is not None:
            pattern, mask = Full(), chosen
        elif not has_kernel(pattern):
            pattern, mask = Full(), kept_mask(pattern, length, length, mask, attention.config.causal)
        options = options_of(
            pattern,
            length,
            length,
            causal=attention.config.causal,
            scale=attention.scale,
            dropout=attention_dropout(attention),
            generator=generator,
        )
        seeds = tuple(draw_seed(generator) if rate else 0 for _ in range(3))
        heads = attention.config.num_heads
        if mask is not None:
            mask = mask.expand(len(x), heads, length, length)
        parameters = tuple(each for linear in self._maps() for each in (linear.weight, linear.bias))
        block = BlockOptions(heads, rate, self.attention_eps, self.mlp_eps, options, seeds)
        return fused_block(x, mask, block, parameters)


def _has_fast_path(pattern: Pattern, length: int) -> bool:
    return has_kernel(pattern) or serves_as_mask(pattern, length, length)


def _has_plain_scores(config: ModelConfig) -> bool:
    """Whether scores are mere products with their own gradient: the fused kernel knows no controls."""
    changed = (config.score_clip, config.match_entropy, config.match_dispersion)
    if any(each is not None for each in changed) or config.selection_noise:
        return False
    return config.score_gradient == 1.0 or not torch.is_grad_enabled()


def _is_plain(module: nn.Module) -> bool:
    """Whether calling the module does what it was built for, and nothing else."""
    return type(module) in (nn.Linear, Mlp, SelfAttention) and not (
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def _fits(linear: nn.Linear, x: Tensor) -> bool:
    """Whether the kernels can read the parameters as they are."""
    return linear.weight.shape == (linear.out_features, linear.in_features) and all(
        each is not None and each.dtype == x.dtype and each.device == x.device and each.is_contiguous()
        for each in (linear.weight, linear.bias)
    )
