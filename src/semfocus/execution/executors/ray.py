"""Jobs on a Ray cluster: this process holds the runs and writes the store, workers send what they computed."""

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from semfocus.execution.executor import Hear, usable_cores
from semfocus.execution.executors.pool import PATIENCE
from semfocus.execution.executors.ray_worker import RayWorker, RemoteMeasuring, RemoteTraining
from semfocus.execution.jobs import Job, MeasuringJob, Message, TrainingJob, failure
from semfocus.measurements import measurement_of
from semfocus.runs import RunBusy, RunDirectory
from semfocus.runs.directory import DamagedRun
from semfocus.runs.transfer import pack, unpack

#: characters of an error of Ray's that are kept: it ends with the cause
_REASON = 200


class Place:
    """One actor, the job it has, and what is awaited from it: the next messages, and the end of the job's call."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.answer = actor.next_messages.remote()
        self.ready = False  # until it has answered, it may still wait for a free core
        self.job: Job | None = None
        self.call: Any = None
        self.directory: RunDirectory | None = None
        self.ownership = ExitStack()

    def release(self) -> None:
        """The job is over: let go of its run."""
        self.job = self.directory = self.call = None
        self.ownership.close()


class RayExecutor:
    """A cluster that is already known or named by RAY_ADDRESS, else one on this machine for as long as the study."""

    def __init__(self, workers: int | None, threads: int, hear: Hear) -> None:
        self.ray = _import_ray()
        self.hear = hear
        self.connected_here = _connect(self.ray, workers or max(1, usable_cores() // threads), threads)
        room = max(1, int(self.ray.available_resources().get("CPU", 1)) // threads)
        self.size = min(workers or room, room)
        # Actors are not started again by Ray: how often a run is tried is our own decision.
        self.Actor = self.ray.remote(num_cpus=threads, max_restarts=0, max_task_retries=0, max_concurrency=3)(
            RayWorker
        )
        self.places: list[Place] = []
        self.refused: list[tuple[str, Message]] = []

    def free(self) -> int:
        return self.size - sum(place.job is not None for place in self.places) - len(self.refused)

    def start(self, job: Job) -> None:
        if isinstance(job, TrainingJob):
            self._start_run(job)
        elif isinstance(job, MeasuringJob):
            self._start_measuring(job)
        else:
            raise ValueError(f"{job.run} cannot be done on Ray: use the pool")

    def _start_measuring(self, job: MeasuringJob) -> None:
        """Workers only read a run; what they find comes home in their messages."""
        directory = RunDirectory(Path(job.place))
        try:
            source = None if job.recipe_file is None else Path(job.recipe_file).read_bytes()
            measurement = measurement_of(job.measurement, job.options)
            paths = measurement.files(directory, job.part)
            files = {str(path.relative_to(directory.path)): path.read_bytes() for path in paths}
        except (OSError, ValueError, DamagedRun) as error:
            self.refused.append((job.run, failure(error, again=False)))
            return
        place = self._free_place()
        place.job = job
        place.call = place.actor.perform.remote(RemoteMeasuring(job, files, source))

    def _start_run(self, job: TrainingJob) -> None:
        directory = RunDirectory(Path(job.store) / job.run)
        directory.create(job.spec)
        ownership = ExitStack()
        try:
            ownership.enter_context(directory.owned())
        except RunBusy:
            self.refused.append((job.run, {"event": "busy"}))
            return
        directory.remove_leftovers()
        if directory.record() is not None:  # another process may have ended it meanwhile
            ownership.close()
            self.refused.append((job.run, {"event": "ended"}))
            return
        try:
            source = None if job.recipe_file is None else Path(job.recipe_file).read_bytes()
        except OSError as error:
            ownership.close()
            self.refused.append((job.run, failure(error, again=False)))
            return
        place = self._free_place()
        place.job, place.directory, place.ownership = job, directory, ownership
        place.call = place.actor.perform.remote(RemoteTraining(job, pack(directory), source))

    def _free_place(self) -> Place:
        return next((place for place in self.places if place.job is None), None) or self._hire()

    def _hire(self) -> Place:
        place = Place(self.Actor.remote())
        self.places.append(place)
        return place

    def wait(self, seconds: float) -> None:
        refused, self.refused = self.refused, []
        for run, message in refused:
            self.hear(run, message)
        self._make_room()
        awaited = {place.answer: place for place in self.places}
        # A call that fails before our own code runs, on arguments that cannot be read there, sends no message.
        awaited |= {place.call: place for place in self.places if place.call is not None}
        if refused or not awaited:
            return
        ready, _ = self.ray.wait(list(awaited), timeout=max(seconds, 0.0), num_returns=1)
        for reference in ready:
            self._listen(awaited[reference], reference)

    def _make_room(self) -> None:
        """An idle actor keeps its core: let it go if another one may be waiting for it."""
        if any(place.job is not None and not place.ready for place in self.places):
            for place in [place for place in self.places if place.job is None]:
                self.ray.kill(place.actor)
                self.places.remove(place)

    def _listen(self, place: Place, reference: Any) -> None:
        try:
            found = self.ray.get(reference)
        except (
            self.ray.exceptions.RayError
        ) as error:  # of the actor, of the call, or that the node has no memory
            how = " ".join(str(error).split())[-_REASON:]
            if getattr(error, "actor_init_failed", False):
                raise ChildProcessError(f"Ray workers cannot start: {how}") from None
            killed = {
                "event": "failed",
                "kind": "killed",
                "reason": f"Ray worker ended: {how}",
                "again": True,
            }
            self._dismiss(place, killed)
            return
        if reference is place.call:  # how the job went is said in its messages
            place.call = None
            return
        place.ready = True
        place.answer = place.actor.next_messages.remote()
        for message in found:
            if place in self.places:
                self._pass_on(place, message)

    def _pass_on(self, place: Place, message: Message) -> None:
        """Files first: whoever hears that a run has ended will read its record."""
        assert place.job is not None
        run, event = place.job.run, message["event"]
        if "parcel" in message:
            assert place.directory is not None
            try:
                unpack(place.directory, message.pop("parcel"))
            except RunBusy:  # another host has it now
                self._dismiss(place, {"event": "busy"})
                return
        if event not in ("started", "epoch", "saved", "point"):
            place.release()
        if event == "failed":
            message["errno"] = None  # a full disk of one node does not concern the others
        if event != "saved":
            self.hear(run, message)

    def _dismiss(self, place: Place, message: Message) -> None:
        self.places.remove(place)
        self.ray.kill(place.actor)  # it may still be there, and work on the run that another is to get
        job = place.job
        place.release()
        if job is not None:
            self.hear(job.run, message)

    def stop(self) -> None:
        for place in self.places:
            place.actor.interrupt.remote()
        patient_until = time.monotonic() + PATIENCE
        while any(place.job is not None for place in self.places) and time.monotonic() < patient_until:
            self.wait(0.5)

    def close(self) -> None:
        for place in self.places:
            self.ray.kill(place.actor)
            place.release()
        if self.connected_here:
            self.ray.shutdown()


def _import_ray() -> Any:
    # Ray reports to its makers unless told not to; semfocus makes no network call that nobody asked for.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise ValueError(
            "the Ray executor needs Ray: pip install 'semfocus[ray]' (or pip install ray)"
        ) from None
    return ray


def _connect(ray: Any, workers: int, threads: int) -> bool:
    """Join the cluster there is, or start one; whether this is our own connection."""
    if ray.is_initialized():
        return False
    named = os.environ.get("RAY_ADDRESS")
    try:
        ray.init(address=named or "auto", logging_level="ERROR")
    except ConnectionError as error:
        if named:  # whoever names a cluster does not want the work done here
            raise ValueError(f"no Ray cluster answers at RAY_ADDRESS={named}: {error}") from None
        ray.init(address="local", num_cpus=workers * threads, include_dashboard=False, logging_level="ERROR")
    return True
