"""Showing work under way: a live table in a terminal or a notebook, plain lines elsewhere."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import StringIO
from time import monotonic
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from semfocus.execution.progress import Watcher
from semfocus.runs import RunSpec
from semfocus.runs.arms import run_title, varying_keys
from semfocus.runs.outcome import is_text
from semfocus.runs.record import Record
from semfocus.training import EpochResult, Observer
from semfocus.words import duration

COLOURS = {"done": "green", "running": "cyan", "failed": "red", "diverged": "magenta", "corrupt": "red"}
#: seconds between two lines about work that is under way, where there is no terminal
QUIET_SECONDS = 30.0


@dataclass(frozen=True)
class Described:
    """How one piece of work is shown: its title, how far it goes, what its rows and its result mean."""

    digest: str
    title: str
    total: int
    #: of a row: how far it is, and a few words
    reached: Callable[[dict[str, Any]], int]
    words: Callable[[dict[str, Any]], Sequence[str]]
    #: of a result: its state, and a few words
    ended: Callable[[Any], tuple[str, str]]
    #: of a row: how long it took, where it says so
    seconds: Callable[[dict[str, Any]], float | None] = lambda row: None
    #: pieces of one kind take equally long for each step
    kind: str = ""
    unit: str = "epoch"
    #: too small to be named when it ends
    is_minor: bool = False


@dataclass
class Running:
    """A piece of work that a worker has at the moment."""

    work: Described
    attempt: int
    since: float
    row: dict[str, Any] | None = None
    done: int = 0


class State(Watcher):
    """Counts and paces; shows nothing."""

    def __init__(self, works: Sequence[Described], remembered: int = 5) -> None:
        self.works = {work.digest: work for work in works}
        self.to_come = dict(self.works)
        self.running: dict[str, Running] = {}
        self.last_ended: deque[tuple[Described, str, str]] = deque(maxlen=remembered)
        self.ended: dict[str, int] = {}  # by state
        self.at_once = 1
        self._pace: dict[str, list[float]] = {}  # kind -> [seconds, steps]

    @property
    def total(self) -> int:
        return len(self.works)

    @property
    def num_ended(self) -> int:
        return sum(self.ended.values())

    def run_started(self, work: Any, attempt: int) -> None:
        self.to_come.pop(work.digest, None)
        self.running[work.digest] = Running(self.works[work.digest], attempt, monotonic())
        self.at_once = max(self.at_once, len(self.running))

    def epoch_ended(self, work: Any, row: dict[str, Any]) -> None:
        if work.digest not in self.running:  # a measurement does not say that it begins
            self.run_started(work, 1)
        running, now = self.running[work.digest], monotonic()
        described = running.work
        done = described.reached(row) if row else running.done + 1
        taken = described.seconds(row)
        if done > running.done and (taken is not None or running.row is not None):
            pace = self._pace.setdefault(described.kind, [0.0, 0.0])
            pace[0] += now - running.since if taken is None else taken
            pace[1] += done - running.done if taken is None else 1
        running.row, running.done, running.since = row, done, now

    def run_failed(self, work: Any, attempt: int, reason: str) -> None:
        if self.running.pop(work.digest, None) is not None:
            self.to_come[work.digest] = self.works[work.digest]

    def run_ended(self, work: Any, result: Any) -> None:
        described = self.works[work.digest]
        self.to_come.pop(work.digest, None)
        self.running.pop(work.digest, None)
        state, words = described.ended(result)
        self.ended[state] = self.ended.get(state, 0) + 1
        if not described.is_minor or state != "done":
            self.last_ended.append((described, state, words))

    def seconds_each(self, kind: str) -> float | None:
        """Seconds per step of this kind of work, or of any if none was seen yet."""
        seen = [self._pace[kind]] if kind in self._pace else list(self._pace.values())
        seconds, steps = (sum(column) for column in zip(*seen, strict=True)) if seen else (0.0, 0.0)
        return seconds / steps if steps else None

    def seconds_left_of(self, work: Described, done: int) -> float | None:
        each = self.seconds_each(work.kind)
        return None if each is None else each * max(0, work.total - done)

    def seconds_left(self) -> float | None:
        """With as many at a time as were seen so far."""
        parts = [self.seconds_left_of(each.work, each.done) for each in self.running.values()]
        longest = max((part for part in parts if part is not None), default=0.0)
        parts += [self.seconds_left_of(work, 0) for work in self.to_come.values()]
        known = [part for part in parts if part is not None]
        return max(longest, sum(known) / self.at_once) if len(known) == len(parts) else None


class PlainLines(State):
    """For log files: a line for each that ends, and now and then one about those under way."""

    def __init__(self, works: Sequence[Described], console: Console, seconds: float) -> None:
        super().__init__(works)
        self.console = console
        self.seconds = seconds
        self.said_at = monotonic()

    def epoch_ended(self, work: Any, row: dict[str, Any]) -> None:
        super().epoch_ended(work, row)
        if monotonic() - self.said_at >= self.seconds:
            running = self.running[work.digest]
            described = running.work
            words = ", ".join(" ".join(each.split()) for each in described.words(row)) if row else ""
            far = f"{described.unit} {running.done}/{described.total}"
            self._say(f"{described.title}: {', '.join(filter(None, (far, words)))}")

    def run_failed(self, work: Any, attempt: int, reason: str) -> None:
        super().run_failed(work, attempt, reason)
        self._say(f"{self.works[work.digest].title}: attempt {attempt} failed: {reason}")

    def run_ended(self, work: Any, result: Any) -> None:
        super().run_ended(work, result)
        described = self.works[work.digest]
        state, words = described.ended(result)
        if not described.is_minor or state != "done" or monotonic() - self.said_at >= self.seconds:
            self._say(f"{described.title}: {words}")

    def _say(self, what: str) -> None:
        left = self.seconds_left()
        when = f"; about {duration(left)} left" if left and self.num_ended < self.total else ""
        line = f"[{self.num_ended}/{self.total}] {' '.join(what.split())}{when}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)
        self.said_at = monotonic()


class NotebookCell(State):
    """The live table as the output of a notebook's cell, which each message replaces; it needs no widgets."""

    #: a message within these seconds of the last drawing waits for the next one
    _seconds = 0.25
    #: as rich writes into notebooks; colours but those of rich are the notebook's own
    _html = '<pre style="white-space:pre;overflow-x:auto;line-height:normal">{code}</pre>'

    def __init__(self, works: Sequence[Described], noun: str) -> None:
        super().__init__(works)
        self.noun = noun
        self.handle: Any = None
        self.drawn_at = -math.inf

    def run_started(self, work: Any, attempt: int) -> None:
        super().run_started(work, attempt)
        self._draw_if_old()

    def epoch_ended(self, work: Any, row: dict[str, Any]) -> None:
        super().epoch_ended(work, row)
        self._draw_if_old()

    def run_failed(self, work: Any, attempt: int, reason: str) -> None:
        super().run_failed(work, attempt, reason)
        self._draw_if_old()

    def run_ended(self, work: Any, result: Any) -> None:
        super().run_ended(work, result)
        self._draw_if_old()

    def _draw_if_old(self) -> None:
        if monotonic() - self.drawn_at >= self._seconds:
            self.draw()

    def draw(self) -> None:
        """Show how it stands now."""
        from IPython.display import HTML
        from IPython.display import display as show

        console = Console(
            file=StringIO(), record=True, width=100, force_terminal=True, force_jupyter=False, _environ={}
        )
        console.print(picture(self, 16, self.noun))
        page = HTML(console.export_html(inline_styles=True, code_format=self._html))
        if self.handle is None:
            self.handle = show(page, display_id=True)
        else:
            self.handle.update(page)
        self.drawn_at = monotonic()


