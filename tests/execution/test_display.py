import builtins
import re
import sys
from html import unescape
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


class ZMQInteractiveShell:
    """What rich takes for the sign of a notebook."""


def test_a_notebook_shows_the_live_table_in_one_output_that_is_replaced(
    specs, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []

    def show(page: Any, display_id: bool) -> Any:
        assert display_id
        shown.append(page)
        return SimpleNamespace(update=lambda new: shown.__setitem__(-1, new))

    module = SimpleNamespace(HTML=str, display=show)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=module))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    with display(described_runs(specs[:2])) as watcher:
        assert "0/2 runs" in plain_text(shown[0])
        watcher.run_started(specs[0], 1)
        watcher.epoch_ended(specs[0], row(1))
        watcher.run_ended(specs[0], record("done"))
    (html,) = shown
    assert "1/2 runs" in plain_text(html), "drawn at the end, however fast it was"
    assert "95% at epoch 3, held-out 90.0%" in plain_text(html)
    assert html.count("<pre") == 1
    assert capfd.readouterr() == ("", ""), "no plain lines besides"


def plain_text(html: str) -> str:
    return unescape(re.sub("<[^>]*>", "", html))


NOTEBOOK = """
from semfocus import Study
from semfocus.runs import RunSpec
small = {"length": 6, "num_train": 20, "num_held_out": 10, "epochs": 1}
result = Study([RunSpec(task="parity", training=small)], STORE).run(executor="serial")
"""


@pytest.mark.slow
def test_a_real_notebook_shows_it(tmp_path: Path) -> None:
    reason = "a notebook needs nbclient, nbformat and ipykernel, which semfocus does not"
    pytest.importorskip("ipykernel", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    formats = pytest.importorskip("nbformat.v4", reason=reason)
    code = NOTEBOOK.replace("STORE", repr(str(tmp_path)))
    notebook = formats.new_notebook(cells=[formats.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=300).execute()
    (cell,) = notebook.cells
    pages = [output.data["text/html"] for output in cell.outputs if output.output_type == "display_data"]
    assert len(pages) == 1
    assert "1/1 runs" in plain_text(pages[0])
