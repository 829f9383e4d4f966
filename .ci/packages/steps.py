"""What is tried, one step after the other, and how it ended."""

import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

#: returns a note for the table
Action = Callable[[], str | None]


class Failure(Exception):
    """A step did not do what it should."""


class Skip(Exception):
    """A step that cannot be tried here, and why."""


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise Failure(message)


@dataclass
class Steps:
    """What was tried, and how it ended; after a failure, steps that need its result are not tried."""

    rows: list[tuple[str, str, float, str]] = field(default_factory=list)

    def run(self, name: str, action: Action) -> bool:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        try:
            outcome, note = "ok", action() or ""
        except Skip as reason:
            outcome, note = "skipped", str(reason)
        except Failure as failure:
            outcome, note = "FAILED", str(failure)
        except Exception as error:
            outcome, note = "FAILED", f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
        print(f"   {outcome} {note}", flush=True)
        self.rows.append((name, outcome, time.monotonic() - start, note.splitlines()[0] if note else ""))
        return outcome == "ok"

    def run_all(self, named: Iterable[tuple[str, Action]]) -> None:
        """In order, to the first that is not ok."""
        rest = list(named)
        while rest and self.run(*rest.pop(0)):
            pass
        self.rows += [(name, "not tried", 0.0, "") for name, _ in rest]

    def failed(self) -> bool:
        return any(outcome == "FAILED" for _, outcome, *_ in self.rows)

    def table(self) -> str:
        width = max(len(name) for name, *_ in self.rows)
        return "\n".join(
            f"{name:<{width}}  {outcome:<9}  {seconds:5.0f} s  {note}"
            for name, outcome, seconds, note in self.rows
        )
