"""What a study tells those who watch it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semfocus.runs.record import Record
    from semfocus.runs.spec import RunSpec


class StudyWatcher:
    """Override what you want to hear; everything is called in the process that runs the study."""

    def run_started(self, spec: "RunSpec", attempt: int) -> None:
        """A worker begins or continues a run; attempts count from 1 in each invocation."""

    def epoch_ended(self, spec: "RunSpec", row: dict[str, Any]) -> None:
        """A run has one more epoch; `row` is that of its journal."""

    def run_failed(self, spec: "RunSpec", attempt: int, reason: str) -> None:
        """An attempt failed; another one follows unless `run_ended` does."""

    def run_ended(self, spec: "RunSpec", record: "Record") -> None:
        """Once for each run, also for those that had ended before the study began."""
