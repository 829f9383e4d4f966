"""The worker of the pool: the kinds of its jobs, and as a guest of the machine."""

import json
import os
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

from semfocus.execution.jobs import KINDS, as_line, from_line

CODE = """
import os, sys
os.nice(7)
sys.argv[1:] = [str(os.getppid())]
from semfocus.execution.worker import main
main()  # there are no jobs
print(open("/proc/self/autogroup").read(), file=sys.stderr)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_every_kind_travels_as_a_line(kind: str) -> None:
    module, name = KINDS[kind]
    made = getattr(import_module(module), name)
    job = made(**{field.name: field.name for field in fields(made)})
    assert json.loads(as_line(job))["kind"] == kind
    assert from_line(as_line(job)) == job


def test_a_worker_that_trains_does_not_load_what_trials_need() -> None:
    code = "import sys, semfocus.execution.worker, semfocus.execution.jobs; print('semfocus.trial' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="this kernel does not share by sessions"
)
def test_a_worker_yields_to_other_sessions_as_its_driver_would() -> None:
    """Its priority alone counts within its own session, where it is alone."""
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(
        command, start_new_session=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.stderr.split()[-2:] == ["nice", str(min(os.nice(0) + 7, 19))], done.stderr
