"""The kinds of jobs that executors do, and how they travel as a line of text."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from semfocus.studies.job import Job, Tell, perform
from semfocus.studies.landscape.part import Part, perform_part
from semfocus.studies.probe_job import Look, perform_look
from semfocus.studies.twin_job import TwinPair, perform_twin_pair

AnyJob = Job | Part | Look | TwinPair
_KINDS: dict[str, tuple[type[AnyJob], Callable[[Any, Tell], None]]] = {
    "run": (Job, perform),
    "part": (Part, perform_part),
    "look": (Look, perform_look),
    "twins": (TwinPair, perform_twin_pair),
}


def as_line(job: AnyJob) -> str:
    return json.dumps({"kind": _kind(job), **asdict(job)})


def from_line(line: str) -> AnyJob:
    values = json.loads(line)
    return _KINDS[values.pop("kind")][0](**values)


def perform_any(job: AnyJob, tell: Tell) -> None:
    """Do a job of any kind; errors become messages."""
    _KINDS[_kind(job)][1](job, tell)


def _kind(job: AnyJob) -> str:
    return next(name for name, (each, _) in _KINDS.items() if isinstance(job, each))
