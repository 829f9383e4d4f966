"""A console for tables of numbers: as wide as they need where no terminal limits it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: wider than any table, so that a log or a pipe never gets half a number
_WIDE = 2000


def wide_console() -> "Console":
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)
