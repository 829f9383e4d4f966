"""Arms of a trial as jobs for any process of this machine."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from semfocus.execution.display import Described
from semfocus.execution.jobs import Message, failure
from semfocus.measurements.measurement import Notify
from semfocus.runs import RunBusy
from semfocus.runs.directory import FAILURE, DamagedRun
from semfocus.runs.trial_directory import TrialRunDirectory, specs_in
from semfocus.subjects.batch import TrialData
from semfocus.subjects.data import kind_of, read_data
from semfocus.subjects.file import FileSubject
from semfocus.subjects.hugging_face import HuggingFaceSubject, writes_targets
from semfocus.subjects.subject import Subject
from semfocus.subjects.table import classes_of, has_targets
from semfocus.training.device import resolve_device
from semfocus.trial.runner import Runner
from semfocus.trial.spec import TrialRunSpec, spec_of_values


@dataclass(frozen=True)
class TrialOptions:
    """What all runs of a trial share: where model, data and runs are, and how they are computed."""

    model: str
    data: str
    directory: str
    context: int | None
    continued: bool
    device: str
    threads: int
    checkpoint_seconds: float


@dataclass(frozen=True)
class TrialJob:
    """One arm with one seed; `run` is the digest of the spec."""

    kind: ClassVar[str] = "trial"

    run: str
    spec: dict[str, Any]
    options: dict[str, Any]

    def perform(self, notify: Notify) -> None:
        perform_trial(self, notify)


class TrialItem:
    """One run of a trial in a schedule; a failure ends the trial, and the same call continues."""

    def __init__(self, spec: TrialRunSpec, options: TrialOptions) -> None:
        self.work = spec
        self.name = spec.digest
        self.options = options
        self.place = options.directory
        self.directory = TrialRunDirectory(Path(options.directory) / spec.digest)

    def known(self) -> dict[str, Any] | None:
        record = self.directory.record()
        if record is not None:
            self.directory.clear()
        return record

    def job(self) -> TrialJob:
        return TrialJob(self.name, self.work.as_plain(), vars(self.options))

    def finished(self, message: Message) -> dict[str, Any] | None:
        return self.directory.record()

    def attempt_failed(self, message: Message) -> None:
        """The reason is in the journal of the run; its traceback stands beside it."""
        if message.get("traceback"):
            with suppress(OSError):
                self.directory.write_failure(message["traceback"])

    def failed(self, message: Message) -> Any:
        kind, reason = message["kind"], message["reason"]
        if kind == "ValueError":  # says itself what is wrong
            raise ValueError(reason)
        where = f"; traceback: {self.directory.path / FAILURE}" if message.get("traceback") else ""
        raise ValueError(f"{self.work.title} failed: {kind}: {reason}{where}")


@lru_cache(maxsize=1)
def opened(
    model: str, data: str, directory: str, context: int | None, continued: bool
) -> tuple[Subject, TrialData]:
    """The model and the data, read once per process; the runs in the directory may say how the data were split."""
    subject = subject_of(Path(model), Path(data), continued)
    known = {str(spec.get("data")) for spec in specs_in(Path(directory))}
    kind = subject.kind if isinstance(subject, HuggingFaceSubject) else None
    return subject, read_data(Path(data), subject.vocabulary, context, known, kind)


def subject_of(model: Path, data: Path, continued: bool) -> Subject:
    """A Python file, or a model of Hugging Face that fits the data."""
    if model.suffix == ".py":
        if continued:
            raise ValueError("--continue is for a directory with weights; model() may load its own")
        return FileSubject(model)
    kind = kind_of(data)
    if kind == "classification" and has_targets(data) and writes_targets(model):
        kind = "pairs"
    num_classes = len(classes_of(data)) if kind == "classification" else 0
    return HuggingFaceSubject(model, kind, num_classes, continued=continued)


def perform_trial(job: TrialJob, notify: Notify) -> None:
    """Train one run; whatever goes wrong becomes a message, apart from Ctrl-C."""
    options = TrialOptions(**job.options)
    try:
        spec = spec_of_values(job.spec)
        subject, data = opened(
            options.model, options.data, options.directory, options.context, options.continued
        )
        if (subject.digest, data.digest) != (spec.model, spec.data):
            raise ValueError("the model or the data changed while the trial ran: start it again")
        runner = Runner(
            Path(options.directory),
            subject,
            data,
            resolve_device(options.device),
            options.threads,
            options.checkpoint_seconds,
            notify,
        )
        runner.record(spec)
    except RunBusy:
        notify({"event": "busy"})
    except DamagedRun as error:
        notify(failure(error, again=False))
    except Exception as error:
        notify(failure(error, again=False))
    else:
        notify({"event": "ended"})


def described_trial(specs: "list[TrialRunSpec]") -> list[Described]:
    """The runs of a trial, as they are shown."""
    return [
        Described(
            spec.digest,
            spec.title,
            spec.settings.steps,
            reached=lambda look: int(look["step"]),
            words=lambda look: (f"held-out loss {look['held_out_loss']:.4f}",),
            ended=_outcome,
            unit="step",
        )
        for spec in specs
    ]


def _outcome(record: dict[str, Any]) -> tuple[str, str]:
    if record["state"] != "done":
        return record["state"], f"{record['state']}: {record['reason']}"
    return "done", f"held-out loss {record['curve']['held_out_loss'][-1]:.4f}"
