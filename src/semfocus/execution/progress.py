"""What those who watch work under way hear: the same for training runs, measurements and arms of a trial."""

from typing import Any, Protocol


class Work(Protocol):
    """One thing that is under way: a spec of a run, a measurement of a run, an arm of a trial with its seed."""

    @property
    def digest(self) -> str: ...


class Watcher:
    """Override what you want to hear; everything is called in the process that began the work."""

    def run_started(self, work: Any, attempt: int) -> None:
        """A worker begins or continues; attempts count from 1 in each invocation."""

    def epoch_ended(self, work: Any, row: dict[str, Any]) -> None:
        """One more epoch (its row of the journal), look of a trial, or point of a measurement."""

    def run_failed(self, work: Any, attempt: int, reason: str) -> None:
        """An attempt failed; another one follows unless `run_ended` does."""

    def run_ended(self, work: Any, result: Any) -> None:
        """Once for each, also for what had ended before; the result is the record."""
