"""`check`: what `apply` did to a model, verified by running it."""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from semfocus.integrations.first_pass import unwatched
from semfocus.integrations.foreign_attention import AttentionWatch
from semfocus.integrations.switch import Snapshot, as_it_came, is_switched
from semfocus.integrations.variations import Inputs, without_labels
from semfocus.mechanisms import Full, capture
from semfocus.mechanisms.dispatch import attention
from semfocus.mechanisms.observation import ambient_attentions, attention_points, refuse_no_model
from semfocus.mechanisms.pattern import PatternByRows
from semfocus.words import count_of

#: how far outputs may be apart, relative to the largest: rounding, through many layers
_HALVES = (torch.float16, torch.bfloat16)
_TOLERANCES = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclass(frozen=True)
class CheckReport:
    """What was found; `tested` and `not_tested` say in words what that rests on."""

    problems: list[str] = field(default_factory=list)
    tested: list[str] = field(default_factory=list)
    not_tested: list[str] = field(default_factory=list)
    #: operations of other libraries, of which nobody can see whether there is attention inside
    cannot_see: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def raise_for_problems(self) -> None:
        """ValueError with all problems, if there is any."""
        if self.problems:
            raise ValueError("; ".join(self.problems))

    def __str__(self) -> str:
        seen = " in what can be seen" if self.cannot_see else ""
        lines = [count_of(len(self.problems), "problem") if self.problems else f"no problem found{seen}"]
        lines += [f"  problem: {each}" for each in self.problems]
        lines += [f"  tested: {each}" for each in self.tested]
        lines += [f"  not tested: {each}" for each in self.not_tested]
        lines += [f"  cannot see inside: {each}" for each in self.cannot_see]
        return "\n".join(lines)


def check(model: nn.Module, *args: Any, **inputs: Any) -> CheckReport:
    """Run a switched model on inputs of yours, and report what is wrong with it.

    All attention that was computed is semfocus's. Its full attention gives what the original model gives, to the
    precision of the type. No layer keeps more keys than its pattern. What the inputs show of these too: a model that
    was causal is causal; padding on the left and on the right changes nothing that it did not change before; a cache
    gives what the whole sequence gives. About twenty forward passes. Mode, patterns, buffers and random numbers are
    as before.

    >>> import semfocus
    >>> encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2)
    >>> applied = semfocus.apply(encoder, "top_k(4)")
    >>> check(encoder, torch.randn(2, 10, 8)).ok
    True
    """
    refuse_no_model(model, "check")
    report = CheckReport()
    with _left_as_it_is(model), unwatched(), _uncompiled():
        _Check(model, Inputs(args, inputs), report).run()
    return report


