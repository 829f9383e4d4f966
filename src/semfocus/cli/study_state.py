"""What a watcher knows of a study: which runs are running, how far, and how long the rest will take."""

import math
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from semfocus.runs import RunSpec, Store
from semfocus.runs.directory import FAILURE
from semfocus.runs.record import Record, is_text
from semfocus.studies import StudyWatcher
from semfocus.studies.titles import run_title, varying_keys


@dataclass
class Running:
    """A run that a worker has at the moment."""

    spec: RunSpec
    attempt: int
    row: dict[str, Any] | None = None

    @property
    def epoch(self) -> int:
        return self.row["epoch"] if self.row else 0


class StudyState(StudyWatcher):
    """Counts and paces; shows nothing."""

    def __init__(self, specs: Sequence[RunSpec], remembered: int = 5) -> None:
        self.keys = varying_keys(spec.model_dump(mode="json") for spec in specs)
        self.tasks = {spec.task for spec in specs}
        self.to_come = {spec.digest: spec for spec in specs}
        self.total = len(self.to_come)
        self.running: dict[str, Running] = {}
        self.last_ended: deque[tuple[RunSpec, Record]] = deque(maxlen=remembered)
        self.ended: dict[str, int] = {}  # by state
        self.at_once = 1
        self._pace: dict[str, list[float]] = {}  # task -> [seconds, epochs]

    def run_started(self, spec: RunSpec, attempt: int) -> None:
        self.to_come.pop(spec.digest, None)
        self.running[spec.digest] = Running(spec, attempt)
        self.at_once = max(self.at_once, len(self.running))

    def epoch_ended(self, spec: RunSpec, row: dict[str, Any]) -> None:
        self.running[spec.digest].row = row
        if row["epoch"] > 0:  # the untrained model is only evaluated
            pace = self._pace.setdefault(spec.task, [0.0, 0.0])
            pace[0] += row["train_seconds"] + row["evaluation_seconds"]
            pace[1] += 1

    def run_failed(self, spec: RunSpec, attempt: int, reason: str) -> None:
        if self.running.pop(spec.digest, None) is not None:
            self.to_come[spec.digest] = spec

    def run_ended(self, spec: RunSpec, record: Record) -> None:
        self.to_come.pop(spec.digest, None)
        self.running.pop(spec.digest, None)
        self.ended[record["state"]] = self.ended.get(record["state"], 0) + 1
        self.last_ended.append((spec, record))

    def title(self, spec: RunSpec) -> str:
        """A run in words that tell it apart from all others of the study."""
        return title(spec, self.keys, self.tasks)

    @property
    def num_ended(self) -> int:
        return sum(self.ended.values())

    def seconds_each(self, task: str) -> float | None:
        """Seconds an epoch of this task, or of any if none was seen yet."""
        seen = [self._pace[task]] if task in self._pace else list(self._pace.values())
        seconds, epochs = (sum(column) for column in zip(*seen, strict=True)) if seen else (0.0, 0.0)
        return seconds / epochs if epochs else None

    def seconds_left_of(self, spec: RunSpec, epoch: int) -> float | None:
        each = self.seconds_each(spec.task)
        return None if each is None else each * (spec.training.epochs - epoch)

    def seconds_left(self) -> float | None:
        """With as many runs at a time as were seen so far."""
        parts = [self.seconds_left_of(run.spec, run.epoch) for run in self.running.values()]
        longest = max((part for part in parts if part is not None), default=0.0)
        parts += [self.seconds_left_of(spec, 0) for spec in self.to_come.values()]
        known = [part for part in parts if part is not None]
        return max(longest, sum(known) / self.at_once) if len(known) == len(parts) else None


def failure_line(
    record: Record, store: Store, keys: Collection[str] = (), tasks: Collection[str] = ()
) -> str:
    """Which run, its state and why, and where more is said."""
    spec, trace = record["spec"], store.path / str(record["run"]) / FAILURE
    run = f"{run_title(spec, keys, tasks) if spec else 'a run'} ({record['run']})"
    more = f"; traceback: {trace}" if trace.exists() else ""
    return f"{run} {record['state']}: {record.get('reason')}{more}"


def title(spec: RunSpec, keys: Collection[str] = (), tasks: Collection[str] = ()) -> str:
    """A run in a few words."""
    return run_title(spec.model_dump(mode="json"), keys, tasks)


def progress_words(row: dict[str, Any], task: str) -> tuple[str, str]:
    """How far a run is on both parts of its data: accuracies, for text perplexities."""
    if is_text(task):
        return tuple(
            f"{part} perplexity {math.exp(min(row[f'{column}_loss'], 700.0)):.2f}"
            for part, column in (("train", "train"), ("held-out", "held_out"))
        )  # type: ignore[return-value]
    return f"train {row['train_accuracy']:6.1%}", f"held-out {row['held_out_accuracy']:6.1%}"


def outcome(record: Record) -> str:
    """How a run ended, in a few words."""
    summary = record.get("summary") or {}
    if record["state"] != "done" or not summary:
        return f"{record['state']}: {record.get('reason')}"
    if summary["target_accuracy"] is None:
        return f"held-out perplexity {summary['last_held_out_perplexity']:.3f}"
    target, reached = summary["target_accuracy"], summary["epochs_to_target"]
    when = f"{target:.0%} at epoch {reached}" if reached is not None else f"below {target:.0%}"
    return f"{when}, held-out {summary['last_held_out_accuracy']:.1%}"
