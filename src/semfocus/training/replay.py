"""The model of a run as it was after any epoch: read from a checkpoint, else trained again to the same bits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from semfocus.runs import RunBusy, RunDirectory, RunSpec, Store
from semfocus.runs.checkpoints import (
    Checkpoint,
    load_epoch,
    load_latest_before,
    save_checkpoint,
    weights_digest,
)
from semfocus.runs.record import Record, read_record
from semfocus.tasks import Dataset
from semfocus.training.device import limited_threads, numerics_class, resolve_device, same_numerics
from semfocus.training.evaluation import evaluate
from semfocus.training.loop import train_epoch
from semfocus.training.optimiser import build_optimiser, optimiser_tensors, restore_optimiser
from semfocus.training.pretraining import start_from_pretraining
from semfocus.training.runner import build_model, dataset_of
from semfocus.training.trained_run import TrainedRun, attend_as_after, load_weights

#: states that a replay kept; those of the run itself are `last` and `best`, and of them `best` has weights alone
KEPT = "at"
REACHING = "reaching:"
#: seconds to wait for another process that writes into the run's directory
_PATIENCE = 10.0


def epoch_reaching(record: Mapping[str, Any], train_accuracy: float) -> int | None:
    """The first epoch with at least this training accuracy; None if the run never got there."""
    curve = record.get("curve") or {}
    pairs = zip(curve.get("epoch", ()), curve.get("train_accuracy", ()), strict=True)
    return next((epoch for epoch, reached in pairs if reached >= train_accuracy), None)


def chosen_epoch(record: Record, epoch: int | str) -> int:
    """The epoch that a number, `last`, `best` or `reaching:0.95` means for a run; ValueError if it has no
    such epoch.
    """
    name, epochs = record["run"], (record.get("curve") or {}).get("epoch")
    if not epochs:
        why = record.get("reason") or "no epoch has ended"
        raise ValueError(f"run {name} has no state to measure: {record['state']}, {why}")
    text = str(epoch)
    if text == "last":
        return epochs[-1]
    if text == "best":
        return record["summary"]["best_epoch"]
    if text.startswith(REACHING):
        return _reached(record, text.removeprefix(REACHING))
    if not text.isdecimal():
        raise ValueError(f"epoch must be a number, last, best or {REACHING}ACCURACY, got {epoch!r}")
    if int(text) not in epochs:
        ended = (
            f" ({record['state']}: {record['reason']})" if record.get("reason") else f" ({record['state']})"
        )
        raise ValueError(f"run {name} has epochs {epochs[0]} to {epochs[-1]}{ended}, not {text}")
    return int(text)


def _reached(record: Record, text: str) -> int:
    try:
        accuracy = float(text)
    except ValueError:
        raise ValueError(f"{REACHING} needs a training accuracy such as 0.95, got {text!r}") from None
    epoch = epoch_reaching(record, accuracy)
    if epoch is None:
        highest = max(record["curve"]["train_accuracy"])
        raise ValueError(
            f"run {record['run']} never reached a training accuracy of {accuracy:g}: {highest:g} at most"
        )
    return epoch


def model_at(
    directory: RunDirectory, epoch: int | str = "last", device: torch.device | None = None
) -> TrainedRun:
    """The run's model after an epoch (0: untrained), `last`, `best` or `reaching:0.95`, bit for bit.

    Without a checkpoint of that epoch the run is trained again, from the latest state before it, and the state is
    kept as `at-EPOCH`. `problems` of the result say why it may not be the run's own state to the last bit.
    """
    record = readable_record(directory)
    wanted = chosen_epoch(record, epoch)
    found, problems = load_epoch(directory.checkpoints, wanted, (KEPT, "last", "best"))
    if found is None:
        *_, trained = replayed(directory, [wanted], device, problems)
        return trained
    spec = RunSpec(**directory.spec())
    model = build_model(spec)
    load_weights(
        model, found.groups.get("model", {}), f"the checkpoint of epoch {found.epoch} of run {directory.name}"
    )
    _check_last_weights(record, wanted, found)
    attend_as_after(model, spec, wanted)
    return TrainedRun(spec, model.to(device or torch.device("cpu")), wanted, (*problems, *found.problems))


def readable_record(directory: RunDirectory) -> Record:
    """The record of a run, ended or not; ValueError if its files cannot be read."""
    record = read_record(directory)
    if record["state"] == "corrupt":
        raise ValueError(f"run {directory.name} cannot be read: {record['reason']}")
    return record


def _check_last_weights(record: Record, epoch: int, found: Checkpoint) -> None:
    """A checkpoint of the right shape may still be another run's; of its last weights a run keeps the digest."""
    wanted = record.get("weights")
    is_last = wanted is not None and epoch == record["curve"]["epoch"][-1] and not found.problems
    if is_last and weights_digest(found.groups["model"]) != wanted:
        raise ValueError(
            f"the checkpoint of epoch {epoch} is not of run {record['run']}: its weights are others"
        )


