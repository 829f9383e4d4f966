"""Showing a study while it runs: a live table in a terminal, plain lines elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from semfocus.cli.durations import duration
from semfocus.cli.status import COLOURS
from semfocus.cli.study_state import Running, StudyState, outcome, progress_words
from semfocus.runs import RunSpec
from semfocus.runs.record import Record
from semfocus.studies import StudyWatcher

#: seconds between two lines about runs that are under way, where there is no terminal
_QUIET_SECONDS = 30.0


@contextmanager
def study_watcher(specs: Sequence[RunSpec], quiet: bool) -> Iterator[StudyWatcher]:
    """The watcher that fits where standard error goes."""
    console = Console(stderr=True)
    if quiet:
        yield StudyWatcher()
    elif console.is_terminal:
        state = StudyState(specs)
        with Live(
            get_renderable=lambda: picture(state, console.height), console=console, refresh_per_second=4
        ):
            yield state
    else:
        yield PlainLines(specs, console)


def picture(state: StudyState, height: int) -> Group:
    """The whole study in one bar, the runs under way, and the last that ended, in as many lines as there are."""
    room = max(1, height - 3 - len(state.last_ended))
    running = list(state.running.values())
    rows = Table.grid(padding=(0, 2, 0, 0))
    for run in running[:room]:
        rows.add_row(*_row(state, run))
    hidden = [Text(f"and {len(running) - room} more", style="dim")] if len(running) > room else []
    return Group(_total(state), rows, *hidden, *(_ended(state, *each) for each in state.last_ended))


def _total(state: StudyState) -> Table:
    left = state.seconds_left()
    counts = [f"{number} {name}" for name, number in state.ended.items() if name != "done"]
    words = [f"{state.num_ended}/{state.total} runs", *counts]
    if left is not None and state.num_ended < state.total:
        words.append(f"about {duration(left)} left")
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_row(
        ProgressBar(total=state.total, completed=state.num_ended, width=40), Text(" · ".join(words), "bold")
    )
    return line


def _row(state: StudyState, run: Running) -> tuple[Any, ...]:
    spec, row = run.spec, run.row
    left = state.seconds_left_of(spec, run.epoch)
    attempt = f" (attempt {run.attempt})" if run.attempt > 1 else ""
    return (
        Text(state.title(spec) + attempt, no_wrap=True, overflow="ellipsis"),
        ProgressBar(total=max(1, spec.training.epochs), completed=run.epoch, width=16),
        Text(f"{run.epoch}/{spec.training.epochs}", justify="right"),
        *(
            Text(words, no_wrap=True)
            for words in (progress_words(row, spec.task) if row else ("starting", ""))
        ),
        Text(f"{duration(left)} left" if left is not None and row else "", no_wrap=True, style="dim"),
    )


def _ended(state: StudyState, spec: RunSpec, record: Record) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("✓ " if record["state"] == "done" else "✗ ", style=COLOURS.get(record["state"], "yellow"))
    text.append(f"{state.title(spec)}  {outcome(record)}", style="dim" if record["state"] == "done" else "")
    return text


class PlainLines(StudyState):
    """For log files: a line for each run that ends, and now and then one about those under way."""

    def __init__(self, specs: Sequence[RunSpec], console: Console) -> None:
        super().__init__(specs)
        self.console = console
        self.said_at = monotonic()

    def epoch_ended(self, spec: RunSpec, row: dict[str, Any]) -> None:
        super().epoch_ended(spec, row)
        if monotonic() - self.said_at >= _QUIET_SECONDS:
            self._say(
                f"{self.title(spec)}: epoch {row['epoch']}/{spec.training.epochs}, "
                + ", ".join(" ".join(words.split()) for words in progress_words(row, spec.task))
            )

    def run_failed(self, spec: RunSpec, attempt: int, reason: str) -> None:
        super().run_failed(spec, attempt, reason)
        self._say(f"{self.title(spec)}: attempt {attempt} failed: {reason}")

    def run_ended(self, spec: RunSpec, record: Record) -> None:
        super().run_ended(spec, record)
        self._say(f"{self.title(spec)}: {outcome(record)}")

    def _say(self, what: str) -> None:
        left = self.seconds_left()
        when = f"; about {duration(left)} left" if left and self.num_ended < self.total else ""
        line = f"[{self.num_ended}/{self.total}] {' '.join(what.split())}{when}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)
        self.said_at = monotonic()