@dataclass
class _Check:
    model: nn.Module
    inputs: Inputs
    report: CheckReport

    def run(self) -> None:
        watch = AttentionWatch(self.model)
        try:
            self._watch(watch)
            self.model.eval()
            has_traces = self._support()
        except Exception as error:
            with as_it_came(self.model):
                _outputs(self.model, self.inputs)  # what the model itself refuses is no matter of ours
            self.report.problems.append(
                f"the switched model refuses inputs that the original model takes: {error}"
            )
            return
        if not has_traces:
            return
        if not is_switched(self.model) and not ambient_attentions():
            self.report.not_tested.append(
                "whether full attention gives what the original model gives: semfocus.apply was not called"
            )
            return
        if any(each.dtype in _HALVES for each in self.model.parameters()):
            with _in_single_precision(self.model):
                try:
                    self.inputs = self.inputs.in_single_precision()
                    _outputs(self.model, self.inputs)
                except Exception as error:  # out of memory, or types that are written into the code
                    self.report.not_tested.append(f"in single precision, which shows more: {error}")
                else:
                    self._compare()
                    return
        self._compare()

    def _compare(self) -> None:
        """With the model as it came, with itself."""
        self.tolerance = max(
            _TOLERANCES.get(each.dtype, 0.0) for each in (*self.model.parameters(), torch.zeros(()))
        )
        with as_it_came(self.model):
            theirs = {id(point) for _, _, point in attention_points(self.model)}
            expected = _outputs(self.model, self.inputs)
        self._compare_full(self.inputs, expected, theirs)
        inputs = without_labels(self.inputs, self.model)
        self._causality(inputs)
        for side in ("left", "right"):
            self._padding(inputs, side, theirs)
        self._cache(inputs)

    def _watch(self, watch: AttentionWatch) -> None:
        """In the mode it is in, and in evaluation, with and without gradients: each may take another way."""
        modes = [self.model.training] if not self.model.training else [True, False]
        for mode in modes:
            self.model.train(mode)
            for context in (torch.enable_grad, torch.no_grad):
                with context(), watch:
                    self.inputs.given_to(self.model)
        self.report.problems.extend(f"{each}, which is not switched" for each in watch.found)
        self.report.not_tested.extend(
            f"whether {each}: there is a single key to attend to" for each in watch.single
        )
        self.report.cannot_see.extend(watch.unseen)
        self.report.tested.append(
            "whether all attention is switched (every operation of the forward pass was watched)"
        )

    def _support(self) -> bool:
        """Whether there was any attention of ours that can be looked at."""
        points = attention_points(self.model)
        name = type(self.model).__name__
        if not points and not ambient_attentions():
            if _calls_attention(self.model, self.inputs):
                self.report.not_tested.append(f"what {name} computes by calls of semfocus.attention")
            else:
                self.report.problems[:0] = [f"{name} has no attention by semfocus: call semfocus.apply first"]
            return False
        output = _outputs(self.model, self.inputs)
        with capture(self.model) as traces:
            captured = _outputs(self.model, self.inputs)
        if not traces:
            self.report.problems.append(f"{name} computed no attention by semfocus on these inputs")
            return False
        patterns = [getattr(point, "pattern", None) for _, _, point in points]
        around = [getattr(each, "pattern", None) for each in ambient_attentions()[-1:]]
        for trace in traces:
            pattern = patterns[trace.layer] if trace.layer < len(points) else around[0]
            most = pattern.most_kept() if isinstance(pattern, PatternByRows) else None
            kept = int(trace.kept.sum(-1).max())
            if most is not None and kept > most:
                self.report.problems.append(
                    f"layer {trace.layer} ({trace.name}) kept {kept} keys under {pattern}"
                )
        self.report.tested.append("whether a layer keeps more keys than its pattern")
        unused = sorted(set(range(len(points))) - {trace.layer for trace in traces})
        for layer in unused:
            self.report.not_tested.append(f"layer {layer} ({points[layer][0]}): these inputs do not reach it")
        apart = distance(output, captured)
        if apart > max(_TOLERANCES.get(each.dtype, 0.0) for each in (*output, torch.zeros(()))):
            self.report.problems.append(
                f"the output is not that of the attention that was captured (apart by {apart:.2g})"
            )
        return True

    def _compare_full(self, inputs: Inputs, expected: list[Tensor], theirs: set[int], how: str = "") -> None:
        with self._full(theirs):
            found = _outputs(self.model, inputs)
        apart = distance(found, expected, inputs.real())
        if apart > self.tolerance:
            self.report.problems.append(
                f"full attention by semfocus does not give what the original model gives{how}: outputs are apart by "
                f"{apart:.2g} of the largest"
            )
        self.report.tested.append(
            f"whether full attention by semfocus gives what the original model gives{how} (apart by {apart:.1g})"
        )

    @contextmanager
    def _full(self, theirs: set[int]) -> Iterator[None]:
        points: list[Any] = [
            *(point for _, _, point in attention_points(self.model) if id(point) not in theirs),
            *ambient_attentions(),
        ]
        before = [(point, point.pattern, point.inverse_temperature) for point in points]
        for point in points:
            point.pattern, point.inverse_temperature = Full(), 1.0
        try:
            yield
        finally:
            for point, pattern, inverse_temperature in before:
                point.pattern, point.inverse_temperature = pattern, inverse_temperature

    def _causality(self, inputs: Inputs) -> None:
        what = "whether later tokens change earlier outputs"
        changed = inputs.with_halves_changed()
        if changed is None:
            self.report.not_tested.append(f"{what}: the inputs have no sequence of four or more that differ")
            return
        start, earlier, later = changed

        def moved(other: Inputs, part: slice) -> float | None:
            pair = (_outputs(self.model, inputs), _outputs(self.model, other))
            before, after = ([each[:, part] for each in side if _has_length(each, inputs)] for side in pair)
            return distance(after, before) if before else None

        with as_it_came(self.model):
            stock, forward = moved(later, slice(start)), moved(earlier, slice(start, None))
        if stock is None or stock > self.tolerance:
            self.report.not_tested.append(f"{what}: in the original model they do")
            return
        if not forward:
            self.report.not_tested.append(
                f"{what}: neither do earlier ones change later ones; is the batch first?"
            )
            return
        found = moved(later, slice(start))
        assert found is not None
        if found > self.tolerance:
            self.report.problems.append(
                f"it sees the future: later tokens move earlier outputs by {found:.2g} of the largest, and did not before"
            )
        self.report.tested.append(what)

    def _padding(self, inputs: Inputs, side: str, theirs: set[int]) -> None:
        padded = inputs.padded(side, self.model)
        if padded is None:
            self.report.not_tested.append(f"padding on the {side}: only input_ids alone can be padded here")
            return

        def moved() -> float:
            return distance(_real(_outputs(self.model, padded), padded), _outputs(self.model, inputs))

        try:
            with as_it_came(self.model):
                expected = _outputs(self.model, padded)
                stock = moved()
        except Exception as error:
            self.report.not_tested.append(f"padding on the {side}: the original model refuses it ({error})")
            return
        self._compare_full(padded, expected, theirs, f", padded on the {side}")
        if stock > self.tolerance:
            self.report.not_tested.append(
                f"whether padding on the {side} changes outputs: in the original model it does"
            )
            return
        if self._draws():
            self.report.not_tested.append(
                f"whether padding on the {side} changes outputs: keys are drawn at random"
            )
            return
        found = self._unless_refused(moved, f"padding on the {side} changes outputs")
        if found is not None and found > self.tolerance:
            self.report.problems.append(
                f"padding on the {side} moves outputs by {found:.2g} of the largest, and did not before"
            )

    def _cache(self, inputs: Inputs) -> None:
        parts = inputs.in_two(self.model)
        if parts is None:
            self.report.not_tested.append(
                "whether a cache changes outputs: there is none, or the inputs are not input_ids alone"
            )
            return

        def moved() -> float | None:
            first, second = parts
            with torch.no_grad():
                output = first.given_to(self.model)
                cache = getattr(output, "past_key_values", None)
                if cache is None:
                    return None
                rest = second.and_also(past_key_values=cache).given_to(self.model)
            whole = _outputs(self.model, inputs)[0]
            return distance([_tensors(rest)[0]], [whole[:, -_tensors(rest)[0].shape[1] :]])

        try:
            with as_it_came(self.model):
                stock = moved()
        except Exception:
            stock = None
        if stock is None or stock > self.tolerance:
            self.report.not_tested.append(
                "whether a cache changes outputs: the original model has none that does not"
            )
            return
        if self._draws():
            self.report.not_tested.append("whether a cache changes outputs: keys are drawn at random")
            return
        found = self._unless_refused(moved, "a cache changes outputs")
        if found is not None and found > self.tolerance:
            self.report.problems.append(
                f"with a cache, outputs are apart by {found:.2g} of the largest from those without"
            )

    def _draws(self) -> bool:
        """Whether other random numbers give other outputs: for another length they are others."""
        first, second = (_outputs(self.model, self.inputs, seed) for seed in (0, 1))
        return distance(first, second) > self.tolerance

    def _unless_refused(self, moved: Callable[[], float | None], what: str) -> float | None:
        """A refusal is a word, which is all that is asked for."""
        try:
            found = moved()
        except ValueError as error:
            self.report.not_tested.append(f"whether {what}: it is refused ({error})")
            return None
        self.report.tested.append(f"whether {what}")
        return found


