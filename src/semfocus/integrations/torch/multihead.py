"""torch.nn.MultiheadAttention under a pattern: same constructor, parameters and calls."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.integrations.mask_conversion import TorchMasks, allowed_and_bias
from semfocus.integrations.selection import checked_inverse_temperature, counts_positions, refuse_padding
from semfocus.kernels.onlookers import numbers_are_hidden
from semfocus.mechanisms import AttentionPoint, Full, Pattern, parse_pattern
from semfocus.mechanisms.observation import Changes, attend_at


class MultiheadAttention(nn.MultiheadAttention, AttentionPoint):
    """`torch.nn.MultiheadAttention` with `pattern` and `inverse_temperature`; state dicts fit both ways.

    Masks are torch's: True = drop, a float mask is added to the scores. Unlike torch's, a query with nothing to
    attend to outputs 0 before the output projection instead of NaN, and weights are those before dropout.

    >>> from semfocus import TopK
    >>> layer = MultiheadAttention(8, 2, batch_first=True, pattern=TopK(3))
    >>> x = torch.randn(4, 10, 8)
    >>> output, weights = layer(x, x, x, average_attn_weights=False)
    >>> int((weights > 0).sum(-1).max())
    3
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        pattern: Pattern | str = Full(),  # noqa: B008  (a frozen value)
        inverse_temperature: float = 1.0,
    ) -> None:
        pattern = parse_pattern(pattern) if isinstance(pattern, str) else pattern
        super().__init__(
            embed_dim,
            num_heads,
            dropout,
            bias,
            add_bias_kv,
            add_zero_attn,
            kdim,
            vdim,
            batch_first,
            device,
            dtype,
        )
        check_pattern(self, pattern)
        self.pattern = pattern
        self.inverse_temperature = checked_inverse_temperature(inverse_temperature)

    def _reset_parameters(self) -> None:
        self._qkv_same_embed_dim = self.in_proj_weight is not None
        super()._reset_parameters()
        # In evaluation, nn.TransformerEncoderLayer computes full attention by itself unless this is False.
        self._qkv_same_embed_dim = False

    def extra_repr(self) -> str:
        return f"pattern={self.pattern}, inverse_temperature={self.inverse_temperature}"

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """As torch.nn.MultiheadAttention; `is_causal` is a hint that `attn_mask`, which counts, is causal."""
        batched = self._check(query, key, value)
        if is_causal and attn_mask is None:
            raise ValueError("is_causal is only a hint about attn_mask: give attn_mask too")
        is_one_sequence = _are_one(query, key)
        inputs = self._batch(query, batched)
        query, key, value = (
            self._heads(self._batch(each, batched)) for each in self._project(query, key, value)
        )
        masks = TorchMasks((*query.shape[:3], key.shape[2]))
        masks.add_key_padding_mask(key_padding_mask, batched)
        masks.add_attn_mask(attn_mask)
        if counts_positions(self.pattern):
            self._check_positions(query.shape[2], key.shape[2], is_one_sequence, key_padding_mask)
        key, value = self._with_added_keys(key, value, masks)
        mixed, weights = attend_at(
            self,
            inputs,
            query,
            key,
            value,
            self.pattern,
            scale=1.0 / math.sqrt(self.head_dim),
            inverse_temperature=self.inverse_temperature,
            mask=masks.allowed,
            dropout=self.dropout if self.training else 0.0,
            changes=Changes(bias=masks.bias),
            need_weights=need_weights,
        )
        output = self.out_proj(self._joined(mixed, batched))
        if weights is None:
            return output, None
        weights = (weights.mean(1) if average_attn_weights else weights).to(output.dtype)
        return output, weights if batched else weights.squeeze(0)

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        """Whether there is a batch dimension."""
        if query.is_nested or key.is_nested or value.is_nested:
            raise ValueError(
                "nested tensors are not served: pad, and build nn.TransformerEncoder with enable_nested_tensor=False"
            )
        if query.dim() not in (2, 3) or not query.dim() == key.dim() == value.dim():
            dims = query.dim(), key.dim(), value.dim()
            raise ValueError(
                f"query, key and value must all have 3 dimensions, or 2 without a batch, got {dims}"
            )
        widths = query.shape[-1], key.shape[-1], value.shape[-1]
        if widths != (self.embed_dim, self.kdim, self.vdim):
            raise ValueError(
                f"query, key and value must be {(self.embed_dim, self.kdim, self.vdim)} wide, got {widths}"
            )
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(
                f"key and value must agree in batch and length, got {tuple(key.shape)} and {tuple(value.shape)}"
            )
        return query.dim() == 3

    def _check_positions(
        self, num_queries: int, num_keys: int, is_one_sequence: bool, padding: Tensor | None
    ) -> None:
        """A pattern of positions is for a sequence that attends to itself, each token at its own place."""
        if num_queries != num_keys:
            raise ValueError(
                f"{self.pattern} counts positions, and {num_queries} queries over {num_keys} keys have none in common; "
                "use full attention or a pattern of scores such as TopK(5), or semfocus.attention, which takes the "
                "queries to be the last positions"
            )
        if not is_one_sequence:
            raise ValueError(
                f"{self.pattern} counts positions, and query and key are different tensors, which may be two sequences: "
                "give the same tensor for both, or use a pattern of scores such as TopK(5)"
            )
        if padding is not None and not numbers_are_hidden(padding):
            there = ~padding if padding.dtype == torch.bool else allowed_and_bias(padding)[0]
            refuse_padding(self.pattern, there)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        joint: Tensor | None = self.in_proj_weight
        if joint is not None and query is key and key is value:
            return list(F.linear(query, joint, self.in_proj_bias).chunk(3, dim=-1))
        if joint is not None:
            weights: tuple[Tensor, ...] = joint.chunk(3)
        else:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        return [
            F.linear(each, weight, bias)
            for each, weight, bias in zip((query, key, value), weights, biases, strict=True)
        ]

    def _batch(self, x: Tensor, batched: bool) -> Tensor:
        """(batch, length, features)"""
        if not batched:
            return x.unsqueeze(0)
        return x if self.batch_first else x.transpose(0, 1)

    def _heads(self, x: Tensor) -> Tensor:
        """(batch, heads, length, head_dim)"""
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def _joined(self, mixed: Tensor, batched: bool) -> Tensor:
        joined = mixed.transpose(1, 2).flatten(2)
        if not batched:
            return joined.squeeze(0)
        return joined if self.batch_first else joined.transpose(0, 1)

    def _with_added_keys(self, key: Tensor, value: Tensor, masks: TorchMasks) -> tuple[Tensor, Tensor]:
        """add_bias_kv and add_zero_attn: keys after the last, which compete like any other."""
        shape = (key.shape[0], self.num_heads, 1, self.head_dim)
        if self.bias_k is not None and self.bias_v is not None:
            added = (
                each.to(key.dtype).view(1, *shape[1:]).expand(shape) for each in (self.bias_k, self.bias_v)
            )
            key, value = (torch.cat(pair, dim=2) for pair in zip((key, value), added, strict=True))
            masks.append_keys(1)
        if self.add_zero_attn:
            key, value = (torch.cat([each, each.new_zeros(shape)], dim=2) for each in (key, value))
            masks.append_keys(1)
        return key, value


def _are_one(query: Tensor, key: Tensor) -> bool:
    """The same tensor, or two views of the same numbers."""
    if query is key or query.shape != key.shape or numbers_are_hidden(query):
        return query is key
    return query.data_ptr() == key.data_ptr() and query.stride() == key.stride()


def check_pattern(module: nn.MultiheadAttention, pattern: Pattern) -> None:
    """Refuse what a module cannot mean."""
    if not isinstance(pattern, Pattern):
        raise ValueError(f"pattern must be a Pattern such as TopK(5) or its text, got {pattern!r}")
    if counts_positions(pattern) and (module.bias_k is not None or module.add_zero_attn):
        raise ValueError(
            f"{pattern} counts positions, and add_bias_kv or add_zero_attn puts keys after the last position; "
            "use full attention or a pattern of scores such as TopK(5)"
        )
