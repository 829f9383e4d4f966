"""One run of a trial on disk: read if it has ended, else trained from its last checkpoint on."""

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import torch

from semfocus.durable import remove_tree
from semfocus.measurements.measurement import Notify
from semfocus.runs.checkpoints import Checkpoint, load_newest, remove_after, remove_older, save_checkpoint
from semfocus.runs.directory import RunBusy
from semfocus.runs.trial_directory import TrialRunDirectory, looks_of
from semfocus.subjects.batch import TrialData
from semfocus.subjects.subject import Subject
from semfocus.training.device import describe_environment, limited_threads
from semfocus.training.loop import Diverged
from semfocus.training.optimiser import optimiser_tensors, restore_optimiser
from semfocus.trial.interior import measure_inside
from semfocus.trial.spec import TrialRunSpec
from semfocus.trial.training import Training

#: of checkpoints, in case the newest is damaged
_GENERATIONS = 2


@dataclass
class Runner:
    """Makes records of runs in directories under one path."""

    directory: Path
    subject: Subject
    data: TrialData
    device: torch.device
    threads: int = 1
    checkpoint_seconds: float = 20.0
    #: hears that the run begins, and every look
    notify: Notify = lambda message: None

    def place(self, spec: TrialRunSpec) -> TrialRunDirectory:
        return TrialRunDirectory(self.directory / spec.digest)

    def record(self, spec: TrialRunSpec) -> dict[str, Any]:
        """A run that diverges is a result. Any other failure is noted and raised; calling again continues."""
        place = self.place(spec)
        finished = place.record()
        if finished is not None:
            return finished
        place.create(spec.as_plain())
        with place.owned(), limited_threads(self.threads):
            finished = place.record()
            if finished is not None:
                return finished
            place.remove_leftovers()
            try:
                return self._attempt(spec, place)
            except KeyboardInterrupt:
                with suppress(RunBusy):  # lost: there is nothing to note
                    place.note("interrupted")
                raise
            except RunBusy:
                raise
            except Exception as error:
                place.note("failed", kind=type(error).__name__, reason=str(error) or type(error).__name__)
                raise

    def _attempt(self, spec: TrialRunSpec, place: TrialRunDirectory) -> dict[str, Any]:
        environment = describe_environment(self.device)
        place.write_environment(environment)
        training = Training.begin(spec, self.subject, self.data, self.device)
        after = self._resume(training, place)
        self.notify({"event": "started"})
        saved_at = monotonic()
        state, reason = "done", None
        inside_at = _inside_at(spec)

        def on_look(step: int, held_out_loss: float, train_loss: float) -> None:
            nonlocal saved_at
            look = {
                "step": step,
                "held_out_loss": held_out_loss,
                "train_loss": train_loss if step else None,
                "seconds": training.seconds,
            }
            place.note("look", **look)
            if step in inside_at:
                found = measure_inside(self.subject, training.model, self.data.held_out.to(self.device))
                place.note("inside", step=step, quantities=found)
            if step < spec.settings.steps and monotonic() - saved_at >= self.checkpoint_seconds:
                checkpoint = _checkpoint(training, step)
                save_checkpoint(place.checkpoints, "last", checkpoint, _GENERATIONS, place.check_owner)
                saved_at = monotonic()
            self.notify({"event": "epoch", "row": look})

        accuracy = None
        try:
            training.run(after, on_look)
            accuracy = training.held_out_accuracy()
        except Diverged as error:
            state, reason = "diverged", str(error)
        record = _record(spec, place, training, state, reason, accuracy, environment)
        place.write_record(record)
        with suppress(OSError):
            remove_tree(place.checkpoints)  # a record needs no continuing
        return record

    def _resume(self, training: Training, place: TrialRunDirectory) -> int:
        """Restore the newest checkpoint that the journal covers, and note the attempt; -1: from the beginning."""
        checkpoint, problems = load_newest(place.checkpoints, "last")
        looks = looks_of(place.events())
        if checkpoint is not None and checkpoint.epoch not in [each["step"] for each in looks]:
            problems.append(f"the journal has no look at step {checkpoint.epoch}: training starts again")
            checkpoint = None
        after = -1
        if checkpoint is not None:
            training.model.load_state_dict(checkpoint.groups["model"])
            restore_optimiser(training.optimiser, checkpoint.groups["optimiser"])
            after = checkpoint.epoch
            training.seconds = next(each["seconds"] for each in looks if each["step"] == after)
        place.check_owner()
        remove_after(place.checkpoints, "last", after)
        remove_older(place.checkpoints, "last", _GENERATIONS)
        place.note("attempt", resumed_after=after, problems=problems)
        return after


def _checkpoint(training: Training, step: int) -> Checkpoint:
    # Copies: tensors that share memory, such as tied weights, are refused by the file format.
    weights = {name: tensor.detach().clone() for name, tensor in training.model.state_dict().items()}
    return Checkpoint(step, {"model": weights, "optimiser": optimiser_tensors(training.optimiser)})


def _inside_at(spec: TrialRunSpec) -> set[int]:
    """The untrained model, after a quarter of the looks, and the last."""
    places = spec.settings.look_steps()
    return {places[0], places[len(places) // 4], places[-1]}


def _record(
    spec: TrialRunSpec,
    place: TrialRunDirectory,
    training: Training,
    state: str,
    reason: str | None,
    accuracy: float | None,
    environment: dict[str, Any],
) -> dict[str, Any]:
    events = place.events()
    looks = looks_of(events)
    columns = ("step", "held_out_loss", "train_loss", "seconds")
    pace = [
        (later["seconds"] - earlier["seconds"]) / (later["step"] - earlier["step"])
        for earlier, later in pairwise(looks)
    ]
    attempts = [event for event in events if event["event"] == "attempt"]
    return {
        "run": place.name,
        "spec": spec.as_plain(),
        "state": state,
        "reason": reason,
        "curve": {name: [look[name] for look in looks] for name in columns},
        "held_out_accuracy": accuracy,
        "inside": looks_of(events, "inside"),
        "seconds_per_step": median(pace) if pace else None,
        "num_parameters": sum(each.numel() for each in training.model.parameters()),
        "attempts": len(attempts),
        "problems": [problem for event in attempts for problem in event["problems"]],
        "environment": environment,
    }
