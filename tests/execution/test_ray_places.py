"""What the Ray executor does when Ray itself fails, shown with a stand-in for Ray."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from semfocus.execution.executors import ray as ray_executor
from semfocus.execution.jobs import TrainingJob
from semfocus.runs import RunBusy, RunDirectory
from semfocus.runs.transfer import Parcel
from tests.execution.minis import mini_study


class RayError(Exception):
    pass


class RayActorError(RayError):
    actor_init_failed = False


class Reference:
    """What will come: an outcome, an error, or nothing yet."""

    def __init__(self, outcome: Any = None, *, ready: bool = True) -> None:
        self.outcome = outcome
        self.ready = ready


class Method:
    """A remote method whose calls give these references, the last one for ever."""

    def __init__(self, *references: Reference) -> None:
        self.references = list(references)

    def remote(self, *arguments: object) -> Reference:
        return self.references.pop(0) if len(self.references) > 1 else self.references[0]


class FakeRay:
    exceptions = SimpleNamespace(RayError=RayError, RayActorError=RayActorError)

    def __init__(self) -> None:
        self.actors: list[Any] = []
        self.killed: list[Any] = []

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def remote(self, **options: object) -> Any:
        return lambda cls: SimpleNamespace(remote=lambda: self.actors.pop(0))

    def wait(self, references: list[Reference], timeout: float, num_returns: int) -> tuple[list, list]:
        return [each for each in references if each.ready][:num_returns], []

    def get(self, reference: Reference) -> Any:
        if isinstance(reference.outcome, Exception):
            raise reference.outcome
        return reference.outcome

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(ray_executor, "_import_ray", lambda: fake)
    monkeypatch.setattr(ray_executor, "_connect", lambda *arguments: False)
    return fake


def actor(answer: Reference, call: Reference) -> Any:
    return SimpleNamespace(next_messages=Method(answer, Reference(ready=False)), perform=Method(call))


def job_in(store: Path) -> TrainingJob:
    (spec, *_) = mini_study(2)
    return TrainingJob(spec.digest, spec.model_dump(mode="json"), str(store), "cpu", 1, 10.0, None)


def start(ray: FakeRay, store: Path) -> tuple[ray_executor.RayExecutor, list[tuple[str, dict]]]:
    heard: list[tuple[str, dict]] = []
    executor = ray_executor.RayExecutor(1, 1, lambda run, message: heard.append((run, message)))
    executor.start(job_in(store))
    return executor, heard


NEVER = Reference(ready=False)
FAILURES = {
    "a call whose arguments cannot be read": (
        NEVER,
        Reference(RayError("trace\n  of\nValueError: unreadable")),
    ),
    "a node without memory": (Reference(RayError("unreadable: out of memory")), NEVER),
    "an actor that ended": (Reference(RayActorError("unreadable")), NEVER),
}


@pytest.mark.parametrize(("answer", "call"), FAILURES.values(), ids=FAILURES.keys())
def test_what_ray_says_of_a_job_is_its_failure(
    ray: FakeRay, tmp_path: Path, answer: Reference, call: Reference
) -> None:
    ray.actors = [actor(answer, call)]
    mine = ray.actors[0]
    executor, heard = start(ray, tmp_path)
    executor.wait(0.0)
    ((run, message),) = heard
    assert (run, message["event"], message["again"]) == (job_in(tmp_path).run, "failed", True)
    assert "unreadable" in message["reason"]
    assert ray.killed == [mine]
    assert executor.free() == 1
    with RunDirectory(tmp_path / run).owned():
        pass  # the run is free for another attempt


def test_a_call_that_ends_well_leaves_the_last_word_to_the_messages(ray: FakeRay, tmp_path: Path) -> None:
    ray.actors = [actor(Reference([{"event": "ended"}], ready=False), Reference(None))]
    executor, heard = start(ray, tmp_path)
    executor.wait(0.0)
    executor.wait(0.0)
    assert heard == []
    with pytest.raises(RunBusy), RunDirectory(tmp_path / job_in(tmp_path).run).owned():
        pass
    executor.places[0].answer.ready = True
    executor.wait(0.0)
    assert heard == [(job_in(tmp_path).run, {"event": "ended"})]
    assert ray.killed == []


def test_actors_that_cannot_start_end_the_study(ray: FakeRay, tmp_path: Path) -> None:
    error = RayActorError("no torch here")
    error.actor_init_failed = True
    ray.actors = [actor(Reference(error), NEVER)]
    executor, _ = start(ray, tmp_path)
    with pytest.raises(ChildProcessError, match="Ray workers cannot start: no torch here"):
        executor.wait(0.0)


def test_a_driver_that_lost_a_run_writes_nothing_of_it(ray: FakeRay, tmp_path: Path) -> None:
    """A host that slept for long loses its locks; another one goes on with the run meanwhile."""
    parcel = Parcel({"journal.jsonl": b"ours\n"}, [], {})
    news = [{"event": "saved", "parcel": parcel}, {"event": "ended", "parcel": parcel}]
    ray.actors = [actor(Reference(news, ready=False), NEVER)]
    mine = ray.actors[0]
    executor, heard = start(ray, tmp_path)
    run = job_in(tmp_path).run
    RunDirectory(tmp_path / run).note("attempt", resumed_after=-1, problems=[])
    before = (tmp_path / run / "journal.jsonl").read_bytes()
    executor.places[0].answer.ready = True
    executor.wait(0.0)
    assert heard == [(run, {"event": "busy"})]
    assert ray.killed == [mine]
    assert executor.free() == 1
    assert (tmp_path / run / "journal.jsonl").read_bytes() == before


def test_of_a_worker_that_was_given_up_nothing_is_heard_any_more(ray: FakeRay, tmp_path: Path) -> None:
    """It was stopped, or its node; Ray took it for dead, and it goes on."""
    late = Reference([{"event": "ended", "parcel": Parcel({"record.json": b"{}"})}], ready=False)
    call = Reference(RayActorError("its node is dead"))
    ray.actors = [actor(late, call)]
    executor, heard = start(ray, tmp_path)
    executor.wait(0.0)
    late.ready = True
    executor.wait(0.0)
    assert [message["event"] for _, message in heard] == ["failed"]
    assert not RunDirectory(tmp_path / job_in(tmp_path).run).has_ended
