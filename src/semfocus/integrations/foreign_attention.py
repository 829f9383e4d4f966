"""Watching a forward pass, operation by operation, for attention that is not ours."""

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils.weak import WeakTensorKeyDictionary

from semfocus.kernels.onlookers import SilentMode
from semfocus.mechanisms.dispatch import attention
from semfocus.mechanisms.observation import attend_at

_SOFTMAX = {
    "softmax",
    "_softmax",
    "_safe_softmax",
    "_masked_softmax",
    "_sparse_softmax",
    "_sparse_log_softmax",
} | {
    "log_softmax",
    "_log_softmax",
}
#: what makes weights of scores, or of anything once it is divided by its sum, where somebody writes the softmax out
_EXPONENTIALS = {"exp", "exp2", "expm1", "pow", "sigmoid"}
_MATRIX_PRODUCTS = {
    "mm",
    "bmm",
    "matmul",
    "addmm",
    "baddbmm",
    "addbmm",
    "mv",
    "addmv",
    "_sparse_mm",
    "_sparse_addmm",
}
_PRODUCTS = _MATRIX_PRODUCTS | {
    *("dot", "vdot", "convolution", "_embedding_bag", "_embedding_bag_forward_only", "_cdist_forward"),
    *("_euclidean_dist", "_trilinear", "_grouped_mm", "linear", "einsum"),
}
_TRANSPOSITIONS = {"t", "transpose", "permute", "swapaxes", "mT", "numpy_T"}
_TIMES = {"mul", "addcmul"}
_SUMS = {
    "sum",
    "mean",
    "nansum",
    "scatter_add",
    "scatter_reduce",
    "index_add",
    "index_reduce",
    "segment_reduce",
}
#: operations of libraries whose insides are known, and no attention
_KNOWN = {
    "aten",
    "prim",
    "prims",
    "semfocus",
    "c10d",
    "_c10d_functional",
    "profiler",
    "quantized",
    "torchvision",
}
_OURS = (attention.__code__, attend_at.__code__)
#: whose lines tell nobody where a model computes
_PASSED_THROUGH = (str(Path(torch.__file__).parent), str(Path(__file__).parent), "<")


@dataclass(frozen=True)
class Call:
    """Attention that somebody else computes: the module, the line of its code, and what it does there.

    `is_single`: its softmax was taken over a single number, so that it may be none.
    """

    module: str
    line: str
    what: str
    is_single: bool = False

    def __str__(self) -> str:
        return f"{self.module} ({self.line}) {self.what}"


@dataclass(frozen=True)
class _Trait:
    """What is known of a tensor; without any, that it depends on the input.

    `fixed`: it follows from parameters and buffers alone. `scores`: a sum of products of two tensors that
    both depend on the input; `product`: such products before the sum. `raised`: exponentials, `total`: their
    sum. `features`: how wide the linear layer is whose output is the last dimension, or what a softmax over
    it was taken of. `weights`: where a softmax was taken. `mixed`: weights times something wider, which a sum
    makes attention.
    """

    fixed: bool = False
    scores: bool = False
    product: bool = False
    raised: bool = False
    total: bool = False
    features: int = 0
    weights: Call | None = None
    mixed: Call | None = None


_NOTHING, _FIXED = _Trait(), _Trait(fixed=True)


