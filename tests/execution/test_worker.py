"""A worker of the pool as a guest of the machine."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os, sys
os.nice(7)
sys.argv[1:] = [str(os.getppid())]
from semfocus.execution.worker import main
main(lambda: print(open("/proc/self/autogroup").read(), file=sys.stderr))
"""


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="this kernel does not share by sessions"
)
def test_a_worker_yields_to_other_sessions_as_its_driver_would() -> None:
    """Its priority alone counts within its own session, where it is alone."""
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(
        command, start_new_session=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.stderr.split()[-2:] == ["nice", "7"], done.stderr
