"""Showing a trial while it runs: a live bar in a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from semfocus.cli.durations import duration
from semfocus.counts import count_of
from semfocus.trial.spec import TrialRunSpec
from semfocus.trial.watcher import TrialWatcher


@contextmanager
def watching(quiet: bool) -> Iterator[TrialWatcher]:
    """The watcher that fits where standard error goes."""
    console = Console(stderr=True)
    if quiet:
        yield TrialWatcher()
    elif console.is_terminal:
        live = LiveBar(console)
        with live.progress:
            yield live
    else:
        yield PlainLines(console)


class LiveBar(TrialWatcher):
    """One bar over the steps of all runs, and what is being trained."""

    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[runs]}"),
            TextColumn("{task.fields[loss]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=console,
        )
        self.bar = self.progress.add_task("trial", total=None, runs="", loss="")
        self.num_runs = self.num_done = self.steps = 0

    def planned(self, num_runs: int, num_done: int, steps: int) -> None:
        self.num_runs, self.num_done, self.steps = num_runs, num_done, steps
        self.progress.reset(self.bar, total=(num_runs - num_done) * steps)
        self._count()

    def run_started(self, spec: TrialRunSpec, first_step: int) -> None:
        self.progress.update(self.bar, description=spec.title, loss="", advance=first_step)

    def step_ended(self, spec: TrialRunSpec, step: int) -> None:
        self.progress.advance(self.bar)

    def looked(self, spec: TrialRunSpec, look: dict[str, Any]) -> None:
        self.progress.update(self.bar, loss=f"step {look['step']} held-out loss {look['held_out_loss']:.4f}")

    def run_ended(self, spec: TrialRunSpec, record: dict[str, Any]) -> None:
        self.num_done += 1
        self._count()

    def _count(self) -> None:
        self.progress.update(self.bar, runs=f"{self.num_done}/{self.num_runs} runs")


class PlainLines(TrialWatcher):
    """For log files: a line for each run that ends."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.num_runs = self.num_done = self.trained = 0
        self.started = monotonic()

    def planned(self, num_runs: int, num_done: int, steps: int) -> None:
        self.num_runs, self.num_done, self.trained = num_runs, num_done, 0
        self.started = monotonic()
        self._say(
            f"{count_of(num_runs, 'run')} of {count_of(steps, 'step')}"
            + f", {num_done} of them done before" * bool(num_done)
        )

    def run_ended(self, spec: TrialRunSpec, record: dict[str, Any]) -> None:
        self.num_done += 1
        self.trained += 1
        left = (monotonic() - self.started) / self.trained * (self.num_runs - self.num_done)
        losses = record["curve"]["held_out_loss"]
        what = (
            f"held-out loss {losses[-1]:.4f}"
            if record["state"] == "done"
            else f"diverged: {record['reason']}"
        )
        when = f"; about {duration(left)} left" if self.num_done < self.num_runs else ""
        self._say(f"[{self.num_done}/{self.num_runs}] {spec.title}: {what}{when}")

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)
