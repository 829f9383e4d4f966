"""Patterns of positions without a kernel of their own: full attention under a mask that is computed once."""

from functools import lru_cache

import torch
from torch import Tensor

from semfocus.mechanisms.call import allowed_rows
from semfocus.mechanisms.global_tokens import WithGlobals
from semfocus.mechanisms.input_agnostic import InputAgnostic, Random
from semfocus.mechanisms.pattern import Pattern, QueryRows

#: entries of a mask that is worth its memory; beyond, blocks of queries are
MOST_ENTRIES = 2**20


def serves_as_mask(pattern: Pattern, num_queries: int, num_keys: int) -> bool:
    """Whether the kept keys follow from positions and allowed keys alone, and their mask is small."""
    base = pattern.base if isinstance(pattern, WithGlobals) else pattern
    is_static = isinstance(base, InputAgnostic) or (isinstance(base, Random) and base.fixed)
    return is_static and base.serves_rows() and num_queries * num_keys <= MOST_ENTRIES


def kept_mask(
    pattern: Pattern, num_queries: int, num_keys: int, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """The kept keys as a mask that broadcasts to (..., num_queries, num_keys)."""
    if mask is None:
        return _kept_without_mask(pattern, num_queries, num_keys, causal)
    rows = QueryRows(0, num_queries, num_queries, num_keys)
    allowed = allowed_rows(rows, mask, causal, mask.device)
    return pattern.keep(torch.zeros((), device=mask.device).expand(allowed.shape), allowed)


@lru_cache(maxsize=256)
def _kept_without_mask(pattern: Pattern, num_queries: int, num_keys: int, causal: bool) -> Tensor:
    rows = QueryRows(0, num_queries, num_queries, num_keys)
    with torch.inference_mode(False):  # it is kept, and may be needed by a backward pass later
        allowed = allowed_rows(rows, None, causal, torch.device("cpu"))
        return pattern.keep(torch.zeros((), device="cpu").expand(allowed.shape), allowed).contiguous()
