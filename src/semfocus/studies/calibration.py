"""How long runs take, measured: a few training steps and one evaluation of every kind of run."""

from collections.abc import Callable, Iterable
from time import perf_counter

import torch

from semfocus.randomness import stream
from semfocus.runs import RunSpec
from semfocus.studies.cost import cost_key, num_steps
from semfocus.tasks import Samples, TextTask
from semfocus.training.device import keep_freed_memory, limited_threads, resolve_device
from semfocus.training.evaluation import evaluate, evaluation_batch_size, padding_of
from semfocus.training.loop import training_step
from semfocus.training.optimiser import build_optimiser
from semfocus.training.runner import build_model

#: seconds that a measurement goes on, at least two repetitions of each part
_PATIENCE = 0.4


def measured_seconds(specs: Iterable[RunSpec], *, device: str = "auto", threads: int = 1) -> dict[str, float]:
    """Seconds of each run (by digest) to its epoch limit, from a few timed steps of every kind of run."""
    chosen = resolve_device(device)
    pace: dict[str, tuple[float, float]] = {}
    seconds = {}
    with limited_threads(threads):
        for spec in specs:
            key = cost_key(spec)
            if key not in pace:
                pace[key] = _measure(spec, chosen)
            step, evaluated = pace[key]
            training = spec.training
            epoch = num_steps(spec) * step + (training.num_train + training.num_held_out) * evaluated
            seconds[spec.digest] = training.epochs * epoch
    return seconds


def _measure(spec: RunSpec, device: torch.device) -> tuple[float, float]:
    """Seconds a training step, and seconds a sample of evaluation."""
    keep_freed_memory()
    samples = _samples_like(spec).to(device)
    batch_size = min(spec.training.batch_size, len(samples))
    padding = padding_of(samples)
    model = build_model(spec).to(device)
    optimiser = build_optimiser(model, spec.training)
    model.train()
    rows = torch.arange(batch_size, device=device)

    def step() -> None:
        noise = stream(spec.seed, "calibration noise")
        training_step(model, optimiser, samples, padding, rows, spec.training.clip_norm, noise)

    step()  # the first one also allocates
    return _pace(step), _pace(lambda: evaluate(model, samples, spec.seed, 0)) / len(samples)


def _samples_like(spec: RunSpec) -> Samples:
    """Random tokens in the shape of one evaluation: their meaning costs nothing."""
    length, task, noise = spec.training.length, spec.task_value, stream(spec.seed, "calibration")
    low, high = (length, length) if isinstance(length, int) else length
    num = max(spec.training.batch_size, evaluation_batch_size(high))
    tokens = torch.randint(task.pad_id, (num, high), generator=noise)
    if low < high:
        lengths = torch.randint(low, high + 1, (num, 1), generator=noise)
        tokens[torch.arange(high) >= lengths] = task.pad_id
    shape = (num, high) if isinstance(task, TextTask) else (num,)
    return Samples(tokens, torch.randint(task.num_classes, shape, generator=noise), task.real(tokens))


def _pace(action: Callable[[], object]) -> float:
    """The shortest of at least two repetitions: what disturbs a measurement only adds to it."""
    times: list[float] = []
    while len(times) < 2 or sum(times) < _PATIENCE / 2:
        started = perf_counter()
        action()
        times.append(perf_counter() - started)
    return min(times)
