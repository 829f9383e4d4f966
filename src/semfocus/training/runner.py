"""From a spec to a record: train, or continue where an earlier attempt stopped."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from semfocus.model import Classifier, LanguageModel, ModelConfig
from semfocus.runs import RunBusy, RunDirectory, RunSpec, Store
from semfocus.runs.checkpoints import (
    load_epoch,
    load_newest,
    newest_epoch,
    remove_after,
    remove_older,
    weights_digest,
)
from semfocus.runs.directory import epoch_rows, probe_rows_of, steps_of
from semfocus.runs.outcome import held_out_score, is_text, summarise
from semfocus.runs.record import Record, as_columns
from semfocus.tasks import Dataset, Length, TextTask, draw_dataset
from semfocus.training.device import describe_environment, limited_threads, resolve_device, same_numerics
from semfocus.training.loop import Diverged, reached_stop, train
from semfocus.training.observers import GENERATIONS, Attempt, CheckpointKeeper, JournalKeeper, Observer
from semfocus.training.optimiser import build_optimiser, restore_optimiser
from semfocus.training.pretraining import start_from_pretraining


def run(
    spec: RunSpec,
    store: Store,
    *,
    observers: Sequence[Observer] = (),
    device: str = "auto",
    threads: int = 1,
    checkpoint_seconds: float = 10.0,
    patience: float = 0.0,
) -> Record:
    """The record of a spec: read if the run has ended, else computed from its last checkpoint on.

    A run that diverges is a result (state `diverged`). Any other failure is noted in the journal and
    raised; calling again continues from the last checkpoint. `patience`: seconds to wait if another process
    has the run.
    """
    directory = store.directory(spec)
    finished = directory.record()
    if finished is not None:
        return Record(finished, directory)
    chosen = resolve_device(device)
    directory.create(spec.model_dump(mode="json"))
    with directory.owned(patience), limited_threads(threads):
        finished = directory.record()  # another process may have ended it meanwhile
        if finished is not None:
            return Record(finished, directory)
        directory.remove_leftovers()
        try:
            return _attempt(spec, store, directory, list(observers), chosen, threads, checkpoint_seconds)
        except KeyboardInterrupt:
            with suppress(RunBusy):  # lost: there is nothing to note
                directory.note("interrupted")
            raise
        except Exception as error:
            _note_failure(directory, error)
            raise


def _attempt(
    spec: RunSpec,
    store: Store,
    directory: RunDirectory,
    observers: list[Observer],
    device: torch.device,
    threads: int,
    checkpoint_seconds: float,
) -> Record:
    tokenizer = tokenizer_of_run(spec, directory)
    environment = describe_environment(device) | tokenizer
    directory.write_environment(environment)
    data = dataset_of(spec)
    model = build_model(spec).to(device)
    optimiser = build_optimiser(model, spec.training)

    events = directory.events()
    checkpoint, problems = load_newest(directory.checkpoints, "last")
    if checkpoint is not None and not _journal_covers(events, checkpoint.epoch):
        problems.append(f"the journal lacks epochs before {checkpoint.epoch}: training starts again")
        checkpoint = None
    resumed_after = -1
    if checkpoint is None:
        start_from_pretraining(model, spec, store, device=str(device), threads=threads)
    else:
        model.load_state_dict(checkpoint.groups["model"])
        restore_optimiser(optimiser, checkpoint.groups.get("optimiser", {}))
        resumed_after = checkpoint.epoch
        earlier = [event["numerics"] for event in events if event["event"] == "attempt"]
        if earlier and not same_numerics(earlier[-1], environment["numerics"]):
            problems.append(f"continued under other numerics: {earlier[-1]}, then {environment['numerics']}")
    directory.check_owner()
    # Left in place, later generations would count as the newest, and the new ones be removed as soon as written.
    for kind, keep in (("last", GENERATIONS), ("best", 1)):
        remove_after(directory.checkpoints, kind, resumed_after)
        remove_older(directory.checkpoints, kind, keep)  # where an attempt failed to
    directory.note(
        "attempt",
        resumed_after=resumed_after,
        problems=problems,
        numerics=environment["numerics"],
        **tokenizer,
    )
    rows = epoch_rows(directory.events())

    keeper = CheckpointKeeper(
        directory,
        model,
        optimiser,
        best_score=_score_of_best(directory, rows, is_text(spec.task)),
        by_loss=is_text(spec.task),
        seconds=checkpoint_seconds,
    )
    state, reason = "done", None
    on_device = Dataset(data.train.to(device), data.held_out.to(device), data.overlap)
    attempt = Attempt(spec, directory, model, on_device)
    watchers = [JournalKeeper(attempt), keeper, *observers]
    for observer in observers:
        observer.prepared(attempt)
        observer.run_started(resumed_after + 1, spec.training.epochs)
    try:
        if not (rows and reached_stop(spec.training, rows[-1]["train_accuracy"])):
            train(model, optimiser, on_device, spec.training, spec.seed, resumed_after + 1, watchers)
    except Diverged as error:
        state, reason = "diverged", str(error)
    except KeyboardInterrupt:
        with suppress(RunBusy):
            keeper.save()
        raise
    finally:
        for observer in observers:
            observer.run_ended()
    keeper.save()
    record = _record(spec, directory, data, model, state, reason, environment)
    directory.write_record(record)
    return record


def tokenizer_of_run(spec: RunSpec, directory: RunDirectory) -> dict[str, Any]:
    """The digest of what the run's tokenizer learned, which must be the same whenever the run goes on."""
    task = spec.task_value
    digest = task.tokenizer.digest if isinstance(task, TextTask) else None
    if digest is None:
        return {}
    attempts = [event for event in directory.events() if event["event"] == "attempt"]
    if any(event.get("tokenizer") != digest for event in attempts):
        raise ValueError(
            f"run {directory.name} has another tokenizer {spec.training.tokenizer} than this version of "
            "sentencepiece learns from the same text"
        )
    return {"tokenizer": digest}


