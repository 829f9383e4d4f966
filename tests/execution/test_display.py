from io import StringIO

import pytest
from rich.console import Console

from semfocus.execution.display import PlainLines, State, described_runs, display, picture
from semfocus.execution.progress import Watcher
from semfocus.runs.record import Record


def row(epoch: int, seconds: float = 1.0) -> dict[str, float]:
    return {
        **{"epoch": epoch, "train_accuracy": 0.75, "held_out_accuracy": 0.5},
        **{"train_seconds": seconds, "evaluation_seconds": 0.0},
    }


def record(state: str, reason: str | None = None) -> Record:
    summary = {"target_accuracy": 0.95, "epochs_to_target": 3, "last_held_out_accuracy": 0.9}
    return Record({"state": state, "reason": reason, "summary": summary if state == "done" else {}})


@pytest.fixture
def specs(tiny_spec) -> list:
    return [tiny_spec(seed=seed, training={"epochs": 10}) for seed in range(280)]


def drawn(state: State, height: int) -> str:
    console = Console(file=StringIO(), width=110, height=height)
    console.print(picture(state, height))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_many_runs_fit_the_terminal(specs) -> None:
    state = State(described_runs(specs))
    for spec in specs[:100]:
        state.run_ended(spec, record("done"))
    state.run_ended(specs[100], record("failed", "worker ended by signal 9"))
    for spec in specs[101:161]:
        state.run_started(spec, 1)
        state.epoch_ended(spec, row(4))
    text = drawn(state, height=24)
    assert text.count("\n") <= 24
    assert "101/280 runs · 1 failed" in text
    assert "4/10" in text
    assert "train  75.0%" in text
    assert "and 44 more" in text
    assert "failed: worker ended by signal 9" in text


def test_time_left_counts_runs_at_once_and_never_less_than_the_longest(specs) -> None:
    state = State(described_runs(specs[:4]))
    assert state.seconds_left() is None
    for spec in specs[:2]:
        state.run_started(spec, 1)
        state.epoch_ended(spec, row(0, seconds=99.0))  # the untrained model is only evaluated
        state.epoch_ended(spec, row(1, seconds=2.0))
    assert state.seconds_left() == pytest.approx((2 * 18 + 2 * 20) / 2)
    for spec in specs[2:4]:
        state.run_ended(spec, record("done"))
    state.run_ended(specs[1], record("done"))
    assert state.seconds_left() == pytest.approx(18)


def test_a_failed_attempt_is_to_come_again(specs) -> None:
    state = State(described_runs(specs[:2]))
    state.run_started(specs[0], 1)
    state.run_failed(specs[0], 1, "broken")
    assert (len(state.running), len(state.to_come)) == (0, 2)


def test_plain_lines_elsewhere(specs) -> None:
    console = Console(file=StringIO(), width=60)
    lines = PlainLines(described_runs(specs[:2]), console, 30.0)
    lines.run_started(specs[0], 1)
    lines.epoch_ended(specs[0], row(1))
    lines.run_failed(specs[0], 1, "line one\nline [bold]two")
    lines.run_ended(specs[0], record("done"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.splitlines() == [
        "[0/2] even_pairs top_k(3) seed 0: attempt 1 failed: line one line [bold]two; about 20 s left",
        "[1/2] even_pairs top_k(3) seed 0: 95% at epoch 3, held-out 90.0%; about 10 s left",
    ]


def test_quiet_is_silent(specs, capfd: pytest.CaptureFixture[str]) -> None:
    with display(described_runs(specs), quiet=True) as watcher:
        assert type(watcher) is Watcher
        watcher.run_ended(specs[0], record("done"))
    assert capfd.readouterr() == ("", "")
