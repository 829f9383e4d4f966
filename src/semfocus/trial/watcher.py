"""What a trial tells those who watch it."""

from typing import Any

from semfocus.trial.spec import TrialRunSpec


class TrialWatcher:
    """Override what you want to hear."""

    def planned(self, num_runs: int, num_done: int, steps: int) -> None:
        """So many runs, of which some have ended before, each of so many steps."""

    def run_started(self, spec: TrialRunSpec, first_step: int) -> None:
        """A run begins, or continues after `first_step`."""

    def step_ended(self, spec: TrialRunSpec, step: int) -> None:
        """A step of the optimiser was taken."""

    def looked(self, spec: TrialRunSpec, look: dict[str, Any]) -> None:
        """The held-out loss was measured."""

    def run_ended(self, spec: TrialRunSpec, record: dict[str, Any]) -> None:
        """A run has its record."""
