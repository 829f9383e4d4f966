"""The worker's side of the Ray executor, without Ray: files go out and come back, also half-way."""

from pathlib import Path

from semfocus.execution.executors.ray_worker import RayWorker, RemoteTraining
from semfocus.execution.jobs import TrainingJob
from semfocus.runs import RunDirectory, RunSpec, Store, open_store, result_digest
from semfocus.runs.checkpoints import load_newest, save_checkpoint
from semfocus.runs.transfer import pack, unpack
from semfocus.training import run
from tests.execution.minis import events_of, mini_study


def remote_job(spec: RunSpec, store: Store, probe_every: int | None = None) -> RemoteTraining:
    values = spec.model_dump(mode="json")
    job = TrainingJob(spec.digest, values, "", "cpu", 1, 0.0, None, probe_every)
    store.directory(spec).create(values)
    return RemoteTraining(job, pack(store.directory(spec)), None)


def perform(worker: RayWorker, spec: RunSpec, store: Store, probe_every: int | None = None) -> list[str]:
    """Do the job and bring back its files, as the executor would."""
    worker.perform(remote_job(spec, store, probe_every))
    events = []
    while not worker.messages.empty():
        for message in worker.next_messages():
            events.append(message["event"])
            if "parcel" in message:
                unpack(store.directory(spec), message["parcel"])
    return events


def test_an_interrupted_run_comes_home_and_continues_elsewhere(tmp_path: Path) -> None:
    spec = mini_study(2, epochs=6)[0]
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    stopped = RayWorker()
    stopped.interrupt()  # heard after the first batch: the untrained model has been saved
    assert perform(stopped, spec, store) == ["started", "epoch", "saved", "interrupted"]
    assert events_of(store, spec) == {"attempt": 1, "epoch": 1, "interrupted": 1}
    assert perform(RayWorker(), spec, store)[-1] == "ended"
    (record,) = store.records()
    assert record["attempts"] == 2
    assert result_digest(record) == result_digest(whole)
    names = [sorted(path.name for path in open_store(tmp_path / part).directory(spec).checkpoints.iterdir())
             for part in ("whole", "parts")]  # fmt: skip
    assert names[1][0] == names[0][0], "the best checkpoint"
    assert names[1][1:] == ["last-000005", "last-000006"]


def test_a_run_that_starts_again_elsewhere_replaces_its_damaged_checkpoints(tmp_path: Path) -> None:
    spec, store = mini_study(2)[0], open_store(tmp_path)
    whole = run(spec, store, checkpoint_seconds=0)
    directory = store.directory(spec)
    (directory.path / "record.json").unlink()
    for path in directory.checkpoints.glob("last-*/model.safetensors"):
        path.write_bytes(b"")
    assert perform(RayWorker(), spec, store)[-1] == "ended"
    (record,) = store.records()
    assert result_digest(record) == result_digest(whole)
    newest, problems = load_newest(directory.checkpoints, "last")
    assert newest is not None
    assert (newest.epoch, problems) == (2, [])


def test_what_fails_outside_of_training_is_a_message_too(tmp_path: Path) -> None:
    spec, worker = mini_study(2)[0], RayWorker()
    remote = remote_job(spec, open_store(tmp_path))
    remote.parcel.plain["env.json"] = None  # type: ignore[assignment]
    worker.perform(remote)
    (message,) = worker.next_messages()
    assert (message["event"], message["again"]) == ("failed", True)


def test_unpacking_makes_directories_equal_and_sends_known_checkpoints_once(tmp_path: Path) -> None:
    spec = mini_study(2)[0]
    store = open_store(tmp_path / "runs")
    run(spec, store, checkpoint_seconds=0)
    source, target = store.directory(spec), RunDirectory(tmp_path / "copy")
    (target.checkpoints / "last-000099").mkdir(parents=True)  # of an abandoned future
    unpack(target, pack(source))
    assert pack(target) == pack(source)
    assert pack(source, known=pack(source).generations).checkpoints == {}


def test_what_is_measured_comes_home_with_the_journal_and_kept_states_stay(tmp_path: Path) -> None:
    spec = mini_study(2, epochs=6)[0]
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    stopped = RayWorker()
    stopped.interrupt()
    perform(stopped, spec, store, probe_every=4)
    assert events_of(store, spec)["probe"] == 1
    kept = load_newest(store.directory(spec).checkpoints, "last")[0]
    assert kept is not None
    save_checkpoint(store.directory(spec).checkpoints, "at", kept, keep=None)
    perform(RayWorker(), spec, store, probe_every=4)
    (record,) = store.records()
    assert sorted({row["epoch"] for row in record["probes"]}) == [0, 4, 6]
    assert result_digest(record) == result_digest(whole)
    assert (store.directory(spec).checkpoints / "at-000000").is_dir()
