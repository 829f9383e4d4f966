"""Twin runs: what one training sample changes, kept in the run's directory once computed."""

from collections.abc import Mapping
from typing import Any

from semfocus.runs import RunDirectory, RunSpec, Store
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.twins import train_twins

#: seconds to wait for another process that adds a twin of its own
_PATIENCE = 10.0

Twins = dict[str, Any]


def twin_distances(
    spec: RunSpec, store: Store, *, replaced: int = 0, device: str = "auto", threads: int = 1
) -> Twins:
    """How far the run of this spec and the same with one sample replaced get from each other, epoch by epoch.

    Read if it is known; else both are trained side by side, from the start to the epoch limit. A process that is stopped loses the pair at
    hand and no other.
    """
    directory = store.directory(spec)
    known = _known(directory)
    if replaced not in known:
        with limited_threads(threads):
            found, _, _ = train_twins(spec, replaced, resolve_device(device))
        known[replaced] = found.as_values()
        directory.create(spec.model_dump(mode="json"))
        with directory.owned(_PATIENCE):
            both = _known(directory) | known  # another process may have added some meanwhile
            directory.write_twins([both[key] for key in sorted(both)])
    return known[replaced]


def _known(directory: RunDirectory) -> dict[int, Twins]:
    return {each["replaced"]: each for each in directory.twins()}


def stability_inputs(twins: Mapping[str, Any]) -> dict[str, Any]:
    """What was observed, under the names that `theory.stability_schedule` gives to what should be known.

    The theory wants upper bounds for all weights and samples; these are the largest values on two paths. A bound computed
    from them is a guide, not a guarantee (cross-entropy has no upper limit, ReLU and top-k no second derivative).
    """
    return {
        "steps": [rate for rate in twins["learning_rates"] for _ in range(twins["steps_per_epoch"])],
        "L_grad": twins["largest_gradient"],
        "L_pair": twins["largest_loss_ratio"],
        "beta": twins["largest_gradient_ratio"],
        "n": twins["num_train"],
        "M": twins["largest_loss"],
        "batch": twins["batch_size"],
    }
