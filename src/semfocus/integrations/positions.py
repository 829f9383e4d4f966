"""Patterns that count positions, refused where an attention has none or padding moves them."""

from torch import Tensor

from semfocus.mechanisms import Banded, Full, InputAgnostic, Pattern, Random, WithGlobals


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
