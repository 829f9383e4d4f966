"""One layer of a run at a time: the means of its heads, whether the layer does anything, and which one
carries focus.
"""

from collections.abc import Iterable, Sequence

from semfocus.analysis.why.measured_runs import MeasuredRun, Row, When, number_of

#: attention to the tokens that decide, in units of chance: below it a layer carries no focus
CARRIES = 1.5
#: where nobody knows these tokens: a layer whose effective number of keys moves by less than this share does nothing
MOVES = 0.1

HOW_CARRIED = (
    "Of a run that was measured layer by layer, the layer that carries focus after training counts (the most attention on the tokens that decide; where these "
    "are not known, the fewest keys), so that idle layers dilute nothing; of other runs all layers together."
)
HOW_IDLE = (
    f"A layer is idle if no run ever puts {CARRIES:g} times as much attention as chance on the tokens that decide; where these are not "
    f"known, if its effective number of keys changes by less than {MOVES:.0%} in every run."
)


def name_of(layer: int) -> str:
    """Counted from 1."""
    return f"layer {layer + 1}"


def layers_of(run: MeasuredRun, quantity: str) -> list[int]:
    """The layers in which it was measured, of the model's own pattern."""
    return sorted({layer for name, _, layer in run.by_layer if name == quantity})


def epochs_of(run: MeasuredRun, quantity: str) -> set[int]:
    """The epochs at which it was measured layer by layer."""
    return {epoch for name, epoch, _ in run.by_layer if name == quantity}


def layer_value(run: MeasuredRun, quantity: str, epoch: int, layer: int, at: str = "mean") -> float | None:
    """The mean over heads of their means, of a quantile, or of what chance gives (`null`)."""
    return _mean(run.by_layer.get((quantity, epoch, layer), ()), at)


def _mean(rows: Iterable[Row], at: str) -> float | None:
    known = [value for row in rows if (value := number_of(row, at)) is not None]
    return sum(known) / len(known) if known else None


def is_idle(runs: Iterable[MeasuredRun], layer: int) -> bool:
    """Whether a layer does nothing in any of these runs, at any epoch at which it was measured; False where
    nothing is known.
    """
    given = list(runs)
    focus = [
        share
        for run in given
        for epoch in epochs_of(run, "focus_mass")
        if (share := _focus(run, epoch, layer))
    ]
    if focus:
        return max(focus) < CARRIES
    moves = [move for run in given if (move := _moves(run, layer)) is not None]
    return bool(moves) and max(moves) < MOVES


def _focus(run: MeasuredRun, epoch: int, layer: int) -> float | None:
    """In units of chance."""
    mass, chance = (layer_value(run, "focus_mass", epoch, layer, at) for at in ("mean", "null"))
    return mass / chance if mass is not None and chance else None


def _moves(run: MeasuredRun, layer: int) -> float | None:
    """The largest over the smallest effective number of keys along training, less 1."""
    epochs = epochs_of(run, "effective_keys")
    found = [layer_value(run, "effective_keys", epoch, layer) for epoch in epochs]
    known = [value for value in found if value]
    return max(known) / min(known) - 1 if len(known) > 1 else None


def carrying_layer(run: MeasuredRun) -> int | None:
    """The layer of the trained model that carries focus: the most attention on the tokens that decide, where
    they are known, else the fewest keys.

    None for a run that has not ended, or of which nothing is known layer by layer.
    """
    if not run.is_done:
        return None
    for quantity, sign in (("focus_mass", 1), ("effective_keys", -1)):
        layers = layers_of(run, quantity)
        values = {layer: layer_value(run, quantity, run.last_epoch, layer) for layer in layers}
        known = {layer: sign * value for layer, value in values.items() if value is not None}
        if known:
            return max(known, key=lambda layer: known[layer])
    return None


def carried(
    run: MeasuredRun, quantity: str, when: When, at: str = "50", pattern: str | None = None
) -> float | None:
    """The value in the layer that carries focus after training; of all layers together where nothing is known
    layer by layer.
    """
    pooled = run.value(quantity, when, at, pattern)
    layer = carrying_layer(run)
    if layer is None:
        return pooled
    epoch = 0 if when == "start" else run.last_epoch
    rows = run.by_layer if pattern is None else run.rows_by_layer(pattern)
    found = _mean(rows.get((quantity, epoch, layer), ()), at)
    return pooled if found is None else found


def layers_text(runs: Sequence[MeasuredRun]) -> str:
    """`layer 1`, or `layer 1 (4 seeds), layer 2 (1)`: which one carries focus; empty where that is not known."""
    found = [layer for run in runs if (layer := carrying_layer(run)) is not None]
    counts = {layer: found.count(layer) for layer in sorted(set(found))}
    if len(counts) == 1:
        return name_of(found[0])
    most = sorted(counts, key=lambda layer: -counts[layer])
    return ", ".join(f"{name_of(layer)} ({counts[layer]} of {len(found)} seeds)" for layer in most)
