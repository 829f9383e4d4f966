"""Every run once, whatever happens to the others."""

import errno
import sys
from pathlib import Path

import pytest

from semfocus.execution.executors.pool import WorkerProcess
from semfocus.runs import load_recipe, open_store, result_digest, study_digest
from semfocus.runs.journal import append
from semfocus.studies import RunSpec, Watcher, run_study
from tests.execution.minis import events_of, mini_study, start_study
from tests.tests_recipe import RECIPE


class Listener(Watcher):
    def __init__(self) -> None:
        self.heard: list[tuple] = []

    def run_started(self, spec, attempt) -> None:
        self.heard.append(("started", spec.digest, attempt))

    def epoch_ended(self, spec, row) -> None:
        self.heard.append(("epoch", spec.digest, row["epoch"]))

    def run_failed(self, spec, attempt, reason) -> None:
        self.heard.append(("failed", spec.digest, attempt))

    def run_ended(self, spec, record) -> None:
        self.heard.append(("ended", spec.digest, record["state"]))

    def of(self, spec: RunSpec) -> list[tuple]:
        return [(what, how) for what, digest, how in self.heard if digest == spec.digest]


@pytest.mark.slow
def test_serial_and_pool_give_the_same_records_in_the_order_of_the_specs(tmp_path: Path) -> None:
    specs = mini_study(4)
    specs.append(specs[0])
    digests = set()
    for executor, workers in (("serial", None), ("pool", 2)):
        listener = Listener()
        store = open_store(tmp_path / executor)
        records = run_study(specs, store, executor=executor, workers=workers, watcher=listener)
        assert [record["run"] for record in records] == [spec.digest for spec in specs]
        digests.add(study_digest(records[:4]))
        for spec in specs:
            assert listener.of(spec) == [
                ("started", 1), ("epoch", 0), ("epoch", 1), ("epoch", 2), ("ended", "done")
            ]  # fmt: skip
            assert events_of(store, spec) == {"attempt": 1, "epoch": 3}
    assert len(digests) == 1


def test_a_study_that_is_done_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = mini_study(2)
    first = run_study(specs, tmp_path, executor="serial")
    monkeypatch.setattr(WorkerProcess, "__init__", None)  # no worker may start
    listener = Listener()
    assert run_study(specs, tmp_path, watcher=listener) == first
    assert [what for what, *_ in listener.heard] == ["ended", "ended"]


FAILING = (
    RECIPE
    + '''

@dataclass(frozen=True)
class Breaks(Pattern):
    """Prints, and fails in one of several ways."""

    how: int

    name = "breaks"
    family = "input-agnostic"

    def keep(self, scores, allowed, generator=None):
        print("a stray line")
        if self.how == 1:
            raise RuntimeError("broken pattern")
        if self.how == 2:
            raise MemoryError
        if self.how == 9:
            import os

            os.kill(os.getpid(), 9)
        return allowed
'''
)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.py"
    path.write_text(FAILING)
    return path


def own(path: Path, pattern: str, **training: object) -> RunSpec:
    """A run with a pattern of the recipe file."""
    values = mini_study(2, **training)[0].model_dump(mode="json")
    return RunSpec(**values | {"pattern": pattern, "recipe": load_recipe(path)[1]})


def test_failing_and_diverging_runs_do_not_stop_the_others(tmp_path: Path, recipe: Path, capfd) -> None:
    specs = [
        own(recipe, "breaks(1)"),
        own(recipe, "breaks(2)"),
        own(recipe, "breaks(3)"),
        own(recipe, "full", learning_rate=1e30, clip_norm=None),
        *mini_study(2),
    ]
    listener = Listener()
    store = open_store(tmp_path / "runs")
    records = run_study(specs, store, workers=1, recipe_file=recipe, watcher=listener)
    assert [record["state"] for record in records] == [
        "failed", "failed", "done", "diverged", "done", "done"
    ]  # fmt: skip
    assert [record["reason"] for record in records[:2]] == ["broken pattern", "MemoryError"]
    for spec in specs[:2]:
        assert events_of(store, spec)["attempt"] == 3
        assert events_of(store, spec)["failed"] == 3
        assert [how for what, how in listener.of(spec) if what in ("started", "failed")] == [1, 1, 2, 2, 3, 3]
        assert listener.of(spec)[-1] == ("ended", "failed")
    assert events_of(store, specs[3])["attempt"] == 1, "a diverged run is a result"
    assert "a stray line" in capfd.readouterr().err


