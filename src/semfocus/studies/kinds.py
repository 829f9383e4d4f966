"""The kinds of jobs that executors do, and how they travel as a line of text."""

import json
from dataclasses import asdict

from semfocus.studies.job import Job, Tell, perform
from semfocus.studies.landscape.part import Part, perform_part

AnyJob = Job | Part
_KINDS: dict[str, type[Job] | type[Part]] = {"run": Job, "part": Part}


def as_line(job: AnyJob) -> str:
    return json.dumps({"kind": "run" if isinstance(job, Job) else "part", **asdict(job)})


def from_line(line: str) -> AnyJob:
    values = json.loads(line)
    return _KINDS[values.pop("kind")](**values)


def perform_any(job: AnyJob, tell: Tell) -> None:
    """Do a job of any kind; errors become messages."""
    if isinstance(job, Job):
        perform(job, tell)
    else:
        perform_part(job, tell)
