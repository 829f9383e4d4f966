"""The kinds of jobs that executors do, and how they travel as a line of text."""

import json
from dataclasses import asdict

from semfocus.studies.job import Job, Tell, perform
from semfocus.studies.landscape.part import Part, perform_part
from semfocus.studies.probe_job import Look, perform_look

AnyJob = Job | Part | Look
_KINDS: dict[str, type[Job] | type[Part] | type[Look]] = {"run": Job, "part": Part, "look": Look}


def as_line(job: AnyJob) -> str:
    kind = next(name for name, each in _KINDS.items() if isinstance(job, each))
    return json.dumps({"kind": kind, **asdict(job)})


def from_line(line: str) -> AnyJob:
    values = json.loads(line)
    return _KINDS[values.pop("kind")](**values)


def perform_any(job: AnyJob, tell: Tell) -> None:
    """Do a job of any kind; errors become messages."""
    if isinstance(job, Job):
        perform(job, tell)
    elif isinstance(job, Part):
        perform_part(job, tell)
    else:
        perform_look(job, tell)