def _score_of_best(directory: RunDirectory, rows: list[dict[str, Any]], by_loss: bool) -> float:
    """What the best checkpoint on disk reached; less than anything if there is none, so that the next epoch
    becomes the best.

    One that cannot be read at the moment is an error: the next epoch would take its place.
    """
    epoch = newest_epoch(directory.checkpoints, "best")
    best, _ = (None, []) if epoch is None else load_epoch(directory.checkpoints, epoch, ("best",))
    reached = [
        held_out_score(row, by_loss) for row in rows if best is not None and row["epoch"] == best.epoch
    ]
    return reached[0] if reached else -math.inf


def _journal_covers(events: list[dict[str, Any]], last_epoch: int) -> bool:
    epochs = [row["epoch"] for row in epoch_rows(events) if row["epoch"] <= last_epoch]
    return epochs == list(range(last_epoch + 1))


def _record(
    spec: RunSpec,
    directory: RunDirectory,
    data: Dataset,
    model: Classifier,
    state: str,
    reason: str | None,
    environment: dict[str, Any],
) -> Record:
    events = directory.events()
    attempts = [event for event in events if event["event"] == "attempt"]
    rows = epoch_rows(events)
    values = {
        "run": directory.name,
        "spec": spec.model_dump(mode="json"),
        "state": state,
        "reason": reason,
        "curve": as_columns(rows),
        "summary": summarise(rows, spec.task),
        "num_parameters": sum(parameter.numel() for parameter in model.parameters()),
        "num_train": len(data.train),
        "num_held_out": len(data.held_out),
        "held_out_overlap": data.overlap,
        "weights": weights_digest(model.state_dict()) if state == "done" else None,
        "attempts": len(attempts),
        "problems": [problem for event in attempts for problem in event["problems"]],
        "environment": environment,
        "probes": probe_rows_of(events),
        **steps_of(events),
    }
    return Record(values, directory)


def _note_failure(directory: RunDirectory, error: Exception) -> None:
    """RunBusy if the run was lost: what went wrong is then no failure of it."""
    if isinstance(error, RunBusy):
        return
    try:
        directory.note("failed", kind=type(error).__name__, reason=str(error) or type(error).__name__)
    except RunBusy as busy:
        raise busy from error
    except Exception:  # a full disk or a corrupt journal: the error itself matters more
        error.add_note(f"(could not be noted in the journal of run {directory.name})")


def dataset_of(spec: RunSpec) -> Dataset:
    """The training and held-out samples of a run."""
    training = spec.training
    return draw_dataset(
        spec.task_value,
        training.num_train,
        training.num_held_out,
        training.length,
        spec.seed,
        training.replace_sample,
    )


def build_model(spec: RunSpec) -> Classifier:
    """The untrained model of a run."""
    config = model_config(spec)
    relevant = spec.task_value.relevant if config.selection == "relevant" else None
    return (LanguageModel if config.causal else Classifier)(config, spec.seed, relevant)


def model_config(spec: RunSpec) -> ModelConfig:
    """The architecture of the spec with the sizes of its task."""
    task = spec.task_value
    return ModelConfig(
        **spec.model.model_dump(),
        vocab_size=task.vocab_size,
        num_classes=task.num_classes,
        max_length=longest(spec.training.length),
        pattern=spec.pattern_value,
        causal=isinstance(task, TextTask),
    )


def longest(length: Length) -> int:
    """The longest sequence that a length or range allows."""
    return length if isinstance(length, int) else length[1]
