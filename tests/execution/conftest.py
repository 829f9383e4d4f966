"""What tests of studies must not leave behind."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.execution.minis import STARTED


@pytest.fixture(autouse=True)
def _ends_studies() -> Iterator[None]:
    """End the studies that a failing test left running: they would train until somebody notices."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
