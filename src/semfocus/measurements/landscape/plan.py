"""What is to be computed around a trained run: its weights at one epoch, pairs of directions, the Hessian."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

from semfocus.measurements.landscape.grids import Landscape
from semfocus.measurements.landscape.place import (
    DataName,
    GridSpec,
    HessianSpec,
    LandscapeDirectory,
    landscape_directory,
)
from semfocus.model import Classifier
from semfocus.model.evaluation import summed_loss
from semfocus.probes.loss_surface.hessian import LossPart
from semfocus.probes.loss_surface.loss_grid import direction_pair, length
from semfocus.randomness import stream
from semfocus.runs import RunDirectory, RunSpec
from semfocus.runs.checkpoints import weights_digest
from semfocus.runs.record import read_record
from semfocus.tasks import Samples
from semfocus.training import dataset_of, evaluate
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.evaluation import padding_of
from semfocus.training.replay import model_at

#: entries of a matrix of scores held at once for second derivatives, which need all of them, many times over
_SCORES_AT_ONCE = 2**17


class ModelLoss:
    """Calling it evaluates the model as after an epoch of training: in evaluation mode, in the same batches.

    A pattern that is random even then draws the same keys at every point.
    """

    def __init__(self, model: Classifier, samples: Samples, seed: int, epoch: int) -> None:
        if len(samples) == 0:
            raise ValueError("there is no sample to compute a loss on")
        self.model = model.eval()
        self.samples = samples
        self.seed, self.epoch = seed, epoch

    @torch.no_grad()
    def __call__(self, parameters: Mapping[str, Tensor]) -> float:
        """The weights are swapped in place: a point costs one evaluation and a copy of the weights."""
        for name, parameter in self.model.named_parameters():
            parameter.copy_(parameters[name])
        return self.own()

    def own(self) -> float:
        """The loss of the model as it is."""
        return evaluate(self.model, self.samples, self.seed, self.epoch).loss

    def parts(self) -> Iterator[LossPart]:
        """The loss as a sum over batches, small enough for second derivatives."""
        model, padding = self.model, padding_of(self.samples)
        length = self.samples.tokens.shape[1]
        batch_size = max(1, _SCORES_AT_ONCE // (length**2 * model.config.num_heads))
        for batch, rows in enumerate(torch.arange(len(self.samples)).split(batch_size)):

            def part(parameters: Mapping[str, Tensor], batch: int = batch, rows: Tensor = rows) -> Tensor:
                real = None if padding is None else padding[rows]
                generator = stream(self.seed, f"evaluation/{batch}", self.epoch)
                inputs = (self.samples.tokens[rows], real)
                logits = functional_call(model, dict(parameters), inputs, {"generator": generator})
                total = summed_loss(logits, self.samples.labels[rows])
                return total / len(self.samples)

            yield part


def samples_of(spec: RunSpec, data: str, num: int | None) -> Samples:
    """The first `num` training or held-out samples of a run; all of them by default."""
    if data not in ("train", "held_out"):
        raise ValueError(f"data must be train or held_out, got {data!r}")
    dataset = dataset_of(spec)
    found = dataset.train if data == "train" else dataset.held_out
    if num is None:
        num = len(found)
    if not 1 <= num <= len(found):
        raise ValueError(f"samples must be from 1 to {len(found)}, the {data} samples of the run; got {num}")
    return Samples(found.tokens[:num], found.labels[:num], found.real[:num])


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
    run: RunDirectory, options: Landscape, device: str = "auto", threads: int = 1
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
        model = spec.model
        for name in ("score_gradient", "match_entropy", "match_dispersion"):
            if getattr(model, name) != type(model).model_fields[name].default:
                raise ValueError(
                    f"run {run.name} has {name}={getattr(model, name)}: its gradient is that of no loss, so "
                    "there is no Hessian; leave --hessian out"
                )
        wanted = HessianSpec(**facts, data=_data(options), count=options.hessian)  # type: ignore[arg-type]
        hessian = landscape_directory(run, wanted)
        hessian.create(wanted, spec.model_dump(mode="json"), weights)
    losses = f"{options.data}_loss"
    recorded = _recorded(run, trained.epoch, losses) if options.samples is None else None
    accuracy = _recorded(run, trained.epoch, "train_accuracy")
    return PlannedLandscape(run, trained.epoch, own, recorded, grids, hessian, accuracy)


def _grid_spec(options: Landscape, pair: int, **facts: object) -> GridSpec:
    return GridSpec(
        **facts,  # type: ignore[arg-type]
        data=_data(options),
        points=options.points,
        radius=float(options.radius),
        scaling=options.scaling,  # type: ignore[arg-type]
        pair=pair,
    )


def _data(options: Landscape) -> DataName:
    return options.data  # type: ignore[return-value]  # checked by the spec


def _recorded(run: RunDirectory, epoch: int, column: str) -> float | None:
    """What the run's own record says of this epoch, where it says something."""
    curve = read_record(run).get("curve") or {}
    values = dict(zip(curve.get("epoch", []), curve.get(column, []), strict=False))
    return values.get(epoch)
