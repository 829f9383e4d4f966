"""How long runs take: by a formula, or measured on a few steps of every kind of run."""

import json
from collections.abc import Callable, Iterable
from time import perf_counter

import torch

from semfocus.mechanisms import Banded, BlockLocal, Pattern, WithGlobals
from semfocus.randomness import stream
from semfocus.runs import RunSpec
from semfocus.tasks import Samples, TextTask
from semfocus.training.device import keep_freed_memory, limited_threads, resolve_device
from semfocus.training.evaluation import evaluate, evaluation_batch_size, padding_of
from semfocus.training.loop import training_step
from semfocus.training.optimiser import build_optimiser
from semfocus.training.runner import build_model

#: from even_pairs at the paper's setting, 6 s per epoch (docs/performance.md): multiply-adds per second on one
#: core of that machine, and seconds of bookkeeping a training step
_SPEED, _BOOKKEEPING = 2.6e10, 0.005


def rough_seconds(spec: RunSpec) -> float:
    """Seconds of a run to its epoch limit on one core, from the number of multiply-adds."""
    model, training = spec.model, spec.training
    length = training.length if isinstance(training.length, int) else training.length[1]
    projections = 4 * model.num_heads * model.d_model**2 + 2 * model.d_model * model.d_mlp
    attention = 2 * model.num_heads * model.d_model * _num_keys(spec.pattern_value, length)
    passes = (
        3 * training.num_train + training.num_held_out + evaluations(spec) * training.num_train
    )  # backward is twice forward
    readout = model.d_model * spec.task_value.num_classes if isinstance(spec.task_value, TextTask) else 0
    arithmetic = passes * length * (model.num_blocks * (projections + attention) + readout) / _SPEED
    return (training.epochs + 1) * (arithmetic + spec.training.steps_per_epoch * _BOOKKEEPING)


def evaluations(spec: RunSpec) -> float:
    """Of the training data in an epoch: after it, and between its steps where that is asked for."""
    every = spec.training.evaluate_every
    return 1 if every is None else 1 + spec.training.steps_per_epoch / every


def _num_keys(pattern: Pattern, length: int) -> int:
    """Keys whose scores a query needs: top-k must look at all to choose."""
    if isinstance(pattern, WithGlobals):
        return pattern.num_globals + _num_keys(pattern.base, length)
    if isinstance(pattern, Banded):
        return min(pattern.width, length)
    return min(pattern.size, length) if isinstance(pattern, BlockLocal) else length


def cost_key(spec: RunSpec) -> str:
    """Equal for runs whose epochs cost the same for each sample."""
    free = {"inverse_temperature", "initial_scale", "dropout", "layer_norm_eps", "first_norm_eps"}
    model = spec.model.model_dump(mode="json", exclude=free)
    training = spec.training
    answers = [spec.task_value.num_classes] if isinstance(spec.task_value, TextTask) else []
    return json.dumps(
        [spec.pattern, model, training.length, training.batch_size, training.optimiser, *answers]
    )


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
            epoch = (
                spec.training.steps_per_epoch * step
                + (evaluations(spec) * training.num_train + training.num_held_out) * evaluated
            )
            seconds[spec.digest] = training.epochs * epoch
    return seconds


def _measure(spec: RunSpec, device: torch.device) -> tuple[float, float]:
    """Seconds per training step, and seconds per sample of evaluation."""
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
        training_step(model, optimiser, samples, padding, rows, spec.training, noise)

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
