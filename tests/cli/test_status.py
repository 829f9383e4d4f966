from pathlib import Path

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.runs.plan import Plan, write_plan
from semfocus.training import run
from semfocus.words import duration
from tests.strict_json import read_json

EPOCH = {
    **{"train_loss": 0.5, "train_accuracy": 0.75, "held_out_loss": 0.5, "held_out_accuracy": 0.5},
    **{"train_seconds": 3.0, "evaluation_seconds": 1.0, "learning_rate": 0.1},
}


@pytest.fixture
def specs(store, tiny_spec) -> list:
    """Done, failed, interrupted, without a word, running (once its lock is held), planned."""
    specs = [tiny_spec(seed=seed, training={"epochs": 10}) for seed in range(6)]
    run(specs[0], store)
    for spec, last in zip(specs[1:5], ("failed", "interrupted", None, None), strict=True):
        directory = store.directory(spec)
        directory.create(spec.model_dump(mode="json"))
        directory.note("attempt", resumed_after=-1, problems=[])
        for epoch in range(3):
            directory.note("epoch", epoch=epoch, **EPOCH)
        if last:
            directory.note(last, reason="worker ended by signal 9" if last == "failed" else None)
    write_plan(
        store, Plan("mini", "Which <b>wins</b>?", "semfocus study mini", [each.digest for each in specs])
    )
    return specs


def ask(store, *options: str) -> str:
    result = CliRunner().invoke(app, ["status", "--store", str(store.path), *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def snapshot(path: Path) -> dict[Path, tuple[int, int]]:
    return {each: (each.stat().st_mtime_ns, each.stat().st_size) for each in path.rglob("*")}


def test_states_counts_and_time_left(store, specs) -> None:
    before = snapshot(store.path)
    with store.directory(specs[4]).owned():
        before |= snapshot(store.path)
        (study,) = read_json(ask(store, "--json"))
        text = " ".join(ask(store).split())  # lines are broken as the terminal is wide
        assert snapshot(store.path) == before, "status only reads"
    states = {run["run"]: run["state"] for run in study["runs"]}
    assert [states[spec.digest] for spec in specs] == [
        "done", "failed", "interrupted", "unfinished", "running", "planned"
    ]  # fmt: skip
    assert (study["done"], study["planned"], study["running"]) == (1, 1, 1)
    # Epochs of 4 s, 8 of 10 left in four runs; the planned one counts as an average run (four of 40 s, one of
    # almost 0).
    assert study["seconds_left"] == pytest.approx(4 * 8 * 4 + 4 * 40 / 5, rel=0.01)
    assert "Which <b>wins</b>?" in text
    assert "worker ended by signal 9" in text
    assert "epoch 2/10" in text
    assert "32 s left" in text


def test_measurements_that_cannot_be_read_are_named(store, specs) -> None:
    path = store.directory(specs[0]).path
    store.directory(specs[0]).keep("weight_norm", [{"norm": 1.0}])
    assert "damaged" not in ask(store)
    (path / "probes.json").write_text('{"rows": [{"quantity"', encoding="utf-8")
    (path / "twins.json").write_text('{"twins": [1]}', encoding="utf-8")
    (study,) = read_json(ask(store, "--json"))
    (first, *others) = study["runs"]
    assert [any(name in each for each in first["damaged"]) for name in ("probes", "twins")] == [True, True]
    assert not any(run["damaged"] for run in others)
    text = ask(store)
    assert "probes.json" in text.replace("\n", "")
    assert "1 done" in text, "the run itself is whole"


def test_a_store_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["status", "--store", str(tmp_path / "nothing")])
    assert result.exit_code == 2
    assert "there is no store at" in result.stderr
    assert not (tmp_path / "nothing").exists()


def test_an_empty_store(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["status", "--store", str(tmp_path)]).stdout == "no runs yet\n"


def test_durations_are_readable() -> None:
    assert [duration(seconds) for seconds in (0.4, 89, 91, 3600, 5400, 11_100)] == [
        "0 s", "89 s", "2 min", "60 min", "1 h 30 min", "3 h 05 min"
    ]  # fmt: skip