@contextmanager
def display(
    works: Sequence[Described], *, quiet: bool = False, noun: str = "runs", seconds: float = QUIET_SECONDS
) -> Iterator[Watcher]:
    """The watcher that fits where standard error goes; `seconds`: between plain lines about what is under way."""
    console = Console(stderr=True)
    if quiet or not works:
        yield Watcher()
    elif console.is_jupyter:
        cell = NotebookCell(works, noun)
        cell.draw()
        try:
            yield cell
        finally:
            cell.draw()
    elif console.is_terminal:
        state = State(works)
        height = console.height
        with Live(get_renderable=lambda: picture(state, height, noun), console=console, refresh_per_second=4):
            yield state
    else:
        yield PlainLines(works, console, seconds)


def picture(state: State, height: int, noun: str = "runs") -> Group:
    """Everything in one bar, what is under way, and the last that ended, in as many lines as there are."""
    room = max(1, height - 3 - len(state.last_ended))
    running = list(state.running.values())
    rows = Table.grid(padding=(0, 2, 0, 0))
    for each in running[:room]:
        rows.add_row(*_row(state, each))
    hidden = [Text(f"and {len(running) - room} more", style="dim")] if len(running) > room else []
    return Group(_total(state, noun), rows, *hidden, *(_ended(*each) for each in state.last_ended))


