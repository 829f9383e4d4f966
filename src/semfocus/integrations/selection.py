"""Which pattern each attention layer gets, and where one that counts positions is refused."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor

from semfocus.mechanisms import Banded, Full, InputAgnostic, Pattern, Random, WithGlobals, parse_pattern

Layers = Iterable[int] | Mapping[int, Pattern | str] | None


def patterns_of_layers(pattern: Pattern | str | None, layers: Layers, number: int) -> list[Pattern | None]:
    """One entry a layer; None where nothing is to be switched."""
    if isinstance(layers, Mapping):
        if pattern is not None:
            raise ValueError("give one pattern, or layers={number: pattern}, not both")
        chosen = {_number(layer, number): as_pattern(each) for layer, each in layers.items()}
    else:
        if pattern is None:
            raise ValueError("layers without a pattern: give one, or layers={number: pattern}")
        one = as_pattern(pattern)
        numbers = range(number) if layers is None else _numbers(layers)
        chosen = {_number(layer, number): one for layer in numbers}
    if not chosen:
        raise ValueError("layers names no layer")
    return [chosen.get(layer) for layer in range(number)]


def as_pattern(value: Any) -> Pattern:
    """A pattern, or the one that a text writes."""
    if isinstance(value, str):
        return parse_pattern(value)
    if not isinstance(value, Pattern):
        raise ValueError(f"pattern must be a Pattern such as TopK(5) or its text, got {value!r}")
    return value


def checked_inverse_temperature(value: Any) -> float:
    """A positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"inverse_temperature must be a positive number, got {value!r}")
    return float(value)


def _numbers(layers: Any) -> Iterable[Any]:
    if not isinstance(layers, Iterable):
        raise ValueError(f"layers must be numbers such as [0, 2], or {{number: pattern}}, got {layers!r}")
    return layers


def _number(layer: Any, number: int) -> int:
    if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer < number:
        raise ValueError(f"layers are numbered 0 to {number - 1} in this model, got {layer!r}")
    return layer


def counts_positions(pattern: Pattern) -> bool:
    """Whether it matters to a pattern where queries and keys stand."""
    if isinstance(pattern, Random):
        return pattern.fixed
    return isinstance(pattern, InputAgnostic | WithGlobals) and not isinstance(pattern, Full)


def needs_places(pattern: Pattern) -> bool:
    """Whether a pattern asks for more than distances, so that a cache must hold every key at its own place.

    (Banded does not: under a causal mask it is a window over the last allowed keys, wherever they are kept.)
    """
    return counts_positions(pattern) and not isinstance(pattern, Banded)


def refuse_padding(pattern: Pattern, there: Tensor) -> None:
    """`there` (..., Lk), bool: the keys that are no padding. Padding must not stand where a pattern counts from."""
    base = pattern.base if isinstance(pattern, WithGlobals) else pattern
    if needs_places(base) and not there[..., 0].all():
        raise ValueError(
            f"{pattern} counts positions from the first key, which is masked in this batch: pad on the right, "
            "and do not pack sequences"
        )
    if isinstance(pattern, WithGlobals) and not there[..., -pattern.num_globals :].all():
        raise ValueError(
            f"the global tokens of {pattern} are the last positions, which are padding in this batch: "
            "pad on the left, or give sequences of one length"
        )
