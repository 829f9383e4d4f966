"""How far the kernels are from float64 on the keys that they kept, in units of how far PyTorch's float32 is."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus.mechanisms import BottomK, Random, TopK
from semfocus.mechanisms.call import AttentionCall, checked_call
from semfocus.mechanisms.native import native_attention, refuses
from tests.kernels.numerics.inputs import Hard

NAMES = ("output", "query gradient", "key gradient", "value gradient", "bias gradient")
#: half a unit in the last place of a number of size 1, and the smallest number
HALF_ULP, SMALLEST = 2.0**-24, 2.0**-149

#: queries and keys of PyTorch's usual products
FEWEST = 64


@dataclass(frozen=True)
class Error:
    """Of one tensor: the largest error, and the root of the mean squared one."""

    largest: float
    mean: float

    def over(self, other: "Error", least: "Error") -> "Error":
        return Error(
            self.largest / max(other.largest, least.largest), self.mean / max(other.mean, least.mean)
        )


@dataclass(frozen=True)
class Judged:
    """Ratios of our errors to PyTorch's by tensor, and what is wrong with the keys that were kept ("" if nothing).

    `by_rows`: the same where PyTorch is given rows enough for its usual products. Those of one query, or with a few
    keys, it sums in more parts than others, and errs less.
    """

    ratios: dict[str, Error]
    by_rows: dict[str, Error]
    selection: str
    #: by how much a key that was dropped beats one that was kept, in units of what rounding may do
    slack: float


def call_of(case: Hard) -> AttentionCall:
    leaves = [each.clone().requires_grad_() for each in (case.query, case.key, case.value)]
    generator = torch.Generator().manual_seed(case.number)
    call = checked_call(*leaves, case.pattern, case.mask, case.causal, case.scale, 0.0, False, generator)
    bias = None if case.bias is None else case.bias.clone().requires_grad_()
    return replace(call, softcap=case.softcap, bias=bias)


def by_the_kernels(case: Hard) -> tuple[list[Tensor], Tensor]:
    """Output and gradients, and the keys that were kept."""
    call = call_of(case)
    assert (reason := refuses(call)) is None, reason
    output = native_attention(call)
    leaves = [call.query, call.key, call.value, *([] if call.bias is None else [call.bias])]
    assert output.grad_fn is not None
    indices = output.grad_fn.saved_tensors[5].long()
    gradients = torch.autograd.grad(output, leaves, case.grad)
    return [output.detach(), *gradients], kept_keys(case, indices)


def allowed_keys(case: Hard) -> Tensor:
    return call_of(case).allowed().expand(*case.query.shape[:2], case.query.shape[2], case.key.shape[2])


def kept_keys(case: Hard, indices: Tensor) -> Tensor:
    """Those the kernels list; without a list those that follow from positions alone."""
    allowed = allowed_keys(case)
    if indices.shape[-1] == 0:
        return (case.pattern.keep(torch.zeros(allowed.shape), allowed) & allowed).expand(allowed.shape)
    num_keys = allowed.shape[-1]
    kept = torch.zeros(*allowed.shape[:-1], num_keys + 1, dtype=torch.bool)
    return kept.scatter(-1, indices.where(indices >= 0, num_keys), True)[..., :num_keys]


def dense(case: Hard, kept: Tensor, dtype: torch.dtype) -> list[Tensor]:
    """Output and gradients by PyTorch's own operations with a matrix of all scores."""
    given = [case.query, case.key, case.value, *([] if case.bias is None else [case.bias])]
    leaves = [each.to(dtype).requires_grad_() for each in given]
    scores = changed_scores(case, leaves[0], leaves[1], leaves[3] if case.bias is not None else None)
    empty = ~kept.any(-1, keepdim=True)
    weights = (
        scores.masked_fill(~kept, -torch.inf).masked_fill(empty, 0.0).softmax(-1).masked_fill(~kept, 0.0)
    )
    output = weights @ leaves[2]
    return [output.detach(), *torch.autograd.grad(output, leaves, case.grad.to(dtype))]


def changed_scores(case: Hard, query: Tensor, key: Tensor, bias: Tensor | None) -> Tensor:
    scores = query @ key.mT * case.scale
    if case.softcap is not None:
        scores = case.softcap * torch.tanh(scores / case.softcap)
    return scores if bias is None else scores + bias


def error_of(found: Tensor, truth: Tensor) -> Error:
    """Infinite if a number is not finite that should be."""
    off = (found.double() - truth).abs()
    if not off.numel():
        return Error(0.0, 0.0)
    off = off.nan_to_num(nan=torch.inf)
    return Error(float(off.max()), float(off.square().mean().sqrt()))


