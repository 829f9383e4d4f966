"""Training one arm with one seed: the steps, and the looks at the held-out loss between them."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from semfocus.integrations import apply
from semfocus.randomness import derive_seed, stream
from semfocus.subjects.batch import Batch, TrialData
from semfocus.subjects.subject import Subject
from semfocus.training.loop import Diverged
from semfocus.trial.spec import TrialRunSpec


@dataclass
class Training:
    """A model under training; everything random is named by (seed, step), so that resuming needs only the step."""

    spec: TrialRunSpec
    subject: Subject
    data: TrialData
    model: nn.Module
    optimiser: torch.optim.Optimizer
    device: torch.device
    seconds: float = 0.0

    @classmethod
    def begin(cls, spec: TrialRunSpec, subject: Subject, data: TrialData, device: torch.device) -> "Training":
        model = build(spec, subject).to(device)
        optimiser = torch.optim.AdamW(
            model.parameters(), lr=spec.learning_rate, weight_decay=spec.settings.weight_decay
        )
        return cls(spec, subject, data, model, optimiser, device)

    @property
    def seed(self) -> int:
        return self.spec.seed + self.spec.arm.seed_shift

    def run(self, after: int, on_look: Callable[[int, float, float], None]) -> None:
        """Train from the state after a step to the end; `on_look` hears step, held-out loss and mean training loss."""
        places = self.spec.settings.look_steps()
        if after < 0:
            on_look(0, self.held_out_loss(), math.nan)
            after = 0
        since: list[float] = []
        for step in range(after + 1, self.spec.settings.steps + 1):
            since.append(self.step(step))
            if step in places:
                on_look(step, self.held_out_loss(), math.fsum(since) / len(since))
                since = []

    def step(self, step: int) -> float:
        """One step, counted from 1; the loss before it."""
        settings = self.spec.settings
        batch = self.data.train.rows(self._rows(step)).to(self.device)
        rate = self.spec.learning_rate * min(1.0, step / max(1, settings.warmup_steps))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        started = time.perf_counter()
        self.model.train()
        with _numbers_of(derive_seed(self.seed, "trial/noise", step), self.device):
            loss = self.subject.loss(self.model, batch)
            self.optimiser.zero_grad()
            loss.backward()
        largest = math.inf if settings.clip_norm is None else settings.clip_norm
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), largest)
        value = float(loss.detach())
        if not math.isfinite(value + float(norm)):
            raise Diverged(
                f"the {'gradient' if math.isfinite(value) else 'loss'} is not finite in step {step}"
            )
        self.optimiser.step()
        self.seconds += time.perf_counter() - started
        return value

    @torch.no_grad()
    def held_out_loss(self) -> float:
        """On the same held-out sequences at every look of every run."""
        loss = self._mean_of_held_out(
            lambda part: float(self.subject.loss(self.model, part)) * part.num_predicted
        )
        if not math.isfinite(loss):
            raise Diverged("the held-out loss is not finite")
        return loss

    @torch.no_grad()
    def held_out_accuracy(self) -> float | None:
        """The share of the same sequences whose label has the highest logit; None without labels, or without logits."""

        def num_right(part: Batch) -> float:
            logits = None if part.labels is None else self.subject.class_logits(self.model, part)
            if logits is None or part.labels is None:
                return math.nan
            return float(logits.argmax(1).eq(part.labels).sum())

        share = self._mean_of_held_out(num_right)
        return None if math.isnan(share) else share

    def _mean_of_held_out(self, sum_of: Callable[[Batch], float]) -> float:
        self.model.eval()
        size = self.spec.settings.batch_size
        held_out = self.data.held_out.rows(slice(0, self.spec.settings.held_out))
        total = 0.0
        for start in range(0, len(held_out), size):
            part = held_out.rows(slice(start, start + size)).to(self.device)
            with _numbers_of(derive_seed(0, "trial/look", start), self.device):
                total += sum_of(part)
        return total / held_out.num_predicted

    def _rows(self, step: int) -> torch.Tensor:
        """Epoch after epoch, each in an order of its own."""
        num, size = len(self.data.train), self.spec.settings.batch_size
        places = range((step - 1) * size, step * size)
        orders = {
            epoch: torch.randperm(num, generator=stream(self.seed, "trial/order", epoch))
            for epoch in range(places[0] // num, places[-1] // num + 1)
        }
        return torch.stack([orders[place // num][place % num] for place in places])


def build(spec: TrialRunSpec, subject: Subject) -> nn.Module:
    """The untrained model of a run; full attention is left just as it came."""
    model = subject.build(spec.seed + spec.arm.seed_shift)
    if not spec.arm.is_untouched:
        apply(model, spec.arm.pattern, inverse_temperature=spec.arm.inverse_temperature)
    return model


@contextmanager
def _numbers_of(seed: int, device: torch.device) -> Iterator[None]:
    """torch's own random numbers (dropout of somebody else's model) from a seed, then as they were."""
    devices: list[Any] = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