class AttentionWatch(TorchDispatchMode, SilentMode):
    """While open: `found` gets every attention function that is not ours, and every softmax that mixes by its weights.

    Weights are what a softmax puts out, or exponentials that are divided by their sum; masked, scaled, dropped or moved
    they stay weights. They mix if a product that sums is taken of them and of a tensor that depends on the
    input. Weights over what a linear layer puts out are those of a router, as long as each row of them has
    things of its own to mix. `unseen` gets operations of other libraries, whose insides nobody can watch from here.
    """

    supports_higher_order_operators = True

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._names = {id(module): name for name, module in model.named_modules()}
        self._model = type(model).__name__
        self._traits: Any = WeakTensorKeyDictionary()
        for buffer in model.buffers():
            self._traits[buffer] = _FIXED
        #: what was written, by memory, which is held so that nobody else gets it meanwhile
        self._memory: dict[int, tuple[Any, _Trait]] = {}
        self._found: dict[Call, None] = {}
        self._unseen: dict[str, None] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """torch would else import its compiler, which takes seconds, to keep it away from here."""
        return False

    def __enter__(self) -> "AttentionWatch":
        torch.clear_autocast_cache()  # parameters in the type of autocast would look like new tensors
        super().__enter__()
        return self

    @property
    def found(self) -> list[Call]:
        return [each for each in self._found if not each.is_single]

    @property
    def single(self) -> list[Call]:
        """What would be attention over more than one key, such as the first token of a text has."""
        return [each for each in self._found if each.is_single]

    @property
    def unseen(self) -> list[str]:
        return list(self._unseen)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        is_nested = any(each.is_nested for each in _tensors((args, kwargs)))
        # Parts of an operation on nested tensors are none that these tensors know: torch ends the process.
        if not (is_nested or _is_attention(*_name_of(func))) and hasattr(func, "decompose"):
            super().__enter__()  # in inference mode an operation comes here whole: its parts are known
            try:
                output = func.decompose(*args, **kwargs)
            finally:
                self.__exit__(None, None, None)
            if output is not NotImplemented:
                return output
        output = func(*args, **kwargs)
        self._see(func, args, list(_tensors((args, kwargs))), list(_tensors(output)))
        return output

    def _see(self, func: Any, args: tuple[Any, ...], inputs: list[Tensor], outputs: list[Tensor]) -> None:
        namespace, name = _name_of(func)
        if namespace == "semfocus":
            return
        if _is_attention(namespace, name):
            self._note(f"calls {name}")
        elif namespace not in _KNOWN:
            if any(each.is_floating_point() and each.dim() > 1 for each in inputs):
                self._unseen[f"{namespace}::{name}"] = None
        elif inputs and all(self._trait(each).fixed for each in inputs):
            self._give(outputs, _FIXED)  # an embedding is not: it depends on ids
        elif name in _SOFTMAX:
            self._see_softmax(args, outputs)
        elif name in _EXPONENTIALS and (name != "pow" or isinstance(args[1], Tensor)):
            self._see_exponential(name, args[1] if name == "pow" else args[0], outputs)
        elif name in _PRODUCTS:
            self._see_product(name, inputs, outputs)
        else:
            self._pass_on(name, inputs, outputs)

    def _see_softmax(self, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
        dim = next((each for each in args[1:] if isinstance(each, int)), -1)
        is_single = not args[0].is_nested and args[0].dim() > 0 and args[0].shape[dim] == 1
        is_last = dim in (-1, args[0].dim() - 1)
        features = self._trait(args[0]).features if is_last else 0
        what = "computes attention by itself, with a softmax"
        self._give(outputs, self._weights(what, features, is_single))

    def _see_exponential(self, name: str, exponent: Tensor, outputs: list[Tensor]) -> None:
        trait = self._trait(exponent)
        if trait.scores and not trait.weights:
            self._give(outputs, self._weights("computes attention by itself, with exponentials", 0))
        else:
            self._give(outputs, replace(trait, raised=trait.raised or name != "sigmoid"))

    def _weights(self, what: str, features: int, is_single: bool = False) -> _Trait:
        call = self._foreign(what)
        if call is None:
            return _NOTHING
        return _Trait(weights=replace(call, is_single=is_single), features=features)

    def _see_product(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        floats = [each for each in inputs if each.is_floating_point()]
        factors = floats[-2:] if name in _MATRIX_PRODUCTS else floats
        traits = [self._trait(each) for each in factors]
        moving = [each for each in traits if not each.fixed]
        if len(moving) > 1:
            is_plain = name in _MATRIX_PRODUCTS and not any(each.is_nested for each in factors)
            shared = _rows(factors) if is_plain else [1] * len(factors)
            for rows, trait in zip(shared, traits, strict=True):
                if trait.weights and (not trait.features or rows > trait.features):
                    self._found[trait.weights] = None
            if not self._is_ours():
                self._give(outputs, _Trait(scores=True))
        elif any(each.weights for each in moving) and outputs[0].numel() == max(map(Tensor.numel, inputs)):
            self._give(
                outputs, next(each for each in moving if each.weights)
            )  # such as a mixture of the heads
        elif name == "convolution":
            self._pass_on(name, inputs, outputs)
        elif outputs[0].shape[-1:] != (1,) and moving and traits[-1].fixed:
            self._give(outputs, _Trait(features=outputs[0].shape[-1]))

    def _pass_on(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        """Weights and scores stay what they are while they are masked, scaled, cast, cut, padded or moved."""
        floats = [each for each in inputs if each.is_floating_point()]
        traits = [self._trait(each) for each in floats]
        if any(each.is_nested for each in (*floats, *outputs)):  # they have no sizes
            self._give(outputs, next((each for each in traits if each.weights), _NOTHING))
            return
        for output in outputs:
            if not output.is_floating_point():
                continue
            is_written = any(output is each for each in inputs)
            was_fixed = is_written and self._trait(output).fixed
            trait = self._of_output(name, floats, traits, output)
            if trait != _NOTHING:
                self._traits[output] = trait
            if is_written and (trait != _NOTHING or was_fixed) and output.layout is torch.strided:
                self._memory[output.untyped_storage()._cdata] = output.untyped_storage(), trait

    def _of_output(self, name: str, floats: list[Tensor], traits: list[_Trait], output: Tensor) -> _Trait:
        pairs = list(zip(floats, traits, strict=True))
        moving = [(tensor, trait) for tensor, trait in pairs if not trait.fixed]
        mixed = _mixed(moving, output) if name in _TIMES else None
        self._see_sum(name, [mixed, *(trait.mixed for trait in traits)])
        for tensor, trait in pairs:
            if trait.mixed and (output.numel() >= tensor.numel() or name in ("cumsum", "stack")):
                return trait
        if mixed:
            return _Trait(mixed=mixed)
        if name in ("div", "mul") and len(moving) == 2:
            (_, one), (_, other) = moving
            if (one.raised and other.total) or (name == "mul" and one.total and other.raised):
                features = one.features or other.features
                return self._weights("computes attention by itself, with exponentials", features)
        kept = [trait for tensor, trait in moving if len(floats) == 1 or 2 * tensor.numel() >= output.numel()]
        weights = next((trait for trait in kept if trait.weights), None)
        if weights is not None:
            is_gate = name == "mul" and any(trait.features and not trait.weights for trait in traits)
            return _NOTHING if is_gate else weights  # features under a gate, entry by entry
        return _Trait(
            scores=any(trait.scores or (trait.product and name in _SUMS) for trait in kept),
            product=(name == "mul" and len(moving) == 2 and moving[0][0] is not moving[1][0])
            or any(trait.product for trait in kept if name not in _SUMS),
            raised=name not in _SUMS and any(trait.raised for trait in kept),
            total=any(trait.total or (trait.raised and name in _SUMS) for trait in kept),
            features=max(
                (
                    _features_left(t, x, output)
                    for x, t in moving
                    if _keeps_features(name, len(floats) == 1, x, output)
                ),
                default=0,
            ),
        )

    def _see_sum(self, name: str, mixed: list[Call | None]) -> None:
        """Mixed values are attention once they are summed, at once or one after the other."""
        for call in mixed:
            is_sum = name in _SUMS or (name in ("add", "addcmul") and mixed.count(call) > 1)
            if call and (is_sum or call.is_single):  # the sum over a single key may be left out
                self._found[call] = None

    def _trait(self, tensor: Tensor) -> _Trait:
        trait = _FIXED if isinstance(tensor, nn.Parameter) else self._traits.get(tensor)
        if (trait is None or trait.fixed) and self._memory and tensor.layout is torch.strided:
            trait = self._memory.get(tensor.untyped_storage()._cdata, (None, trait))[1]
        return trait or _NOTHING

    def _give(self, tensors: Iterable[Tensor], trait: _Trait) -> None:
        for each in tensors:
            self._traits[each] = trait

    def _is_ours(self) -> bool:
        return self._foreign("") is None

    def _note(self, what: str) -> None:
        call = self._foreign(what)
        if call is not None:
            self._found[call] = None

    def _foreign(self, what: str) -> Call | None:
        """Who does that; None if we do."""
        line, module = None, None
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code in _OURS:
                return None
            file = frame.f_code.co_filename
            if line is None and not file.startswith(_PASSED_THROUGH):
                line = f"{Path(file).name}:{frame.f_lineno}"
            if module is None and isinstance(owner := frame.f_locals.get("self"), nn.Module):
                module = self._named(owner)
            frame = frame.f_back
        return Call(module or self._model, line or "in compiled code", what)

    def _named(self, module: nn.Module) -> str | None:
        name = self._names.get(id(module))
        return None if name is None else f"{type(module).__name__} {name}".strip()


def is_watched() -> bool:
    """Whether a watch is open."""
    return any(isinstance(mode, AttentionWatch) for mode in _get_current_dispatch_mode_stack())


def _is_attention(namespace: str, name: str) -> bool:
    """By its name; what a library of attention has is taken for attention."""
    if namespace == "semfocus":
        return False
    both = f"{namespace} {name}"
    return "attention" in both or "attn" in both or name == "_transformer_encoder_layer_fwd"


def _keeps_features(name: str, is_alone: bool, tensor: Tensor, output: Tensor) -> bool:
    """Whether the last dimension is still what a linear layer puts out, or some of it."""
    if is_alone and name not in _TRANSPOSITIONS:
        return output.numel() == tensor.numel() or output.shape[:-1] == tensor.shape[:-1]
    return not is_alone and (output.shape == tensor.shape or name == "copy")


def _features_left(trait: _Trait, tensor: Tensor, output: Tensor) -> int:
    """How many numbers of what a linear layer puts out there are, of which somebody may have cut some off."""
    if not trait.features or output.shape[:-1] != tensor.shape[:-1] or output.shape[-1] >= tensor.shape[-1]:
        return trait.features
    return math.ceil(trait.features * output.shape[-1] / tensor.shape[-1])


def _rows(factors: list[Tensor]) -> list[int]:
    """How many numbers of each factor of a matrix product mix the same things of the other; none where
    nothing is summed.
    """
    left, right = factors
    summed = left.shape[-1] if left.dim() > 1 else 1
    columns = right.shape[-1] if right.dim() > 1 else 1
    return [left.shape[-2] * summed, summed * columns] if summed > 1 else [0, 0]


def _mixed(moving: list[tuple[Tensor, _Trait]], output: Tensor) -> Call | None:
    """Weights in a product entry by entry that meet something wider, and if a router's, things that their
    rows share.
    """
    for tensor, trait in moving:
        others = [other for other, _ in moving if other is not tensor]
        if not trait.weights or output.numel() <= _own_size(tensor, None):
            continue
        if any(not trait.features or _own_size(tensor, other) > trait.features for other in others):
            return trait.weights
    return None


def _own_size(tensor: Tensor, other: Tensor | None) -> int:
    """Numbers of a tensor that are not there for broadcasting, or dimensions of it which the other lacks."""
    size = 1
    for dim in range(1, tensor.dim() + 1):
        lacks = other is None or dim > other.dim() or _is_repeated(other, -dim)
        size *= tensor.shape[-dim] if lacks and not _is_repeated(tensor, -dim) else 1
    return size


def _is_repeated(tensor: Tensor, dim: int) -> bool:
    return tensor.shape[dim] == 1 or (tensor.layout is torch.strided and tensor.stride(dim) == 0)


def _name_of(func: Any) -> tuple[str, str]:
    """Namespace and name of an operation, without its overload and without the mark of one that works in place."""
    schema = getattr(func, "_schema", None)
    whole = schema.name if schema is not None else f"aten::{getattr(func, 'name', lambda: str(func))()}"
    namespace, _, name = whole.rpartition("::")
    return namespace, name.rstrip("_")


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))