def _calls_attention(model: nn.Module, inputs: Inputs) -> bool:
    """Whether its own code calls semfocus.attention."""
    before, met = sys.getprofile(), []

    def look(frame: FrameType, event: str, value: Any) -> None:
        if frame.f_code is attention.__code__:
            met.append(event)

    sys.setprofile(look)
    try:
        _outputs(model, inputs)
    finally:
        sys.setprofile(before)
    return bool(met)


@contextmanager
def _left_as_it_is(model: nn.Module) -> Iterator[None]:
    before = Snapshot(model)
    registered = [(module._buffers, dict(module._buffers)) for module in model.modules()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    devices = sorted({each.device.index or 0 for each in model.parameters() if each.device.type == "cuda"})
    drawn = random.getstate(), numpy.random.get_state()
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(drawn[0])
        numpy.random.set_state(drawn[1])
        before.put_back()
        with torch.no_grad():
            for held, values in registered:
                held.clear()
                held.update(values)
            for buffer, value in buffers:
                buffer.copy_(value)


def _uncompiled() -> AbstractContextManager[Any]:
    """What torch.compile wraps runs as Python, operation by operation; its compiler is slow to load, and is not."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


@contextmanager
def _in_single_precision(model: nn.Module) -> Iterator[None]:
    """Numbers of half precision widened in place, so that its rounding hides nothing; then the same memory again."""
    halves = [(each, each.data) for each in (*model.parameters(), *model.buffers()) if each.dtype in _HALVES]
    try:
        for each, data in halves:
            each.data = data.float()
        yield
    finally:
        for each, data in halves:
            each.data = data


def _outputs(model: nn.Module, inputs: Inputs, seed: int = 0) -> list[Tensor]:
    """With the same random numbers each time: a pattern may draw its keys."""
    torch.manual_seed(seed)
    with torch.no_grad():
        return _tensors(inputs.given_to(model))


def _tensors(output: Any) -> list[Tensor]:
    """The floating-point tensors of what a model returned, without those of its cache."""
    if isinstance(output, Tensor):
        return [output] if output.is_floating_point() else []
    if isinstance(output, dict):
        return [each for key, value in output.items() if key != "past_key_values" for each in _tensors(value)]
    if isinstance(output, tuple | list):
        return [each for value in output for each in _tensors(value)]
    return []


def distance(found: list[Tensor], expected: list[Tensor], real: Tensor | None = None) -> float:
    """The largest difference, relative to the largest number; where the expected is no number, nothing is compared."""
    largest = 0.0
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape:
            return float("inf")
        if real is not None and other.shape[: real.dim()] == real.shape:
            one, other = one[real], other[real]
        there = other.isfinite()
        if there.any():
            scale = float(other[there].abs().max()) or 1.0
            apart = (one[there].double() - other[there].double()).abs().max() / scale
            largest = max(largest, float(apart.nan_to_num(torch.inf)))
    return largest


def _real(outputs: list[Tensor], inputs: Inputs) -> list[Tensor]:
    """Without the places of padding, which are the same in all rows."""
    real = inputs.real()
    assert real is not None
    return [each[:, real[0]] if each.dim() > 1 and each.shape[:2] == real.shape else each for each in outputs]


def _has_length(output: Tensor, inputs: Inputs) -> bool:
    return output.dim() > 1 and output.shape[1] == inputs.length()
