"""Our attention as transformers calls it: one function for the attention, one for its mask."""

from typing import Any

import torch
from torch import Tensor, nn

from semfocus.integrations.mask_conversion import allowed_and_bias
from semfocus.integrations.selection import counts_positions, needs_places, refuse_padding
from semfocus.kernels.onlookers import numbers_are_hidden
from semfocus.mechanisms import AttachedPoint, Pattern
from semfocus.mechanisms.observation import Changes, attend_at

#: our name among the attention implementations of transformers
NAME = "semfocus"
#: the same attention with additive masks, for models that compute with a mask themselves before they hand it on
ADDITIVE_NAME = "semfocus_additive"

#: what a call may carry beside the attention itself without changing what is computed
_HARMLESS = frozenset(
    {
        "cache_position",
        "deterministic",
        "hidden_states",
        "labels",
        "logits_to_keep",
        "num_items_in_batch",
        "output_hidden_states",
        "output_router_logits",
        "position_embeddings",
        "position_ids",
        "return_dict",
        "use_cache",
        # what tokenizers add to a batch, which models that do not know it pass on
        *("token_type_ids", "mm_token_type_ids", "special_tokens_mask", "offset_mapping", "length"),
        *("overflowing_tokens", "num_truncated_tokens", "overflow_to_sample_mapping"),
        *("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", "cu_seqlens"),
    }
)
#: lengths of sequences packed into one, which only a mask can keep apart here
_PACKED = ("cu_seq_lens_q", "cu_seqlens")


class SwitchedAttention(AttachedPoint):
    """What a switched attention module of transformers attends with."""

    def __init__(self, pattern: Pattern, inverse_temperature: float) -> None:
        self.pattern = pattern
        self.inverse_temperature = inverse_temperature

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A process that was given the model, and has never heard of `apply`, must know our functions too."""
        vars(self).update(state)
        register()


def register() -> None:
    """Make our two functions known to transformers."""
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
    except ImportError as error:
        raise ImportError(
            "a Hugging Face model needs transformers 5.21 or later: pip install 'semfocus[hf]'"
        ) from error

    for name, mask_function in ((NAME, semfocus_mask), (ADDITIVE_NAME, additive_mask)):
        AttentionInterface.register(name, semfocus_attention)
        AttentionMaskInterface.register(name, mask_function)


def semfocus_mask(*arguments: Any, **options: Any) -> Tensor:
    """Always a boolean mask (batch, 1, Lq, Lk), True = may attend, as the SDPA of PyTorch takes it.

    transformers leaves a mask out where others can do without; a causal model would then see the future.
    """
    from transformers.masking_utils import sdpa_mask

    options |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
    mask = sdpa_mask(*arguments, **options)
    assert mask is not None
    return mask


def additive_mask(*arguments: Any, **options: Any) -> Tensor:
    """Always the mask of eager attention (batch, 1, Lq, Lk): 0 = may attend, the smallest number of the type = may not.

    A model without SDPA support counts on it. DeepSeek-V4 appends a bias of its own in the mask's type: of a boolean
    mask that would be True exactly where it forbids.
    """
    from transformers.masking_utils import eager_mask

    options |= {"allow_is_bidirectional_skip": False}
    return eager_mask(*arguments, **options)


def semfocus_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    position_bias: Tensor | None = None,
    s_aux: Tensor | None = None,
    output_attentions: bool | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor | None]:
    """query (batch, heads, Lq, d) -> (batch, Lq, heads, dv), and the weights if they are asked for."""
    point = AttachedPoint.of(module)
    if not isinstance(point, SwitchedAttention):
        raise RuntimeError(
            f"{type(module).__name__} is set to use semfocus, but was not switched: call semfocus.apply(model)"
        )
    _refuse_unknown(type(module).__name__, others, attention_mask)
    mask, mask_bias = _mask_and_bias(module, attention_mask)
    causal = False
    if mask is None:
        causal = _causal_without_mask(module, is_causal, query, key, sliding_window)
    if counts_positions(point.pattern):
        _check_positions(module, point.pattern, mask, query, key, sliding_window)
    biases = [each for each in (position_bias, mask_bias) if each is not None]
    changes = Changes(
        softcap=softcap,
        bias=sum(biases[1:], biases[0]) if biases else None,
        sink=None if s_aux is None else s_aux.reshape(1, -1, 1, 1),
    )
    output, weights = attend_at(
        point,
        point.inputs,
        query,
        key,
        value,
        point.pattern,
        scale=scaling,
        inverse_temperature=point.inverse_temperature,
        mask=mask,
        causal=causal,
        dropout=dropout,
        enable_gqa=key.shape[1] != query.shape[1],
        changes=changes,
        need_weights=bool(output_attentions) or _are_weights_collected(),
    )
    return output.transpose(1, 2).contiguous(), None if weights is None else weights.to(output.dtype)


def _refuse_unknown(name: str, others: dict[str, Any], mask: Tensor | None) -> None:
    for key, value in others.items():
        if value is not None and key not in _HARMLESS:
            raise ValueError(
                f"{name} gives its attention {key!r}, which semfocus does not know how to honour"
            )
        if value is not None and key in _PACKED and mask is None:
            raise ValueError(f"{name} packs sequences with {key!r} and no mask, which would mix them")


def _mask_and_bias(module: Any, mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """An additive mask, ours or the user's, as what it allows and what it adds."""
    if mask is not None and mask.dtype == torch.bool and module.config._attn_implementation == ADDITIVE_NAME:
        raise ValueError(
            f"{type(module).__name__} is of a model without SDPA support, which may compute with its mask as with "
            "numbers: give a float mask, 0 where a key may be attended to and minus infinity elsewhere"
        )
    if mask is None or mask.dtype == torch.bool:
        return mask, None
    if not mask.is_floating_point():
        raise ValueError(f"an attention mask must be boolean or floating-point, got {mask.dtype}")
    return allowed_and_bias(mask)


