"""Two runs that differ in one training sample, trained side by side: how far apart they get."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from semfocus.model import Classifier, parameter_group
from semfocus.model.evaluation import mean_loss
from semfocus.randomness import stream
from semfocus.runs import RunSpec
from semfocus.settings import GroupFactors
from semfocus.tasks import Dataset
from semfocus.training.evaluation import padding_of, sample_losses
from semfocus.training.loop import Diverged, batches_of, noise_of, put_in_force, training_step
from semfocus.training.optimiser import build_optimiser
from semfocus.training.runner import build_model, dataset_of


@dataclass
class TwinDistances:
    """One row per epoch, and the largest values seen, which `theory.stability_schedule` asks for.

    Observed, not bounds: `largest_gradient` is the norm of a batch's gradient before clipping,
    `largest_sample_gradient` that of the replaced sample alone, in either of both, before a step that uses
    it; `largest_loss_ratio` that of |loss difference of a sample| / parameter distance,
    `largest_gradient_ratio` that of the difference of the (clipped) gradients of both on one batch /
    parameter distance, `largest_loss` that of one sample.
    """

    replaced: int
    num_train: int
    batch_size: int
    steps_per_epoch: int
    learning_rates: list[float] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    #: whether a step is the gradient times one rate, for all parameters the same
    is_plain_descent: bool = True
    largest_gradient: float = 0.0
    largest_sample_gradient: float = 0.0
    largest_loss_ratio: float = 0.0
    largest_gradient_ratio: float = 0.0
    largest_loss: float = 0.0
    diverged: str | None = None

    def as_values(self) -> dict[str, Any]:
        """Plain values for a file."""
        return asdict(self)


class Twin:
    """One of the two: its model, its data, its steps."""

    def __init__(self, spec: RunSpec, device: torch.device) -> None:
        self.spec = spec
        data = dataset_of(spec)
        self.data = Dataset(data.train.to(device), data.held_out.to(device), data.overlap)
        self.model: Classifier = build_model(spec).to(device)
        self.optimiser = build_optimiser(self.model, spec.training)
        self.padding = padding_of(self.data.train)

    def put_in_force(self, epoch: int, steps: int) -> float:
        """As in `train`; returns the rate."""
        return put_in_force(self.model, self.optimiser, self.spec.training, epoch, steps)

    def step(self, rows: Tensor, noise: torch.Generator) -> float:
        """As in `train`; returns the norm of the gradient."""
        settings = self.spec.training
        step = training_step(self.model, self.optimiser, self.data.train, self.padding, rows, settings, noise)
        return float(step.norm)

    def sample_gradient(self, row: int, epoch: int) -> float:
        """The norm of the gradient of one sample; the step that follows sees neither it nor its random numbers."""
        rows = torch.tensor([row], device=self.data.train.tokens.device)
        padding = None if self.padding is None else self.padding[rows]
        noise = stream(self.spec.seed, "gradient of a twin's sample", epoch)
        logits = self.model(self.data.train.tokens[rows], padding, generator=noise)
        loss = mean_loss(logits, self.data.train.labels[rows])
        found = torch.autograd.grad(loss, list(self.model.parameters()), allow_unused=True)
        return float(nn.utils.get_total_norm([each for each in found if each is not None]))

    def gradients(self) -> list[Tensor]:
        return [each.grad for each in self.model.parameters() if each.grad is not None]


def train_twins(spec: RunSpec, replaced: int, device: torch.device) -> tuple[TwinDistances, Twin, Twin]:
    """Train the run of a spec and the same with one sample replaced, step by step with the same order and noise.

    Both are the runs of their specs, bit for bit. Losses are compared on the samples of the first.
    """
    if spec.pretraining is not None:
        raise ValueError("twins start untrained; this run starts from a pre-trained one")
    if spec.training.replace_sample is not None:
        raise ValueError(
            f"the twin of a run is made from the run itself, got one with replace_sample={spec.training.replace_sample}"
        )
    training = spec.training.model_dump() | {"replace_sample": replaced}
    first, second = (
        Twin(each, device) for each in (spec, RunSpec(**spec.model_dump() | {"training": training}))
    )
    settings = spec.training
    batches = batches_of(first.data.train, settings, spec.seed, 0)
    seen = TwinDistances(replaced, len(first.data.train), settings.batch_size, len(batches))
    factors = set(settings.learning_rate_scale.model_dump().values())
    seen.is_plain_descent = settings.optimiser == "sgd" and not settings.momentum and factors == {1.0}
    try:
        for epoch in range(settings.epochs + 1):
            before = max(epoch - 1, 0) * len(batches)
            rates = [each.put_in_force(epoch, before) for each in (first, second)]
            if epoch > 0:
                seen.learning_rates.append(rates[0])
                _train_epoch(first, second, epoch, seen)
            _compare(first, second, epoch, seen)
    except Diverged as error:
        seen.diverged = str(error)
    return seen, first, second


def _train_epoch(first: Twin, second: Twin, epoch: int, seen: TwinDistances) -> None:
    seed = first.spec.seed
    batches = batches_of(first.data.train, first.spec.training, seed, epoch)
    first.model.train()
    second.model.train()
    for index, rows in enumerate(batches):
        before = _distance(_weights(first), _weights(second))
        uses_it = bool((rows == seen.replaced).any())
        if uses_it:
            norms = [each.sample_gradient(seen.replaced, epoch) for each in (first, second)]
            seen.largest_sample_gradient = max(seen.largest_sample_gradient, *norms)
        norms = [each.step(rows, noise_of(seed, epoch, index, len(batches))) for each in (first, second)]
        for each in (first, second):
            each.put_in_force(epoch, (epoch - 1) * len(batches) + index + 1)
        seen.largest_gradient = max(seen.largest_gradient, *norms)
        if before > 0 and not uses_it:  # else the batches differ, not only the weights
            ratio = _distance(first.gradients(), second.gradients()) / before
            seen.largest_gradient_ratio = max(seen.largest_gradient_ratio, ratio)


def _compare(first: Twin, second: Twin, epoch: int, seen: TwinDistances) -> None:
    """One more row: distances of parameters and of losses after an epoch."""
    distance = _distance(_weights(first), _weights(second))
    size = _distance(_weights(first), [torch.zeros_like(each) for each in _weights(first)])
    differences = {}
    for name, samples in (("train", first.data.train), ("held_out", first.data.held_out)):
        losses = [sample_losses(each.model, samples, each.spec.seed, epoch) for each in (first, second)]
        if not torch.stack(losses).isfinite().all():
            raise Diverged(f"a loss after epoch {epoch} is not finite")
        seen.largest_loss = max(seen.largest_loss, float(torch.stack(losses).max()))
        differences[name] = (losses[0] - losses[1]).abs()
    largest = max(float(each.max()) for each in differences.values())
    if distance > 0:
        seen.largest_loss_ratio = max(seen.largest_loss_ratio, largest / distance)
    seen.rows.append(
        {
            "epoch": epoch,
            "distance": distance,
            "relative_distance": distance / size,
            "groups": _by_group(first, second),
            "train_loss": float(differences["train"].mean()),
            "held_out_loss": float(differences["held_out"].mean()),
            "largest_loss": largest,
            "replaced_loss": float(differences["train"][seen.replaced]),
        }
    )


def _by_group(first: Twin, second: Twin) -> dict[str, float]:
    """The distance in each group of parameters alone."""
    found = {}
    for group in GroupFactors.model_fields:
        own = [
            [each for name, each in twin.model.named_parameters() if parameter_group(name) == group]
            for twin in (first, second)
        ]
        found[group] = _distance(own[0], own[1])
    return found


def _weights(twin: Twin) -> list[Tensor]:
    return list(twin.model.parameters())


def _distance(first: Sequence[Tensor], second: Sequence[Tensor]) -> float:
    """Euclidean, of all tensors as one vector."""
    differences = [one.detach() - other.detach() for one, other in zip(first, second, strict=True)]
    return float(nn.utils.get_total_norm(differences, foreach=True))
