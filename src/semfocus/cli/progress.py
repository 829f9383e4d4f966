"""Showing a run while it trains: a live bar in a terminal, one line an epoch elsewhere."""

from time import monotonic

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from semfocus.training import EpochResult, Observer


def progress_observer(title: str, quiet: bool) -> list[Observer]:
    """The observer that fits where standard error goes."""
    console = Console(stderr=True)
    if quiet:
        return []
    return [LiveBar(title, console)] if console.is_terminal else [PlainLines(title, console)]


class LiveBar(Observer):
    """Epochs and batches done, losses, accuracies, time left."""

    def __init__(self, title: str, console: Console) -> None:
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[epoch]}"),
            TextColumn("{task.fields[metrics]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=console,
        )
        self.bar = self.progress.add_task(title, total=None, epoch="", metrics="")
        self.first_epoch = self.last_epoch = 0

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        self.first_epoch, self.last_epoch = first_epoch, last_epoch
        total = last_epoch - first_epoch + 1
        self.progress.update(self.bar, total=total, epoch=f"epoch {first_epoch}/{last_epoch}")
        self.progress.start()

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        self.progress.update(self.bar, completed=epoch - self.first_epoch + 0.9 * batch / num_batches)

    def epoch_ended(self, result: EpochResult) -> None:
        self.progress.update(
            self.bar,
            completed=result.epoch - self.first_epoch + 1,
            epoch=f"epoch {result.epoch}/{self.last_epoch}",
            metrics=f"train {result.train_accuracy:.1%} held-out {result.held_out_accuracy:.1%} loss {result.train_loss:.4f}",
        )

    def run_ended(self) -> None:
        self.progress.stop()


class PlainLines(Observer):
    """For log files: one line an epoch."""

    def __init__(self, title: str, console: Console) -> None:
        self.title = title
        self.console = console
        self.first_epoch = self.last_epoch = 0
        self.started = monotonic()

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        self.first_epoch, self.last_epoch = first_epoch, last_epoch
        self.started = monotonic()

    def epoch_ended(self, result: EpochResult) -> None:
        pace = (monotonic() - self.started) / (result.epoch - self.first_epoch + 1)
        left = pace * (self.last_epoch - result.epoch)
        self.console.print(
            f"{self.title}  epoch {result.epoch}/{self.last_epoch}"
            f"  train {result.train_accuracy:.4f} (loss {result.train_loss:.4f})"
            f"  held-out {result.held_out_accuracy:.4f} (loss {result.held_out_loss:.4f})"
            f"  {left:.0f} s left",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
