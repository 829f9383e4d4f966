"""The directory of one run of a trial: the files of a run, with looks at steps instead of epochs."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from semfocus.durable import remove_partials, remove_tree
from semfocus.runs.directory import DamagedRun, RunBusy, RunDirectory
from semfocus.runs.journal import Event

_COLUMNS = ("step", "held_out_loss", "train_loss", "seconds")


class TrialRunDirectory(RunDirectory):
    """spec.json, env.json, journal.jsonl, checkpoints/, record.json, as for any run."""

    def record(self) -> dict[str, Any] | None:
        """The final record, if the run has ended."""
        if not self.has_ended:
            return None
        record = self._read_json("record.json")
        curve = record.get("curve")
        is_whole = (
            isinstance(record.get("state"), str)
            and isinstance(curve, dict)
            and all(isinstance(curve.get(name), list) for name in _COLUMNS)
            and len({len(curve[name]) for name in _COLUMNS}) == 1
        )
        if not is_whole:
            raise DamagedRun(f"{self.path / 'record.json'} is damaged: not the record of a run of a trial")
        return record

    def clear(self) -> None:
        """Of a run that has ended: what it needed to continue, and what was left half written."""
        remove_partials(self.path)
        if self.checkpoints.exists():
            with suppress(RunBusy, OSError), self.owned():
                remove_tree(self.checkpoints)


def specs_in(folder: Path) -> list[dict[str, Any]]:
    """Of the runs there whose spec can be read: each run says for itself what is wrong with it."""
    found = []
    for path in sorted(folder.glob("*/spec.json")):
        with suppress(DamagedRun, OSError):
            found.append(TrialRunDirectory(path.parent)._read_json("spec.json"))
    return found


def looks_of(events: list[Event], kind: str = "look") -> list[Event]:
    """The looks that count: an attempt that resumed after a step replaces what earlier ones said of later steps."""
    found: dict[int, Event] = {}
    for event in events:
        if event["event"] == "attempt":
            found = {step: each for step, each in found.items() if step <= event["resumed_after"]}
        elif event["event"] == kind:
            found[event["step"]] = event
    return [{key: value for key, value in found[step].items() if key != "event"} for step in sorted(found)]
