"""Twin runs: what one training sample changes, kept in the run's directory once computed."""

from typing import Any

from semfocus.runs import RunDirectory, RunSpec, Store
from semfocus.studies.stability_inputs import stability_inputs
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.twins import train_twins

__all__ = ["stability_inputs", "twin_distances"]

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
