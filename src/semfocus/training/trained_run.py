"""A trained run brought back: its model, evaluated at other lengths or on another file."""

from dataclasses import dataclass
from pathlib import Path

import torch

from semfocus.model import Classifier
from semfocus.randomness import stream
from semfocus.runs import RunDirectory, RunSpec
from semfocus.runs.checkpoints import Tensors, load_epoch, newest_epoch
from semfocus.runs.record import read_record
from semfocus.tasks import FileTask, Samples, TextTask, checked_length, read_samples
from semfocus.training.evaluation import Evaluation, evaluate
from semfocus.training.runner import build_model, longest, tokenizer_of_run


@dataclass(frozen=True)
class TrainedRun:
    """A run with the weights of one of its checkpoints."""

    spec: RunSpec
    model: Classifier
    epoch: int
    #: why the weights may not be those of the run to the last bit; see replay.py
    problems: tuple[str, ...] = ()

    def at_length(self, length: int, num: int) -> Evaluation:
        """`num` new samples of one length, the same for every run with this seed."""
        task = self.spec.task_value
        if isinstance(task, FileTask):
            raise ValueError(f"{task} has no samples but those of the file; use --data with another file")
        tokens, labels = task.sample(num, length, stream(self.spec.seed, f"evaluate/{length}"))
        return self._evaluate(tokens, labels)

    def on_file(self, path: Path) -> Evaluation:
        """The labelled sequences of a file, in the symbols of the run's task; for a language model another text."""
        task = self.spec.task_value
        if isinstance(task, TextTask):
            return self._evaluate(*task.windows_of(path, longest(self.spec.training.length)))
        classes = task.classes if isinstance(task, FileTask) else map(str, range(task.num_classes))
        return self._evaluate(*read_samples(task, classes, path))

    def _evaluate(self, tokens: torch.Tensor, labels: torch.Tensor) -> Evaluation:
        samples = Samples(tokens, labels, self.spec.task_value.real(tokens))
        device = self.model.readout.weight.device
        return evaluate(self.model, samples.to(device), self.spec.seed, self.epoch)


def load_run(
    directory: RunDirectory, checkpoint: str = "last", device: torch.device | None = None
) -> TrainedRun:
    """The model of a run at its `last` or `best` checkpoint: that of the epoch itself, never an older one."""
    spec = RunSpec(**directory.spec())
    tokenizer_of_run(spec, directory)
    epoch = _epoch_meant(directory, checkpoint)
    if epoch is None:
        raise ValueError(f"run {directory.name} has no usable {checkpoint} checkpoint")
    loaded, problems = load_epoch(directory.checkpoints, epoch, (checkpoint,))
    if loaded is None:
        why = "; ".join(problems) or f"that of epoch {epoch} is missing"
        raise ValueError(f"run {directory.name} has no usable {checkpoint} checkpoint: {why}")
    model = build_model(spec)
    load_weights(
        model, loaded.groups.get("model", {}), f"the {checkpoint} checkpoint of run {directory.name}"
    )
    attend_as_after(model, spec, loaded.epoch)
    return TrainedRun(spec, model.to(device or torch.device("cpu")), loaded.epoch)


def _epoch_meant(directory: RunDirectory, checkpoint: str) -> int | None:
    """Of a run that has ended the record says it; of another one its newest checkpoint."""
    record = read_record(directory)
    if record.state not in ("done", "diverged"):
        return newest_epoch(directory.checkpoints, checkpoint)
    return record.summary.get("best_epoch" if checkpoint == "best" else "epochs")


def attend_as_after(model: Classifier, spec: RunSpec, epoch: int) -> None:
    """Plain attention, or the run's own, as it was in force after an epoch."""
    model.attend_plainly(spec.training.is_plain(epoch * spec.training.steps_per_epoch))


def load_weights(model: Classifier, weights: Tensors, where: str) -> None:
    """Give a model its weights, which must be those of such a model."""
    own = model.state_dict()
    others = set(own.keys() ^ weights.keys())
    others |= {name for name in own.keys() & weights.keys() if own[name].shape != weights[name].shape}
    if others:
        raise ValueError(
            f"{where} is of another model: {', '.join(sorted(others)[:3])} do not fit the run's spec"
        )
    model.load_state_dict(weights)


def lengths_between(spec: RunSpec, low: int, high: int, points: int) -> list[int]:
    """At most `points` lengths from low to high that the task allows, evenly spaced, both ends included."""
    task = spec.task_value
    low, high = checked_length(task, (low, high))
    possible = [length for length in range(low, high + 1) if task.allows_length(length) is None]
    if len(possible) <= points:
        return possible
    if points == 1:
        return [possible[-1]]
    return [possible[round(index * (len(possible) - 1) / (points - 1))] for index in range(points)]
