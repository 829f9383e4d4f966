"""What a Ray worker does: train in a folder of its own, and send home what the run directory gains."""

import queue
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from semfocus.execution.jobs import MeasuringJob, Message, TrainingJob, failure, measure, train
from semfocus.runs import RunDirectory
from semfocus.runs.transfer import Parcel, pack, unpack
from semfocus.training import EpochResult, Observer


@dataclass(frozen=True)
class RemoteTraining:
    """A job with the files it starts from; the recipe file travels as its source."""

    job: TrainingJob
    parcel: Parcel
    recipe_source: bytes | None


@dataclass(frozen=True)
class RemoteMeasuring:
    """A job with the files of the run that it reads, and the source of the recipe file."""

    job: MeasuringJob
    files: dict[str, bytes]
    recipe_source: bytes | None


class RayWorker:
    """An actor with three threads: for the job, for handing out the messages, for being interrupted."""

    def __init__(self) -> None:
        self.messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.interrupted = False

    def perform(self, remote: RemoteTraining | RemoteMeasuring) -> None:
        """Do a job. Each message about a new checkpoint, and the last one of a run, carries a parcel of files."""
        try:
            with tempfile.TemporaryDirectory(prefix="semfocus-") as folder:
                if isinstance(remote, RemoteTraining):
                    self._train(remote, Path(folder))
                else:
                    self._measure(remote, Path(folder))
        except Exception as error:  # outside of the training: this node's disk, say
            self.messages.put(failure(error, again=True))

    def _train(self, remote: RemoteTraining, folder: Path) -> None:
        directory = RunDirectory(folder / "runs" / remote.job.run)
        unpack(directory, remote.parcel)
        job = replace(remote.job, store=str(directory.path.parent))
        if remote.recipe_source is not None:
            job = replace(job, recipe_file=_recipe_file(folder, remote.recipe_source))
        sender = Sender(self, directory, set(remote.parcel.generations))
        try:
            train(job, sender.notify, [sender])
        except KeyboardInterrupt:
            sender.notify({"event": "interrupted"})

    def _measure(self, remote: RemoteMeasuring, folder: Path) -> None:
        place = folder / Path(remote.job.place).name
        for name, content in remote.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        job = replace(remote.job, place=str(place))
        if remote.recipe_source is not None:
            job = replace(job, recipe_file=_recipe_file(folder, remote.recipe_source))

        def notify(message: Message) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.messages.put(message)

        try:
            measure(job, notify)
        except KeyboardInterrupt:
            self.messages.put({"event": "interrupted"})

    def next_messages(self) -> list[Message]:
        """Wait for a message; then all that there are."""
        found = [self.messages.get()]
        while not self.messages.empty():
            found.append(self.messages.get())
        return found

    def interrupt(self) -> None:
        """Let the run save its state and end at the next batch."""
        self.interrupted = True


def _recipe_file(folder: Path, source: bytes) -> str:
    path = folder / "recipe.py"
    path.write_bytes(source)
    return str(path)


class Sender(Observer):
    """Adds to the messages what is new in the run directory; stands in for Ctrl-C, which no thread can hear."""

    def __init__(self, worker: RayWorker, directory: RunDirectory, known: set[str]) -> None:
        self.worker = worker
        self.directory = directory
        self.known = known

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        """What the attempt has removed is not known any more: it may come again under the same name."""
        self.known &= {path.name for path in self.directory.checkpoints.glob("[!.]*")}

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        if self.worker.interrupted:
            raise KeyboardInterrupt

    def epoch_ended(self, result: EpochResult) -> None:
        if any(path.name not in self.known for path in self.directory.checkpoints.glob("[!.]*")):
            self.notify({"event": "saved"})

    def notify(self, message: Message) -> None:
        if message["event"] not in ("started", "epoch"):
            parcel = pack(self.directory, self.known)
            self.known |= set(parcel.generations)
            message = message | {"parcel": parcel}
        self.worker.messages.put(message)
