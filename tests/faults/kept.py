"""What the harness has tried so far, and what a part of it is."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.portable import ROOT

FOLDER = ROOT / "build" / "torture"
Row = dict[str, Any]


class Kept:
    """One line of JSON for each thing that was tried in this state of the project."""

    def __init__(self, state: str) -> None:
        self.path = FOLDER / f"{state}.jsonl"
        FOLDER.mkdir(parents=True, exist_ok=True)

    def rows(self, part: str | None = None) -> list[Row]:
        """Of one part, or all of them."""
        if not self.path.exists():
            return []
        *lines, _cut = self.path.read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line]
        return [row for row in rows if part in (None, row["part"])]

    def add(self, row: Row) -> None:
        """A row names its `part`, what was wrong (`problems`, a list of sentences), and the `seconds` it took."""
        assert row.keys() >= {"part", "problems", "seconds"}
        with open(self.path, "a", encoding="utf-8") as file:  # a line of several processes stays whole
            file.write(json.dumps(row) + "\n")


@dataclass(frozen=True)
class Effort:
    """How much is tried: a sample of ten minutes in all, or hours."""

    is_long: bool
    #: processes at once
    workers: int


@dataclass(frozen=True)
class Part:
    """Something that is tried: what is missing of it, and the lines of the table about its rows."""

    name: str
    attack: Callable[[Kept, Effort], None]
    table: Callable[[list[Row]], str]
