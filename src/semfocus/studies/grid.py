"""A study is a list of specs; `grid` writes the list."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.runs import RunSpec


def grid(base: Mapping[str, Any], **axes: Sequence[Any]) -> "list[RunSpec]":
    """One spec for every combination of the axes; `model__num_blocks=[3, 5]` reaches into `model`.

    A misspelt axis is an error, because RunSpec refuses unknown keys; so is an empty one, and one that
    gives the same run twice.

    >>> specs = grid({"task": "parity"}, pattern=["full", "top_k(5)"], seed=[0, 1])
    >>> [(spec.pattern, spec.seed) for spec in specs]
    [('full', 0), ('full', 1), ('top_k(5)', 0), ('top_k(5)', 1)]
    """
    from semfocus.runs import RunSpec  # torch: seconds

    for axis, values in axes.items():
        if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
            raise ValueError(f"axis {axis} must be a list of values, got {values!r}")
        if not values:
            raise ValueError(f"axis {axis} is empty: the grid would have no runs")
    specs = []
    for values in product(*axes.values()):
        spec: dict[str, Any] = {
            key: dict(value) if isinstance(value, Mapping) else value for key, value in base.items()
        }
        for axis, value in zip(axes, values, strict=True):
            put(spec, axis.split("__"), value)
        specs.append(RunSpec(**spec))
    refuse_repeats(specs)
    return specs


def refuse_repeats(specs: "Sequence[RunSpec]") -> None:
    """A run that is listed twice is a mistake in the list: it would count as two seeds."""
    times = Counter(spec.digest for spec in specs)
    repeated = [spec for spec in specs if times[spec.digest] > 1]
    if repeated:
        spec, num = repeated[0], len(specs) - len(times)
        raise ValueError(
            f"{count_of(num, 'run')} {'is' if num == 1 else 'are'} listed more than once, the first is "
            f"{spec.task} {spec.pattern} seed {spec.seed}"
        )


def put(spec: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a nested value: put(spec, ["model", "num_blocks"], 3)."""
    *parents, last = path
    for parent in parents:
        inner = spec.get(parent, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{'.'.join(path)}: {parent} has no fields")
        spec[parent] = dict(inner)
        spec = spec[parent]
    spec[last] = value
