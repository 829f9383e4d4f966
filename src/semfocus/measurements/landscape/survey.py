"""Computing one part of a landscape: the model with its data and directions is loaded once per process."""

from dataclasses import asdict
from typing import Any

from semfocus.measurements.landscape.place import GridSpec, HessianSpec, LandscapeDirectory, grid_axis
from semfocus.measurements.landscape.plan import ModelLoss, samples_of
from semfocus.measurements.measurement import Notify
from semfocus.probes.loss_surface.hessian import hessian_extremes
from semfocus.probes.loss_surface.loss_grid import direction_pair, losses_along_row
from semfocus.runs import RunSpec
from semfocus.training import build_model
from semfocus.training.device import limited_threads, numerics_class, resolve_device
from semfocus.training.trained_run import attend_as_after, load_weights


class Surveyor:
    """A model with its data and directions at hand, for every part that a process gets."""

    def __init__(self, place: LandscapeDirectory, device: str) -> None:
        self.spec = place.spec()
        run_spec = RunSpec(**place.about()["run_spec"])
        self.device = resolve_device(device)
        model = build_model(run_spec)
        load_weights(model, place.weights(), f"the centre of landscape {place.name}")
        attend_as_after(model, run_spec, self.spec.epoch)
        model.to(self.device)
        samples = samples_of(run_spec, self.spec.data, self.spec.samples).to(self.device)
        self.loss = ModelLoss(model, samples, run_spec.seed, self.spec.epoch)
        self.centre = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
        if isinstance(self.spec, GridSpec):
            self.axis = grid_axis(self.spec.points, self.spec.radius)
            self.directions = direction_pair(self.centre, self.spec.seed, self.spec.pair, self.spec.scaling)

    def row(self, row: int, notify: Notify) -> list[float]:
        losses = []
        for value in losses_along_row(self.loss, self.centre, self.directions, self.axis, self.axis[row]):
            losses.append(value)
            notify({"event": "point"})
        return losses

    def eigenvalues(self, notify: Notify) -> dict[str, object]:
        assert isinstance(self.spec, HessianSpec)
        found = hessian_extremes(
            self.loss.parts,
            self.centre,
            self.spec.count,
            self.spec.seed,
            self.spec.most_products,
            lambda done: notify({"event": "point"}),
        )
        return asdict(found)


_at_hand: dict[tuple[str, str], Surveyor] = {}


def surveyed(
    place: LandscapeDirectory, row: int | None, device: str, threads: int, notify: Notify
) -> dict[str, Any]:
    """The losses of a row, or the eigenvalues, with the numerics class that gave them."""
    with limited_threads(threads):
        surveyor = _surveyor(place, device)
        numerics = numerics_class(surveyor.device)
        if row is None:
            return {"numerics": numerics, "values": surveyor.eigenvalues(notify)}
        return {"numerics": numerics, "losses": surveyor.row(row, notify)}


def _surveyor(place: LandscapeDirectory, device: str) -> Surveyor:
    """The name of a landscape is the digest of all that decides it, so it says whether the one at hand will do."""
    key = place.name, device
    if key not in _at_hand:
        _at_hand.clear()
        _at_hand[key] = Surveyor(place, device)
    return _at_hand[key]
