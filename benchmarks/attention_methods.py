"""The ways to compute attention that attention_speed.py compares, each as a function of query, key, value."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus import Full, TopK, attention

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Method:
    """`build(k)` gives the function; `matrices` of batch x length x length numbers are alive at once, roughly."""

    build: Callable[[int], Attention]
    matrices: int
    uses_k: bool = True
    optional: bool = False

    def bytes_needed(self, batch: int, length: int) -> int:
        return 4 * self.matrices * batch * length * length


def dense_masked(k: int) -> Attention:
    """All scores, a mask of the k best, softmax over everything."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.mT / query.shape[-1] ** 0.5
        smallest = scores.topk(k, dim=-1).values[..., -1:]
        return scores.masked_fill(scores < smallest, -torch.inf).softmax(-1) @ value

    return attend


def gathered(k: int) -> Attention:
    """The k best scores, and the values gathered for them; one head."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        best, indices = (query @ key.mT / query.shape[-1] ** 0.5).topk(k, dim=-1)
        batch = torch.arange(len(query)).view(-1, 1, 1, 1)
        chosen = value.squeeze(1)[batch, indices]
        return (best.softmax(-1).unsqueeze(-2) @ chosen).squeeze(-2)

    return attend


def x_transformers(k: int) -> Attention:
    """The top-k attention of the package x-transformers."""
    from x_transformers.attend import Attend

    module = Attend(sparse_topk=k)
    return lambda query, key, value: module(query, key, value)[0]


def ours(k: int) -> Attention:
    return lambda query, key, value: attention(query, key, value, TopK(k))


def ours_torch(k: int) -> Attention:
    return lambda query, key, value: attention(query, key, value, TopK(k), implementation="torch")


METHODS = {
    "ours top_k": Method(ours, matrices=0),
    "ours top_k, torch": Method(ours_torch, matrices=0, optional=True),
    "ours full": Method(lambda k: lambda *inputs: attention(*inputs, Full()), matrices=0, uses_k=False),
    "SDPA full": Method(lambda k: F.scaled_dot_product_attention, matrices=0, uses_k=False),
    "gathered top-k": Method(gathered, matrices=4),
    "dense-masked top-k": Method(dense_masked, matrices=6),
    "x-transformers top-k": Method(x_transformers, matrices=9, optional=True),
}


def available_methods() -> dict[str, Method]:
    """Those that run here; for the others, a line that says why not."""
    query, key, value = torch.randn(3, 1, 1, 4, 8)
    found = {}
    for name, method in METHODS.items():
        try:
            method.build(2)(query, key, value)
        except (ImportError, ValueError, TypeError) as error:
            if not method.optional:
                raise
            print(f"without {name}: {error}")
        else:
            found[name] = method
    return found