@torch.no_grad()
def wrong_selection(case: Hard, kept: Tensor) -> tuple[str, float]:
    """What is wrong with the kept keys, in words, and the slack of `Judged`."""
    allowed = allowed_keys(case)
    if (kept & ~allowed).any():
        return "a key is kept that is not allowed", 0.0
    if not isinstance(case.pattern, TopK | BottomK | Random):
        wanted = case.pattern.keep(torch.zeros(allowed.shape), allowed) & allowed
        return (
            "" if torch.equal(kept, wanted.expand(kept.shape)) else "other keys than the definition's"
        ), 0.0
    if not torch.equal(kept.sum(-1), allowed.sum(-1).clamp(max=case.pattern.k)):
        return "not min(k, allowed) keys", 0.0
    if isinstance(case.pattern, Random):
        return "", 0.0
    query, key = case.query.double(), case.key.double()
    bias = None if case.bias is None else case.bias.double()
    scores = changed_scores(case, query, key, bias)
    scores = -scores if isinstance(case.pattern, BottomK) else scores
    rounding = query.abs() @ key.abs().mT * abs(case.scale) * (query.shape[-1] + 3)
    rounding = (rounding + 8 * scores.abs() + (8 * case.softcap if case.softcap else 0)) * 2 * HALF_ULP
    worst = scores.masked_fill(~kept, torch.inf).amin(-1, keepdim=True)
    beyond = (scores - worst).masked_fill(kept | ~allowed, -torch.inf)
    bound = 2 * rounding.masked_fill(~allowed, 0.0).amax(-1, keepdim=True) + query.shape[-1] * SMALLEST
    slack = float((beyond / bound).max()) if beyond.numel() else 0.0
    return ("" if slack <= 1 else "a dropped key beats a kept one by more than rounding"), max(0.0, slack)


@torch.no_grad()
def least_errors(case: Hard, kept: Tensor) -> list[Error]:
    """What rounding the terms of each result once may do: half a unit in the last place of their magnitudes' sum."""
    query, key, value, grad = (each.double() for each in (case.query, case.key, case.value, case.grad))
    bias = None if case.bias is None else case.bias.double()
    scores = changed_scores(case, query, key, bias).masked_fill(~kept, -torch.inf)
    weights = scores.softmax(-1).nan_to_num(nan=0.0)
    gradients = weights * (grad.abs() @ value.abs().mT)
    sums = (
        weights @ value.abs(),
        gradients @ key.abs() * abs(case.scale),
        gradients.mT @ query.abs() * abs(case.scale),
        weights.mT @ grad.abs(),
        gradients,
    )
    rounding = ((HALF_ULP * each.detach()).clamp(min=SMALLEST) for each in sums)
    return [Error(float(each.max()), float(each.square().mean().sqrt())) for each in rounding]


def several_rows(case: Hard, kept: Tensor) -> tuple[Hard, Tensor]:
    """The same among rows of zeros that nobody keeps, so that there are `FEWEST` queries and keys."""
    queries, keys = (max(0, FEWEST - each.shape[2]) for each in (case.query, case.key))
    below = {"query": queries, "key": keys, "value": keys, "grad": queries}
    padded = {name: F.pad(getattr(case, name), (0, 0, 0, rows)) for name, rows in below.items()}
    bias = None if case.bias is None else F.pad(case.bias, (0, keys, 0, queries))
    return replace(case, **padded, bias=bias), F.pad(kept, (0, keys, 0, queries))


def judged(case: Hard) -> Judged:
    """By the kernels, then with PyTorch in float64 and float32 on the keys that they kept."""
    ours, kept = by_the_kernels(case)
    truth, usual = dense(case, kept, torch.float64), dense(case, kept, torch.float32)
    padded = usual if min(kept.shape[2:]) >= FEWEST else dense(*several_rows(case, kept), torch.float32)
    ratios, by_rows = {}, {}
    for name, exact, theirs, more, found, least in zip(
        NAMES, truth, usual, padded, ours, least_errors(case, kept), strict=False
    ):
        rows, features = exact.shape[2:]
        error = error_of(found, exact)
        ratios[name] = error.over(error_of(theirs, exact), least)
        by_rows[name] = error.over(error_of(more[:, :, :rows, :features], exact), least)
    return Judged(ratios, by_rows, *wrong_selection(case, kept))
