"""Errors as one line on standard error, and the exit codes."""

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import typer

FAILED, USAGE, INTERRUPTED = 1, 2, 130

Command = TypeVar("Command", bound=Callable[..., Any])


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong in one line, and end."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


def explains_errors(command: Command) -> Command:
    """A command whose expected errors become one line and an exit code, never a traceback."""

    @functools.wraps(command)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            fail("interrupted; the state is saved, and the same command continues", INTERRUPTED)
        except ValueError as error:
            from pydantic import ValidationError

            from semfocus.settings import explain

            fail(explain(error) if isinstance(error, ValidationError) else str(error), USAGE)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            fail(f"{error.strerror or error}{where}; the same command continues when that is mended", FAILED)

    return wrapped  # type: ignore[return-value]
