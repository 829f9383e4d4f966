"""The arms that recipes compare: patterns, some of them at a higher inverse temperature or with a control."""

from collections.abc import Mapping, Sequence
from typing import Any

from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS
from semfocus.studies import grid
from semfocus.studies.selection import read_arm

#: full attention, sharper full attention, fixed patterns, heavy hitters
ARMS = ("full", "full x4", "full x10", "banded(5)", "block_local(5)", "banded(5)+G1", "top_k(5)")
#: what their studies are about: top-k first, then whether sharper scores do as well, then the fixed patterns
CONTRASTS = (
    ("top_k(5)", "full"),
    ("full x4", "top_k(5)"),
    ("full x4", "full"),
    ("full x10", "full"),
    ("banded(5)", "full"),
    ("block_local(5)", "full"),
)
#: one of each kind, for recipes that vary something else as well
FEW_ARMS = ("full", "full x4", "banded(5)", "top_k(5)")
#: the paper's ablations compare two; sharper full attention is the baseline that the paper lacks
ABLATION_ARMS = ("full", "full x4", "top_k(5)")


def compare(
    base: Mapping[str, Any],
    arms: Sequence[str],
    seeds: Sequence[int] = PAPER_SEEDS,
    **axes: Sequence[Any],
) -> list[RunSpec]:
    """Every arm on every seed and combination of the axes, all arms of a seed next to each other.

    A study that is stopped halfway has then compared something.
    """
    columns = []
    for arm in arms:
        pattern, settings = read_arm(arm)
        own = {key.replace(".", "__"): [value] for key, value in settings.items()}
        columns.append(grid(base, **axes, **own, pattern=[pattern], seed=seeds))
    return [spec for row in zip(*columns, strict=True) for spec in row]
