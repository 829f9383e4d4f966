"""Errors as one line on standard error, and the exit codes."""

import functools
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TypeVar

import typer

from semfocus.runs.directory import DamagedRun, RunBusy
from semfocus.runs.journal import CorruptJournal

FAILED, USAGE, SOME_RUNS_FAILED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143

Command = TypeVar("Command", bound=Callable[..., Any])


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong in one line, and end."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


class Terminated(KeyboardInterrupt):
    """SIGTERM, which saves what Ctrl-C saves."""


@contextmanager
def hearing_sigterm() -> Iterator[None]:
    """While the block runs, SIGTERM is an exception; a job in the background of a script hears no Ctrl-C."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():  # as a library's guest
        yield
        return
    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _nobody_reads() -> bool:
    """Whether the other end of standard output is closed; a pipe to a worker can break as well."""
    try:
        place = sys.stdout.fileno()
    except (OSError, ValueError):  # not a file at all, as under a test
        return False
    watched = select.poll()
    watched.register(place, 0)  # an error is told without being asked for
    return bool(watched.poll(0))


def explains_errors(command: Command) -> Command:
    """A command whose expected errors become one line and an exit code, never a traceback."""

    resumable = command.__name__ in ("train", "study", "campaign", "landscape", "trial")

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        try:
            with hearing_sigterm():
                return command(*arguments, **options)
        except KeyboardInterrupt as error:
            word, code = (
                ("terminated", TERMINATED) if isinstance(error, Terminated) else ("interrupted", INTERRUPTED)
            )
            fail(word + "; rerun the command to resume" * resumable, code)
        except RunBusy as error:
            fail(f"{error}" + "; wait for it, then rerun the command to resume" * resumable, FAILED)
        except (DamagedRun, CorruptJournal) as error:
            fail(str(error), FAILED)
        except ValueError as error:
            from pydantic import ValidationError

            from semfocus.settings import explain

            fail(explain(error) if isinstance(error, ValidationError) else str(error), USAGE)
        except OSError as error:
            if isinstance(error, BrokenPipeError) and _nobody_reads():
                raise  # as `| head` does when it has enough: the program ends without a word
            where = f" ({error.filename})" if error.filename else ""
            again = "; fix this, then rerun the command" + " to resume" * resumable
            fail(f"{error.strerror or error}{where}{again}", FAILED)

    return wrapped  # type: ignore[return-value]
