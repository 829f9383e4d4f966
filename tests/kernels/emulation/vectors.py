"""Inputs and expected results for self_test.cpp, computed in float64 by the reference implementation.

Inputs of attention are small multiples of 1/16: float32 holds them, their products and the sums of these exactly. So
float32 and float64 agree about every tie and every kept key, in any order of summation and with or without FMA.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus.kernels.cpu.library import without_kernels
from semfocus.mechanisms import Banded, BlockLocal, BottomK, Full, Pattern, Random, TopK, attention
from semfocus.mechanisms.native import options_of
from semfocus.model import ModelConfig
from semfocus.model.block import Block
from semfocus.randomness import all_places, draw_seed, drop_at

ATTENTION = (
    *(TopK(1), TopK(3), TopK(11), TopK(29), TopK(500)),
    *(BottomK(2), BottomK(17), Random(3), Random(64)),
    *(Banded(1), Banded(4), Banded(9), BlockLocal(1), BlockLocal(5), Full()),
)
#: queries, keys, width, value width
SHAPES = ((1, 1, 1, 1), (7, 7, 5, 3), (13, 33, 8, 17), (40, 5, 3, 9), (61, 61, 64, 64))
#: more keys than one chunk holds, and more queries than are summed at once
LONG = (
    *((TopK(5), (5, 2100, 3, 2)), (BottomK(40), (3, 2100, 3, 2)), (TopK(2), (300, 9, 3, 2))),
    *((Banded(5), (300, 20, 3, 2)), (Full(), (6, 1000, 3, 2)), (Full(), (200, 30, 3, 5))),
)
BLOCKS = (Full(), TopK(3), BottomK(2), Random(2), Banded(4), BlockLocal(3))
DROPOUT = 0.3


@dataclass(frozen=True)
class Case:
    """One call of the kernels: what it computes, its numbers, its arrays and the arrays that must come out."""

    kind: str
    group: str
    numbers: dict[str, float | int | str]
    arrays: dict[str, Tensor] = field(default_factory=dict)


def all_cases() -> Iterator[Case]:
    yield from itertools.chain(attention_cases(), not_finite_cases(), pass_cases(), block_cases())


def write_cases(path: Path, cases: Iterable[Case]) -> None:
    """A case is a line of words (kind, group, name=number or word ...), then for each array a line (name,
    count) and its numbers as little-endian float64.
    """
    with path.open("wb") as file:
        for case in cases:
            words = (f"{name}={_exactly(number)}" for name, number in case.numbers.items())
            file.write(" ".join(("case", case.kind, case.group, *words)).encode() + b"\n")
            for name, array in case.arrays.items():
                file.write(f"array {name} {array.numel()}\n".encode())
                file.write(array.detach().double().contiguous().numpy().astype("<f8").tobytes())


def _exactly(number: float | int | str) -> str:
    return number.hex() if isinstance(number, float) else str(number)


def attention_cases() -> Iterator[Case]:
    """Every pattern with every shape; mask, direction and dropout take turns."""
    turns = itertools.cycle(itertools.product(("none", "padding", "any"), (False, True), (0.0, DROPOUT)))
    for pattern, shape in (*itertools.product(ATTENTION, SHAPES), *LONG):
        for _ in range(5 if max(shape) < 60 else 2):
            mask, causal, dropout = next(turns)
            yield _attention_case(pattern, shape, mask, causal, dropout)


def _attention_case(
    pattern: Pattern, shape: tuple[int, int, int, int], mask_kind: str, causal: bool, dropout: float
) -> Case:
    num_queries, num_keys, width, value_width = shape
    generator = torch.Generator().manual_seed(num_keys)
    outer, inner = (2, 3) if max(shape) < 60 else (1, 2)
    rows = (outer, inner)
    query, key = (_grid((*rows, num, width), generator) for num in (num_queries, num_keys))
    value, grad = (_grid((*rows, num, value_width), generator) for num in (num_keys, num_queries))
    mask = _mask(mask_kind, rows, num_queries, num_keys, generator)
    leaves = [each.requires_grad_() for each in (query, key, value)]
    output, info = attention(
        *leaves,
        pattern,
        mask=mask,
        causal=causal,
        scale=0.3,
        dropout=dropout,
        generator=torch.Generator().manual_seed(3),
        implementation="reference",
        return_info=True,
    )
    gradients = torch.autograd.grad(output, leaves, grad)
    numbers = _options(pattern, (*rows, *shape), causal, 0.3, dropout)
    arrays = {"query": query, "key": key, "value": value, "grad_output": grad}
    if mask is not None:
        arrays["mask"] = mask
    if numbers["mode"] != "all":
        arrays["indices"] = _indices(info.kept, int(numbers["kept"]))
    arrays |= {"output": output}
    arrays |= dict(zip(("grad_query", "grad_key", "grad_value"), gradients, strict=True))
    return Case("attention", pattern.name, numbers, arrays)


def not_finite_cases() -> Iterator[Case]:
    """A NaN that is allowed spoils its rows; one that is not, no bit. Forward only."""
    for pattern, causal in itertools.product((TopK(3), BottomK(2), Full()), (False, True)):
        generator = torch.Generator().manual_seed(1)
        query, key, value = (_grid((1, 2, 19, 4), generator) for _ in range(3))
        key[..., 17:, :], value[..., 17:, :] = torch.nan, torch.inf
        key[..., 11, 2] = torch.nan
        mask = torch.arange(19).expand(1, 2, 19, 19) < 17
        output = attention(
            query, key, value, pattern, mask=mask, causal=causal, scale=0.3, implementation="reference"
        )
        arrays = {"query": query, "key": key, "value": value, "mask": mask, "output": output}
        yield Case(
            "attention", "not_finite", _options(pattern, (1, 2, 19, 19, 4, 4), causal, 0.3, 0.0), arrays
        )


def pass_cases() -> Iterator[Case]:
    """Residual, dropout, LayerNorm and ReLU, in every combination that a pass may be asked for."""
    for width, rate in itertools.product((1, 7, 64, 100), (0.0, DROPOUT)):
        for has_input, has_other, has_bias, has_norm in itertools.product((False, True), repeat=4):
            if (has_other or (has_input and has_norm and not has_bias)) and (has_other or rate == 0.0):
                yield from _sum_cases(width, rate, has_input, has_other, has_bias, has_norm)
        for has_bias in (False, True):
            yield from _relu_cases(width, rate, has_bias)


def _sum_cases(
    width: int, rate: float, has_input: bool, has_other: bool, has_bias: bool, has_norm: bool
) -> Iterator[Case]:
    """sum = input + drop(other + bias), normed = norm(sum); then the gradients from both."""
    generator = torch.Generator().manual_seed(width)
    x, other = (_grid((11, width), generator).requires_grad_() for _ in range(2))
    bias = _grid((width,), generator)
    total = torch.zeros(11, width, dtype=torch.float64)
    if has_other:
        total = _drop(other + bias if has_bias else other, rate)
    total = x + total if has_input else total
    normed = F.layer_norm(total, (width,), eps=1e-3)
    factors = (total.var(-1, unbiased=False) + 1e-3).rsqrt()
    numbers = {"rows": 11, "width": width, "epsilon": 1e-3, "dropout": rate, "seed": _SEED}
    wanted = {"input": has_input, "other": has_other, "bias": has_bias}
    wanted |= {"sum": has_other, "normed": has_norm, "factors": has_norm}
    tensors = (x, other, bias, total, normed, factors)
    arrays = {name: each for name, each in zip(wanted, tensors, strict=True) if wanted[name]}
    yield Case("pass", "residual_norm", {"direction": "forward"} | numbers, arrays)
    for from_sum, from_norm in ((False, True), (True, True), (True, False)):
        if (from_norm and not has_norm) or (not from_norm and not has_other):
            continue
        grad_sum, grad_normed = (_grid((11, width), generator) for _ in range(2))
        loss = (total * grad_sum * from_sum + (normed * grad_normed * from_norm)).sum()
        (grad_total,) = torch.autograd.grad(loss, total, retain_graph=True)
        given = {"grad_sum": grad_sum} if from_sum else {}
        if from_norm:
            given |= {
                "grad_normed": grad_normed,
                "normed": normed,
                "factors": factors,
                "grad_input": grad_total,
            }
        if has_other:
            (given["grad_other"],) = torch.autograd.grad(loss, other, retain_graph=True)
        yield Case("pass", "residual_norm_backward", {"direction": "backward"} | numbers, given)


def _relu_cases(width: int, rate: float, has_bias: bool) -> Iterator[Case]:
    """sum = drop(relu(input + bias)); its gradient needs the result only."""
    generator = torch.Generator().manual_seed(width)
    x, bias, grad = (_grid(shape, generator) for shape in ((11, width), (width,), (11, width)))
    x.requires_grad_()
    result = _drop(F.relu(x + bias if has_bias else x), rate)
    (grad_input,) = torch.autograd.grad(result, x, grad)
    numbers = {"rows": 11, "width": width, "epsilon": 0.0, "dropout": rate, "seed": _SEED}
    given = {"input": x, "bias": bias} if has_bias else {"input": x}
    yield Case("pass", "relu", {"direction": "relu"} | numbers, given | {"sum": result})
    given = {"sum": result, "grad_sum": grad, "grad_input": grad_input}
    yield Case("pass", "relu_backward", {"direction": "relu_backward"} | numbers, given)


def block_cases() -> Iterator[Case]:
    """Whole blocks with every pattern: the plain block, without kernels, says what must come out."""
    turns = itertools.cycle(itertools.product((False, True), (0.0, DROPOUT), (False, True)))
    for pattern, (heads, length, width, hidden) in itertools.product(
        BLOCKS, ((1, 11, 8, 12), (3, 6, 7, 5), (2, 21, 16, 40))
    ):
        for _ in range(3):
            masked, rate, causal = next(turns)
            config = ModelConfig(
                vocab_size=5,
                num_classes=3,
                max_length=length,
                d_model=width,
                d_mlp=hidden,
                pattern=pattern,
                num_heads=heads,
                dropout=rate,
                causal=causal,
            )
            seeds = itertools.count()
            yield next(case for case in (_block_case(config, masked, seed) for seed in seeds) if case)


def _block_case(config: ModelConfig, masked: bool, seed: int) -> Case | None:
    """None where float32 might keep another key, or find another sign before the ReLU."""
    generator = torch.Generator().manual_seed(seed)
    length, heads = config.max_length, config.num_heads
    layer = Block(config, is_first=True).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(_grid(parameter.shape, generator) / 4)
    x = _grid((3, length, config.d_model), generator).requires_grad_()
    mask = torch.rand(3, 1, 1, length, generator=generator) > 0.3 if masked else None
    grad = _grid(x.shape, generator)
    before_relu: list[Tensor] = []
    with without_kernels():
        hook = layer.mlp.expand.register_forward_hook(lambda _, __, out: before_relu.append(out))
        output = layer(x, mask, torch.Generator().manual_seed(3))
        hook.remove()
        gradients = torch.autograd.grad(output, [x, *layer.parameters()], grad)
    if before_relu[0].abs().min() < 1e-4 or _closest_call(layer, x, mask) < 1e-4:
        return None
    shape = (3, heads, length, length, config.d_model, config.d_model)
    generator = torch.Generator().manual_seed(3)
    numbers = _options(config.pattern, shape, config.causal, layer.attention.scale, config.dropout, generator)
    numbers |= {"block_width": config.d_model, "hidden_width": config.d_mlp, "block_dropout": config.dropout}
    numbers |= {"attention_epsilon": layer.attention_eps, "mlp_epsilon": layer.mlp_eps}
    for name in ("out_seed", "hidden_seed", "output_seed"):
        numbers[name] = int(draw_seed(generator)) if config.dropout else 0
    arrays = {"input": x, "grad_output": grad, "output": output, "grad_input": gradients[0]}
    if mask is not None:
        arrays["mask"] = mask.expand(3, heads, length, length)
    for (name, parameter), gradient in zip(layer.named_parameters(), gradients[1:], strict=True):
        short = name.removeprefix("attention.").removeprefix("mlp.")
        arrays |= {short: parameter, f"grad_{short}": gradient}
    return Case("block", config.pattern.name, numbers, arrays)


def _closest_call(layer: Block, x: Tensor, mask: Tensor | None) -> float:
    """The smallest distance between the scores of a kept and a passed-over key, where scores decide."""
    config = layer.attention.config
    if not isinstance(config.pattern, TopK | BottomK):
        return torch.inf
    normed = F.layer_norm(x, x.shape[-1:], eps=layer.attention_eps)
    query, key = (
        layer.attention._split(each(normed)) for each in (layer.attention.query, layer.attention.key)
    )
    scores = (query @ key.mT * layer.attention.scale).detach()
    allowed = torch.ones(scores.shape, dtype=torch.bool) if mask is None else mask.expand(scores.shape)
    if config.causal:
        allowed = allowed.tril()
    scores = scores if isinstance(config.pattern, TopK) else -scores
    ordered = scores.masked_fill(~allowed, -torch.inf).sort(descending=True).values
    gaps = ordered[..., config.pattern.k - 1] - ordered[..., config.pattern.k]
    return float(gaps.nan_to_num(nan=torch.inf).min())


def _options(
    pattern: Pattern,
    shape: tuple[int, int, int, int, int, int],
    causal: bool,
    scale: float,
    dropout: float,
    generator: torch.Generator | None = None,
) -> dict[str, float | int | str]:
    """The numbers of a `Problem`; the seeds are drawn as the reference draws them."""
    generator = generator or torch.Generator().manual_seed(3)
    options = options_of(pattern, shape[2], shape[3], causal, scale, dropout, generator)
    names = ("outer", "inner", "queries", "keys", "width", "value_width")
    numbers: dict[str, float | int | str] = dict(zip(names, shape, strict=True))
    numbers |= {"mode": options.mode, "size": options.size, "kept": options.kept, "causal": int(causal)}
    numbers |= {"scale": float(scale), "dropout": float(dropout)}
    return numbers | {
        "selection_seed": int(options.selection_seed),
        "dropout_seed": int(options.dropout_seed),
    }


def _indices(kept: Tensor, most: int) -> Tensor:
    """Positions of the kept keys, ascending, then -1."""
    num_keys = kept.shape[-1]
    places = torch.where(kept, torch.arange(num_keys), num_keys).sort(-1).values[..., :most]
    return places.masked_fill(places == num_keys, -1)


def _grid(shape: tuple[int, ...] | torch.Size, generator: torch.Generator) -> Tensor:
    return torch.randint(-24, 25, tuple(shape), generator=generator).double() / 16


def _mask(
    kind: str, rows: tuple[int, int], num_queries: int, num_keys: int, generator: torch.Generator
) -> Tensor | None:
    """Of "padding" the first batch element has nothing allowed at all, of "any" some rows have nothing."""
    shape = (*rows, num_queries, num_keys)
    if kind == "none":
        return None
    if kind == "padding":
        mask = torch.rand(rows[0], 1, 1, num_keys, generator=generator) > 0.3
        mask[0] &= num_keys % 2 == 0 or rows[0] == 1
        return mask.expand(shape)
    mask = torch.rand(shape, generator=generator) > 0.5
    return mask & (torch.rand(*shape[:-1], 1, generator=generator) > 0.1)


_SEED = 0x0123456789ABCDEF


def _drop(x: Tensor, rate: float) -> Tensor:
    return drop_at(x, rate, _SEED, *all_places(x.shape, x.device)) if rate else x
