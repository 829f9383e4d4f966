"""The training loop: it knows no probe and no file, only observers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from semfocus.model import Classifier
from semfocus.model.evaluation import mean_loss
from semfocus.randomness import stream
from semfocus.runs import TrainingSettings
from semfocus.tasks import Dataset, Samples
from semfocus.training.device import keep_freed_memory
from semfocus.training.evaluation import evaluate, padding_of
from semfocus.training.observers import EpochResult, Observer
from semfocus.training.optimiser import Clipping, clip_gradients, set_learning_rate


class Diverged(Exception):
    """A loss or gradient is not finite. Raised before the optimiser's step, so the weights are still good."""


def train(
    model: Classifier,
    optimiser: torch.optim.Optimizer,
    data: Dataset,
    settings: TrainingSettings,
    seed: int,
    first_epoch: int,
    observers: Sequence[Observer],
) -> None:
    """Train from `first_epoch` (0: evaluate the untrained model first) to the last, telling the observers.

    Every random number comes from a stream named by the seed and the epoch or step, so a run that
    starts again at an epoch continues exactly as if it had never stopped.
    """
    keep_freed_memory()
    for epoch in range(first_epoch, settings.epochs + 1):
        started = perf_counter()
        steps = train_epoch(model, optimiser, data, settings, seed, epoch, observers)
        trained = perf_counter()
        train_set = evaluate(model, data.train, seed, epoch)
        held_out = evaluate(model, data.held_out, seed, epoch)
        if not math.isfinite(train_set.loss + held_out.loss):
            raise Diverged(f"the loss after epoch {epoch} is not finite")
        result = EpochResult(
            epoch=epoch,
            learning_rate=steps.learning_rate,
            train_loss=train_set.loss,
            train_accuracy=train_set.accuracy,
            held_out_loss=held_out.loss,
            held_out_accuracy=held_out.accuracy,
            train_seconds=trained - started,
            evaluation_seconds=perf_counter() - trained,
            gradient_norm=steps.gradient_norm,
            clipped_share=steps.clipped_share,
        )
        for observer in observers:
            observer.epoch_ended(result)
        if reached_stop(settings, result.train_accuracy):
            break


def reached_stop(settings: TrainingSettings, train_accuracy: float) -> bool:
    """Whether the run was asked to stop at this training accuracy."""
    return settings.stop_at is not None and train_accuracy >= settings.stop_at


@dataclass(frozen=True)
class Steps:
    """What the steps of one epoch had in common; None in epoch 0.

    `gradient_norm` is the joint norm of all gradients before clipping, whatever is clipped. `clipped_share` counts the
    steps in which a gradient was scaled down: the joint one, or with `clip_per_group` that of any group.
    """

    learning_rate: float
    gradient_norm: float | None = None  # mean over the steps
    clipped_share: float | None = None


def train_epoch(
    model: Classifier,
    optimiser: torch.optim.Optimizer,
    data: Dataset,
    settings: TrainingSettings,
    seed: int,
    epoch: int,
    observers: Sequence[Observer] = (),
) -> Steps:
    """From the state after the epoch before to that after this one. In epoch 0 nothing is trained."""
    if epoch == 0:
        return Steps(put_in_force(model, optimiser, settings, 0, 0))
    model.train()
    padding = padding_of(data.train)
    batches = batches_of(data.train, settings, seed, epoch)
    before = (epoch - 1) * len(batches)
    rate = put_in_force(model, optimiser, settings, epoch, before)
    steps: list[Clipping] = []
    for index, rows in enumerate(batches):
        noise = noise_of(seed, epoch, index, len(batches))
        try:
            steps.append(training_step(model, optimiser, data.train, padding, rows, settings, noise))
        except Diverged as error:
            raise Diverged(f"{error} in epoch {epoch}, batch {index + 1}") from None
        put_in_force(model, optimiser, settings, epoch, before + index + 1)
        for observer in observers:
            observer.batch_ended(epoch, index + 1, len(batches))
    norm = sum(float(each.norm) for each in steps) / len(steps)
    return Steps(rate, norm, sum(each.was_needed for each in steps) / len(steps))


def put_in_force(
    model: Classifier, optimiser: torch.optim.Optimizer, settings: TrainingSettings, epoch: int, steps: int
) -> float:
    """What holds after so many steps in all, for the next one and for evaluation: attention and rates;
    returns the rate.
    """
    plain = settings.is_plain(steps)
    if plain != (model.in_force is not model.config):
        model.attend_plainly(plain)
    return set_learning_rate(optimiser, settings, epoch, plain)


def batches_of(samples: Samples, settings: TrainingSettings, seed: int, epoch: int) -> tuple[Tensor, ...]:
    """The rows of each step of an epoch, in an order of its own."""
    order = torch.randperm(len(samples), generator=stream(seed, "order", epoch)).to(samples.tokens.device)
    return order[: len(order) - settings.drop_samples_per_epoch].split(settings.batch_size)


def noise_of(seed: int, epoch: int, index: int, num_batches: int) -> torch.Generator:
    """The random numbers of one step: dropout and random patterns."""
    return stream(seed, "noise", (epoch - 1) * num_batches + index)


def training_step(
    model: Classifier,
    optimiser: torch.optim.Optimizer,
    samples: Samples,
    padding: Tensor | None,
    rows: Tensor,
    settings: TrainingSettings,
    noise: torch.Generator,
) -> Clipping:
    """One step of the optimiser on these rows of the samples; `padding` is that of all samples."""
    logits = model(samples.tokens[rows], None if padding is None else padding[rows], generator=noise)
    loss = mean_loss(logits, samples.labels[rows])
    optimiser.zero_grad()
    loss.backward()
    clipping = clip_gradients(optimiser, settings)
    if not torch.isfinite(loss.detach() + clipping.norm):
        raise Diverged(f"the {'gradient' if torch.isfinite(loss) else 'loss'} is not finite")
    optimiser.step()
    return clipping