def replayed(
    directory: RunDirectory,
    epochs: Sequence[int],
    device: torch.device | None = None,
    earlier_problems: Sequence[str] = (),
) -> Iterator[TrainedRun]:
    """Train the run again and stop after each of these epochs; all share one model, which the next step changes.

    The training loss of every stop is compared with the recorded one. The last stop is kept as a checkpoint.
    """
    record = readable_record(directory)
    stops = sorted({chosen_epoch(record, epoch) for epoch in epochs})
    spec = RunSpec(**directory.spec())
    numerics = _recorded_numerics(record, directory)
    chosen = device or _device_of(numerics)
    drawn = dataset_of(spec)
    data = Dataset(drawn.train.to(chosen), drawn.held_out.to(chosen), drawn.overlap)
    model = build_model(spec).to(chosen)
    optimiser = build_optimiser(model, spec.training)
    start = load_latest_before(directory.checkpoints, stops[0] + 1, (KEPT, "last"))
    problems = list(earlier_problems)
    if start is None:
        start_from_pretraining(model, spec, Store(directory.path.parent))
    else:
        load_weights(
            model,
            start.groups.get("model", {}),
            f"the checkpoint of epoch {start.epoch} of run {directory.name}",
        )
        restore_optimiser(optimiser, start.groups.get("optimiser", {}))
        problems += start.problems
    at = -1 if start is None else start.epoch
    with limited_threads(int(numerics.get("threads", 1))):
        here = numerics_class(chosen)
        if numerics and not same_numerics(here, numerics):
            problems.append(f"trained again under other numerics: {numerics} recorded, {here} here")
        for stop in stops:
            for epoch in range(at + 1, stop + 1):
                train_epoch(model, optimiser, data, spec.training, spec.seed, epoch)
            at = stop
            attend_as_after(model, spec, stop)  # where the checkpoint is of this very epoch
            loss = evaluate(model, data.train, spec.seed, stop).loss
            recorded = record["curve"]["train_loss"][record["curve"]["epoch"].index(stop)]
            if loss != recorded and not any("training loss" in each for each in problems):
                problems.append(
                    f"trained again, epoch {stop} has a training loss of {loss!r}; recorded is {recorded!r}"
                )
            if stop == stops[-1]:
                memory = optimiser_tensors(optimiser)
                groups = {"model": model.state_dict(), **({"optimiser": memory} if memory else {})}
                problems += _keep(directory, Checkpoint(stop, groups, tuple(problems)))
            yield TrainedRun(spec, model, stop, tuple(problems))


def _keep(directory: RunDirectory, checkpoint: Checkpoint) -> list[str]:
    """Kept for the next time; if another process has the run, the state is used all the same."""
    try:
        with directory.owned(_PATIENCE):
            save_checkpoint(directory.checkpoints, KEPT, checkpoint, keep=None)
    except RunBusy as busy:
        return [f"the state of epoch {checkpoint.epoch} could not be kept: {busy}"]
    return []


def _recorded_numerics(record: Record, directory: RunDirectory) -> dict[str, Any]:
    environment = record.get("environment")
    if environment is None and (directory.path / "env.json").exists():
        environment = directory.environment()
    return (environment or {}).get("numerics", {})


def _device_of(numerics: Mapping[str, Any]) -> torch.device:
    """The kind of device that the run was trained on, if it is here; else the CPU, which the numerics then show."""
    recorded = str(numerics.get("device", "cpu"))
    try:
        return resolve_device(recorded if recorded in ("cpu", "mps") else "cuda")
    except ValueError:
        return torch.device("cpu")