def test_a_worker_loads_the_recipe_file_that_the_spec_names(tmp_path: Path, recipe: Path) -> None:
    spec = own(recipe, "every_other(2)")
    with pytest.raises(ValueError, match="recipe file of digest"):
        run_study([spec], tmp_path / "runs")
    recipe.write_text(FAILING + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has digest"):
        run_study([spec], tmp_path / "runs", recipe_file=recipe)
    assert not (tmp_path / "runs").exists()


def test_what_only_this_process_knows_is_refused_before_anything_starts(tmp_path: Path, recipe: Path) -> None:
    load_recipe(recipe)
    spec = RunSpec(**mini_study(2)[0].model_dump(mode="json") | {"pattern": "every_other(2)+G1"})
    with pytest.raises(
        ValueError, match=r"every_other\(2\)\+G1|every_other\(2\) is defined in semfocus_recipe"
    ):
        run_study([spec], tmp_path / "runs")
    (record,) = run_study([spec], tmp_path / "runs", executor="serial")
    assert record["state"] == "done"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": "threads"}, "executor must be serial, pool or ray, got 'threads'"),
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"attempts": 0}, "attempts must be at least 1, got 0"),
        ({"device": "gpu"}, "device 'gpu' cannot be used here"),
        ({"log": "wandb"}, "log must be 'tensorboard', got 'wandb'"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        run_study(mini_study(2), tmp_path / "runs", **options)
    assert not (tmp_path / "runs").exists()


def test_workers_that_cannot_start_are_one_error_not_many_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python imports this by itself at its start, from wherever semfocus and torch come.
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.exit('no torch here')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ChildProcessError, match=r"worker processes cannot start.*no torch here"):
        run_study(mini_study(4), tmp_path / "runs", workers=2)
    assert open_store(tmp_path / "runs").records() == []


def test_a_damaged_run_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    store, specs = open_store(tmp_path), mini_study(4)
    for spec, name, content in (
        (specs[0], "journal.jsonl", '{"event": 1}\n'),
        (specs[1], "record.json", "{"),
    ):
        store.directory(spec).create(spec.model_dump(mode="json"))
        (store.directory(spec).path / name).write_text(content)
    records = run_study(specs, store, executor="serial")
    assert [record["state"] for record in records] == ["corrupt", "corrupt", "done", "done"]


def test_a_full_disk_stops_the_study_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, event, check=None) -> int:
        if event["event"] == "epoch" and event["epoch"] == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return append(path, event, check)

    store, specs = open_store(tmp_path), mini_study(4)
    monkeypatch.setattr("semfocus.runs.directory.append", full)
    with pytest.raises(OSError, match="No space left on device"):
        run_study(specs, store, executor="serial")
    assert [record["state"] for record in store.records()] == ["failed"], "the other runs were not tried"
    monkeypatch.undo()
    whole = run_study(specs, tmp_path / "whole", executor="serial")
    assert study_digest(run_study(specs, store, executor="serial")) == study_digest(whole)


def test_a_run_that_another_process_holds_is_waited_for(tmp_path: Path) -> None:
    """Held at first, then free: it is trained here. Held, then ended: its record is read."""
    store, specs = open_store(tmp_path), mini_study(2)
    directory = store.directory(specs[0])
    directory.create(specs[0].model_dump(mode="json"))
    held = directory.owned()
    held.__enter__()

    class LetGo(Listener):
        def run_ended(self, spec, record) -> None:
            super().run_ended(spec, record)
            if spec.digest == specs[1].digest:
                held.__exit__(None, None, None)

    listener = LetGo()
    records = run_study(specs, store, executor="serial", watcher=listener)
    assert [record["state"] for record in records] == ["done", "done"]
    assert listener.of(specs[0])[0] == ("started", 1), "waiting is not an attempt"


def test_two_processes_on_one_store_share_the_work(tmp_path: Path) -> None:
    study = {"num_runs": 8, "epochs": 30}
    both = [start_study(tmp_path, study, together=2, executor="serial") for _ in range(2)]
    done = []
    for process in both:
        names, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        done.append(names.split())
    assert all(done), "one process did everything"
    assert sorted(done[0] + done[1]) == sorted(spec.digest for spec in mini_study(**study))
    store = open_store(tmp_path)
    for spec in mini_study(**study):
        assert events_of(store, spec) == {"attempt": 1, "epoch": 31}
    assert [record["state"] for record in store.records()] == ["done"] * 8


def test_a_log_for_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    specs = mini_study(2)
    finished, to_come = run_study(specs[:1], tmp_path, executor="serial"), specs[1:]
    records = run_study([*specs[:1], *to_come], tmp_path, executor="serial", log="tensorboard")
    assert records[0] == finished[0]
    for record in records:
        (folder,) = (tmp_path / "tensorboard").glob(f"*_{record['run'][:8]}")
        read = EventAccumulator(str(folder)).Reload()
        logged = [(event.step, event.value) for event in read.Scalars("accuracy/train")]
        expected = zip(record["curve"]["epoch"], record["curve"]["train_accuracy"], strict=True)
        assert logged == [(step, pytest.approx(value)) for step, value in expected]


def test_without_tensorboard_the_message_says_what_to_install(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ValueError, match="pip install"):
        run_study(mini_study(2), tmp_path / "runs", log="tensorboard")


def test_digest_of_a_study_does_not_depend_on_the_order(tmp_path: Path) -> None:
    records = run_study(mini_study(4), tmp_path, executor="serial")
    assert study_digest(records) == study_digest(records[::-1]) != study_digest(records[:-1])
    assert len({result_digest(record) for record in records}) == 4


def test_the_watcher_of_version_0_1_has_its_old_name_too() -> None:
    import semfocus.studies

    with pytest.warns(DeprecationWarning, match="Watcher"):
        assert semfocus.studies.StudyWatcher is Watcher
