"""Where tables are printed."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: characters: no table is as wide as this
_ENDLESS = 1000


def table_console() -> "Console":
    """As wide as the terminal; into a file or a pipe as wide as needed, unless COLUMNS says how wide that is."""
    from rich.console import Console

    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return Console(highlight=False)
    return Console(highlight=False, width=_ENDLESS)
