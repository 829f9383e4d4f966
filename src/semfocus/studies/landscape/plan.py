"""What is to be computed around a trained run: its weights at one epoch, some pairs of directions, the Hessian."""

from dataclasses import dataclass

from semfocus.probes.directions import direction_pair, length
from semfocus.runs import RunDirectory
from semfocus.runs.checkpoints import weights_digest
from semfocus.runs.landscape_directory import LandscapeDirectory, landscape_directory
from semfocus.runs.landscape_spec import DataName, GridSpec, HessianSpec
from semfocus.runs.record import read_record
from semfocus.studies.landscape.model_loss import ModelLoss, samples_of
from semfocus.studies.landscape.options import LandscapeOptions
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.replay import model_at

__all__ = ["LandscapeOptions", "PlannedLandscape", "plan_landscape"]


@dataclass(frozen=True)
class PlannedLandscape:
    """The landscapes of one run; `own_loss` is the model's, computed apart, to compare the centres with."""

    run: RunDirectory
    epoch: int
    own_loss: float
    recorded_loss: float | None
    grids: list[LandscapeDirectory]
    hessian: LandscapeDirectory | None
    #: of the run at this epoch, where its record has one
    train_accuracy: float | None = None

    @property
    def places(self) -> list[LandscapeDirectory]:
        return [*self.grids, *([] if self.hessian is None else [self.hessian])]


def plan_landscape(
    run: RunDirectory, options: LandscapeOptions, device: str = "auto", threads: int = 1
) -> PlannedLandscape:
    """Load the model, evaluate it once, and make the directories; doing it again changes nothing."""
    if options.pairs < 1 and not options.hessian:
        raise ValueError(f"pairs must be at least 1 without a Hessian, got {options.pairs}")
    _grid_spec(options, 0, run="", epoch=0, weights="", samples=1, seed=0)  # bad options before any work
    trained = model_at(run, options.epoch)
    spec, weights = trained.spec, trained.model.state_dict()
    samples = samples_of(spec, options.data, options.samples)
    chosen = resolve_device(device)
    with limited_threads(threads):
        own = ModelLoss(trained.model.to(chosen), samples.to(chosen), spec.seed, trained.epoch).own()
    facts = {
        "run": run.name,
        "epoch": trained.epoch,
        "weights": weights_digest(weights),
        "samples": len(samples),
        "seed": spec.seed,
    }
    grids = []
    for pair in range(options.pairs):
        grid = _grid_spec(options, pair, **facts)
        place = landscape_directory(run, grid)
        if not place.exists:
            pair_of = direction_pair(dict(trained.model.named_parameters()), grid.seed, pair, grid.scaling)
            lengths = [length(each) for each in pair_of]
            place.create(grid, spec.model_dump(mode="json"), weights, lengths=lengths)
        grids.append(place)
    hessian = None
    if options.hessian:
        if spec.model.score_gradient != 1:
            raise ValueError(
                f"run {run.name} has score_gradient={spec.model.score_gradient:g}: its gradient is that of no loss, so "
                "there is no Hessian; leave --hessian out"
            )
        wanted = HessianSpec(**facts, data=_data(options), count=options.hessian)  # type: ignore[arg-type]
        hessian = landscape_directory(run, wanted)
        hessian.create(wanted, spec.model_dump(mode="json"), weights)
    losses = f"{options.data}_loss"
    recorded = _recorded(run, trained.epoch, losses) if options.samples is None else None
    accuracy = _recorded(run, trained.epoch, "train_accuracy")
    return PlannedLandscape(run, trained.epoch, own, recorded, grids, hessian, accuracy)


def _grid_spec(options: LandscapeOptions, pair: int, **facts: object) -> GridSpec:
    return GridSpec(
        **facts,  # type: ignore[arg-type]
        data=_data(options),
        points=options.points,
        radius=float(options.radius),
        scaling=options.scaling,  # type: ignore[arg-type]
        pair=pair,
    )


def _data(options: LandscapeOptions) -> DataName:
    return options.data  # type: ignore[return-value]  # checked by the spec


def _recorded(run: RunDirectory, epoch: int, column: str) -> float | None:
    """What the run's own record says of this epoch, where it says something."""
    curve = read_record(run).get("curve") or {}
    values = dict(zip(curve.get("epoch", []), curve.get(column, []), strict=False))
    return values.get(epoch)
