"""A part of a landscape as a job for any process: one row of the grid, or the eigenvalues of the Hessian."""

from dataclasses import asdict, dataclass
from pathlib import Path

from semfocus.probes.directions import direction_pair
from semfocus.probes.hessian import hessian_extremes
from semfocus.probes.loss_grid import losses_along_row
from semfocus.runs import RunSpec
from semfocus.runs.directory import DamagedRun
from semfocus.runs.landscape_directory import LandscapeDirectory
from semfocus.runs.landscape_spec import GridSpec, HessianSpec, grid_axis
from semfocus.studies.job import Message, Tell, failure, load_recipe_of
from semfocus.studies.landscape.model_loss import ModelLoss, samples_of
from semfocus.training import build_model
from semfocus.training.device import limited_threads, numerics_class, resolve_device
from semfocus.training.trained_run import load_weights


@dataclass(frozen=True)
class Part:
    """Plain values only; `run` is how executors call the job, `row` is None for the Hessian.

    The messages are: point (one more is computed), and `ended` with what was found, or `failed`.
    """

    run: str
    place: str
    row: int | None
    device: str
    threads: int
    recipe_file: str | None


class Surveyor:
    """A model with its data and directions at hand: loaded once, used for every part that a process gets."""

    def __init__(self, place: LandscapeDirectory, part: Part) -> None:
        self.spec = place.spec()
        values = place.about()["run_spec"]
        load_recipe_of(values, part.recipe_file, self.spec.run)
        run_spec = RunSpec(**values)
        device = resolve_device(part.device)
        model = build_model(run_spec)
        load_weights(model, place.weights(), f"the centre of landscape {place.name}")
        model.to(device)
        samples = samples_of(run_spec, self.spec.data, self.spec.samples).to(device)
        self.device = device
        self.loss = ModelLoss(model, samples, run_spec.seed, self.spec.epoch)
        self.centre = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
        if isinstance(self.spec, GridSpec):
            self.axis = grid_axis(self.spec.points, self.spec.radius)
            self.directions = direction_pair(self.centre, self.spec.seed, self.spec.pair, self.spec.scaling)

    def row(self, row: int, tell: Tell) -> list[float]:
        losses = []
        for value in losses_along_row(self.loss, self.centre, self.directions, self.axis, self.axis[row]):
            losses.append(value)
            tell({"event": "point"})
        return losses

    def eigenvalues(self, tell: Tell) -> dict[str, object]:
        assert isinstance(self.spec, HessianSpec)
        found = hessian_extremes(
            self.loss.parts,
            self.centre,
            self.spec.count,
            self.spec.seed,
            self.spec.most_products,
            lambda done: tell({"event": "point"}),
        )
        return asdict(found)


_at_hand: dict[tuple[str, str], Surveyor] = {}


def perform_part(part: Part, tell: Tell) -> None:
    """Compute it; whatever goes wrong becomes a message, apart from Ctrl-C."""
    try:
        with limited_threads(part.threads):
            surveyor = _surveyor(part)
            found: Message = {"event": "ended", "numerics": numerics_class(surveyor.device)}
            if part.row is None:
                found["values"] = surveyor.eigenvalues(tell)
            else:
                found["losses"] = surveyor.row(part.row, tell)
    except (ValueError, OSError, DamagedRun) as error:
        tell(failure(error, again=False))
    except Exception as error:
        tell(failure(error, again=True))
    else:
        tell(found)


def _surveyor(part: Part) -> Surveyor:
    """The name of a landscape is the digest of all that decides it, so it says whether the one at hand will do."""
    place = LandscapeDirectory(Path(part.place))
    key = place.name, part.device
    if key not in _at_hand:
        _at_hand.clear()
        _at_hand[key] = Surveyor(place, part)
    return _at_hand[key]
