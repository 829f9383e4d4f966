"""A worker process of the pool: jobs come as JSON lines on standard input, messages go to standard output.

    python -m semfocus.execution.worker PID-OF-THE-DRIVER

It is a program of its own, not a copy of the driver: nothing is pickled, and the driver may be a script without a
`__main__` guard, a notebook, or standard input.
"""

import ctypes
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Work until there are no more jobs."""
    end_with(int(sys.argv[1]))
    yield_as_a_session()
    # A driver started in the background of a script may ignore Ctrl-C; a worker must still hear the driver.
    signal.signal(signal.SIGINT, _interrupt)
    jobs, answers = take_streams()

    def notify(message: dict[str, Any]) -> None:
        try:
            answers.write(json.dumps(message) + "\n")
            answers.flush()
        except BrokenPipeError:  # the driver is gone: save what there is, as for Ctrl-C
            raise KeyboardInterrupt from None

    with suppress(KeyboardInterrupt):
        from semfocus.execution.jobs import from_line  # torch: seconds

        signal.signal(signal.SIGTERM, _interrupt)  # from here on there may be something to save
        notify({"event": "ready"})
        for line in jobs:
            from_line(line).perform(notify)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """The first request to end is the last that is heard: a second one would disturb the saving."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def end_with(driver: int) -> None:
    """End when the driver does, even if it is killed (Linux; elsewhere a broken pipe says so later)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != driver:  # it ended before we asked to be told
        sys.exit("the driver has ended")


def yield_as_a_session() -> None:
    """Be as nice as the driver: Linux shares the processor among sessions first, and a worker is a session of
    its own.
    """
    niceness = os.nice(0)
    if niceness > 0:
        with suppress(OSError):  # no such kernel, or no such file
            Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")


def take_streams() -> tuple[TextIO, TextIO]:
    """The two pipes, moved away from 0 and 1: a stray print or input() must not get between the lines."""
    jobs = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return jobs, answers


if __name__ == "__main__":
    main()
