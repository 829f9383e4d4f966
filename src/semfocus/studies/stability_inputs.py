"""From what twin runs showed to what the theory of stability asks for."""

from collections.abc import Mapping, Sequence
from typing import Any


def stability_inputs(twins: Mapping[str, Any]) -> dict[str, Any]:
    """What was observed, under the names that `theory.stability_schedule` gives to what should be known.

    The theory wants upper bounds for all weights and samples; these are the largest values on two paths, the gradient that of
    the replaced sample alone, before clipping. A bound computed from them is a guide, not a guarantee (cross-entropy has no
    upper limit, ReLU and top-k no second derivative). It is about plain gradient steps of one size: other runs are refused.
    """
    if not twins["is_plain_descent"]:
        raise ValueError("the bound is about gradient steps of one size for all parameters")
    return {
        "steps": [rate for rate in twins["learning_rates"] for _ in range(twins["steps_per_epoch"])],
        "L_grad": twins["largest_sample_gradient"],
        "L_pair": twins["largest_loss_ratio"],
        "beta": twins["largest_gradient_ratio"],
        "n": twins["num_train"],
        "M": twins["largest_loss"],
        "batch": twins["batch_size"],
    }


def stability_guide(twins: Mapping[str, Any]) -> float | None:
    """`theory.stability_schedule` with observed numbers, as a share of the largest loss seen: 1 says nothing at all.

    None where the twins lack a number that it needs.
    """
    from semfocus.theory import stability_schedule

    try:
        inputs = stability_inputs(twins)
        bound, _ = stability_schedule(**inputs)
        return bound / inputs["M"]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def stability_along(twins: Mapping[str, Any], epochs: Sequence[int]) -> list[float | None]:
    """The guide after each of these epochs, with the numbers of the whole training; None before the first step."""
    return [
        stability_guide({**twins, "learning_rates": twins.get("learning_rates", ())[:epoch]})
        if epoch
        else None
        for epoch in epochs
    ]