def _total(state: State, noun: str) -> Table:
    left = state.seconds_left()
    counts = [f"{number} {name}" for name, number in state.ended.items() if name != "done"]
    words = [f"{state.num_ended}/{state.total} {noun}", *counts]
    if left is not None and state.num_ended < state.total:
        words.append(f"about {duration(left)} left")
    line = Table.grid(padding=(0, 2, 0, 0))
    line.add_row(
        ProgressBar(total=state.total, completed=state.num_ended, width=40), Text(" · ".join(words), "bold")
    )
    return line


def _row(state: State, running: Running) -> tuple[Any, ...]:
    work, row = running.work, running.row
    left = state.seconds_left_of(work, running.done)
    attempt = f" (attempt {running.attempt})" if running.attempt > 1 else ""
    words = work.words(row) if row else () if row is not None else ("starting",)
    return (
        Text(work.title + attempt, no_wrap=True, overflow="ellipsis"),
        ProgressBar(total=max(1, work.total), completed=running.done, width=16),
        Text(f"{running.done}/{work.total}", justify="right"),
        *(Text(each, no_wrap=True) for each in words),
        Text(f"{duration(left)} left" if left is not None and row else "", no_wrap=True, style="dim"),
    )


def _ended(work: Described, state: str, words: str) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("✓ " if state == "done" else "✗ ", style=COLOURS.get(state, "yellow"))
    text.append(f"{work.title}  {words}", style="dim" if state == "done" else "")
    return text


def described_runs(specs: Sequence[RunSpec]) -> list[Described]:
    """The runs of a study, each in words that tell it apart from all others."""
    keys = varying_keys(spec.model_dump(mode="json") for spec in specs)
    tasks = {spec.task for spec in specs}
    return [
        Described(
            spec.digest,
            run_title(spec.model_dump(mode="json"), keys, tasks),
            spec.training.epochs,
            reached=lambda row: int(row["epoch"]),
            words=accuracies if not is_text(spec.task) else perplexities,
            ended=outcome,
            seconds=lambda row: float(row["train_seconds"] + row["evaluation_seconds"]),
            kind=spec.task,
        )
        for spec in {spec.digest: spec for spec in specs}.values()
    ]


def accuracies(row: dict[str, Any]) -> tuple[str, str]:
    """How far a run is on both parts of its data."""
    return f"train {row['train_accuracy']:6.1%}", f"held-out {row['held_out_accuracy']:6.1%}"


def perplexities(row: dict[str, Any]) -> tuple[str, str]:
    """The same for text."""
    train, held_out = (math.exp(min(row[f"{part}_loss"], 700.0)) for part in ("train", "held_out"))
    return f"train perplexity {train:.2f}", f"held-out perplexity {held_out:.2f}"


def outcome(record: Record) -> tuple[str, str]:
    """How a run ended, and a few words about it."""
    summary = record.summary
    if record.state != "done" or not summary:
        return record.state, f"{record.state}: {record.reason}"
    if summary["target_accuracy"] is None:
        return "done", f"held-out perplexity {summary['last_held_out_perplexity']:.3f}"
    target, reached = summary["target_accuracy"], summary["epochs_to_target"]
    when = f"{target:.0%} at epoch {reached}" if reached is not None else f"below {target:.0%}"
    return "done", f"{when}, held-out {summary['last_held_out_accuracy']:.1%}"


class WatchedRun(Observer):
    """A run that trains in this process, for whoever watches it."""

    def __init__(self, spec: RunSpec, watcher: Watcher) -> None:
        self.spec = spec
        self.watcher = watcher

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        self.watcher.run_started(self.spec, 1)

    def epoch_ended(self, result: EpochResult) -> None:
        self.watcher.epoch_ended(self.spec, asdict(result))
