"""Watching a forward pass, operation by operation, for attention that is not ours."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from semfocus.kernels.onlookers import SilentMode
from semfocus.mechanisms.dispatch import attention
from semfocus.mechanisms.observation import attend_at

_SOFTMAX = {"softmax", "_softmax", "_safe_softmax", "log_softmax", "_log_softmax", "_masked_softmax"}
#: what makes weights of scores where somebody writes the softmax out
_EXPONENTIALS = {"exp", "exp2", "sigmoid"}
_PRODUCTS = {
    *("mm", "bmm", "addmm", "baddbmm", "addbmm", "matmul", "linear", "mv", "addmv", "dot", "vdot", "inner"),
    *("einsum", "tensordot", "_trilinear", "bilinear", "chain_matmul", "linalg_multi_dot", "_grouped_mm"),
}
_TRANSPOSITIONS = {
    "t",
    "transpose",
    "permute",
    "movedim",
    "swapaxes",
    "swapdims",
    "moveaxis",
    "mT",
    "numpy_T",
}
_CUTS = {
    "slice",
    "narrow",
    "split",
    "split_with_sizes",
    "chunk",
    "unsafe_split",
    "unsafe_chunk",
    "tensor_split",
}
_SUMS = {"sum", "mean", "nansum"}
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
    """Attention that somebody else computes: the module, the line of its code, and what it does there."""

    module: str
    line: str
    what: str

    def __str__(self) -> str:
        return f"{self.module} ({self.line}) {self.what}"


@dataclass(frozen=True)
class _Trait:
    """What is known of a tensor.

    `fixed`: it follows from parameters and buffers alone. `scores`: a product of two tensors that both depend on the
    input. `features`: its last dimension is what a linear layer puts out. `weights`: where a softmax was taken.
    `mixed`: weights times something wider, which a sum makes attention.
    """

    fixed: bool = False
    scores: bool = False
    features: bool = False
    weights: Call | None = None
    mixed: Call | None = None


_NOTHING, _FIXED = _Trait(), _Trait(fixed=True)


class AttentionWatch(TorchDispatchMode, SilentMode):
    """While open: `found` gets every attention function that is not ours, and every softmax that enters a matrix product.

    A softmax counts if its result, masked, scaled, dropped or moved, is multiplied with a tensor that depends on the
    input. A softmax over what a linear layer puts out is none: routers of experts and hyper-connections have no scores
    of queries and keys. `unseen` gets operations of other libraries, whose insides nobody can watch from here.
    """

    supports_higher_order_operators = True

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._names = {id(module): name for name, module in model.named_modules()}
        self._model = type(model).__name__
        self._traits: Any = WeakTensorKeyDictionary()
        for buffer in model.buffers():
            self._traits[buffer] = _FIXED
        #: by memory, which is held so that nobody else gets it meanwhile
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
        return list(self._found)

    @property
    def unseen(self) -> list[str]:
        return list(self._unseen)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        self._see(func, args, list(_tensors((args, kwargs))), list(_tensors(output)))
        return output

    def _see(self, func: Any, args: tuple[Any, ...], inputs: list[Tensor], outputs: list[Tensor]) -> None:
        namespace, name = _name_of(func)
        if "attention" in name or name == "_transformer_encoder_layer_fwd":
            if namespace != "semfocus":
                self._note(f"calls {name}")
        elif namespace not in _KNOWN:
            if any(each.is_floating_point() and each.dim() > 1 for each in inputs):
                self._unseen[f"{namespace}::{name}"] = None
        elif name in _SOFTMAX:
            self._see_softmax(args, outputs)
        elif name in _PRODUCTS:
            self._see_product(name, inputs, outputs)
        else:
            self._pass_on(name, inputs, outputs)

    def _see_softmax(self, args: tuple[Any, ...], outputs: list[Tensor]) -> None:
        trait = self._trait(args[0])
        dim = next((each for each in args[1:] if isinstance(each, int)), -1)
        if not (trait.features and dim in (-1, args[0].dim() - 1)):
            call = self._foreign("computes attention by itself, with a softmax")
            self._give(outputs, _Trait(weights=call, scores=trait.scores))

    def _see_product(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        floats = [each for each in inputs if each.is_floating_point()]
        factors = [self._trait(each) for each in floats]
        moving = [each for each in factors if not each.fixed]
        weights = [each for each in moving if each.weights]
        if len(moving) > 1:
            for each in weights:
                self._found[each.weights] = None  # type: ignore[index]
            self._give(outputs, _Trait(scores=True))
        elif not moving:
            self._give(outputs, _FIXED)
        elif weights and outputs[0].numel() == max(each.numel() for each in inputs):
            self._give(outputs, weights[0])  # such as a mixture of the heads
        elif outputs[0].shape[-1:] != (1,) and _right(name, factors).fixed:
            self._give(outputs, _Trait(features=True))

    def _pass_on(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> None:
        """Weights and scores stay what they are while they are masked, scaled, cast, cut, padded or moved."""
        floats = [each for each in inputs if each.is_floating_point()]
        traits = [self._trait(each) for each in floats]
        if inputs and all(
            self._trait(each).fixed for each in inputs
        ):  # an embedding is not: it depends on ids
            self._give(outputs, _FIXED)
            return
        for output in outputs:
            if output.is_floating_point():
                trait = self._of_output(name, floats, traits, output)
                if trait != _NOTHING:
                    self._traits[output] = trait
                    if any(output is each for each in inputs):  # written into a tensor, perhaps a part of it
                        self._memory[output.untyped_storage()._cdata] = output.untyped_storage(), trait

    def _of_output(self, name: str, floats: list[Tensor], traits: list[_Trait], output: Tensor) -> _Trait:
        weights = scores = features = None
        for tensor, trait in zip(floats, traits, strict=True):
            if trait.mixed and name in _SUMS:
                self._found[trait.mixed] = None
            if trait.mixed and output.numel() >= tensor.numel():
                return trait
            keeps = len(floats) == 1 or 2 * tensor.numel() >= output.numel()
            if trait.weights and keeps:
                weights = trait
            elif trait.weights and trait.scores and name == "mul":
                return _Trait(mixed=trait.weights)
            elif trait.scores:
                scores = trait
            elif trait.features and _keeps_features(name, len(floats) == 1, tensor, output):
                features = trait
        if weights is not None and name == "mul" and any(trait.features for trait in traits):
            return _NOTHING  # features under a gate, entry by entry
        if weights is None and scores is not None and name in _EXPONENTIALS:
            call = self._foreign("computes attention by itself, with exponentials")
            return _Trait(weights=call, scores=True) if call else _NOTHING
        return weights or scores or features or _NOTHING

    def _trait(self, tensor: Tensor) -> _Trait:
        if isinstance(tensor, nn.Parameter):
            return _FIXED
        trait = self._traits.get(tensor)
        if trait is None and self._memory and tensor.layout is torch.strided:
            trait = self._memory.get(tensor.untyped_storage()._cdata, (None, None))[1]
        return trait or _NOTHING

    def _give(self, tensors: Iterable[Tensor], trait: _Trait) -> None:
        for each in tensors:
            self._traits[each] = trait

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


def _keeps_features(name: str, is_alone: bool, tensor: Tensor, output: Tensor) -> bool:
    """Whether the last dimension is still what a linear layer puts out."""
    if is_alone:
        return name in _CUTS or (output.numel() == tensor.numel() and name not in _TRANSPOSITIONS)
    return output.shape == tensor.shape or name == "copy"


def _right(name: str, factors: list[_Trait]) -> _Trait:
    """The right factor of a product, whose columns become the last dimension."""
    if name == "linear":
        return factors[1]
    return factors[2 if name in ("addmm", "baddbmm", "addbmm") and len(factors) > 2 else -1]


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