def _are_weights_collected() -> bool:
    """Whether the model around was asked for `output_attentions`, which some modules do not hand on."""
    from transformers.utils.output_capturing import _active_collector

    if torch.compiler.is_compiling() and not _active_collector.compiling:
        return False  # outside of a model, where a graph could not look
    collected = _active_collector.get() or ()
    return any(key.endswith("attentions") for key in collected)


def _causal_without_mask(
    module: nn.Module, is_causal: bool | None, query: Tensor, key: Tensor, sliding_window: int | None
) -> bool:
    """A module that was given no mask may still be causal by itself."""
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    num_queries, num_keys = query.shape[-2], key.shape[-2]
    if causal and num_queries > 1 and num_queries != num_keys:
        raise ValueError(
            f"{type(module).__name__} is causal and has {num_keys} keys for {num_queries} queries, but came without a mask"
        )
    if sliding_window is not None and num_keys > sliding_window:
        raise ValueError(f"{type(module).__name__} has a sliding window, but came without a mask")
    return causal


def _check_positions(
    module: nn.Module,
    pattern: Pattern,
    mask: Tensor | None,
    query: Tensor,
    key: Tensor,
    sliding_window: int | None,
) -> None:
    """The last query must stand at the last key, and the first token of every sequence at the first."""
    is_whole = query.shape[-2] == key.shape[-2]
    if not is_whole and not getattr(module, "is_causal", True):
        raise ValueError(
            f"{pattern} counts positions, and {type(module).__name__} attends from one sequence to another; "
            "use a pattern of scores such as TopK(5), or leave this layer out"
        )
    if mask is None or not needs_places(pattern):
        return
    if not is_whole and (numbers_are_hidden(mask) or not mask[..., -1, -1].any()):
        raise ValueError(f"{pattern} counts positions, which a cache of fixed size moves: use a DynamicCache")
    if not numbers_are_hidden(mask):
        # A window hides the first key from the last query; padding hides it from all.
        refuse_padding(pattern, mask[..., -1, :] if sliding_window is None else mask.any(-2))
