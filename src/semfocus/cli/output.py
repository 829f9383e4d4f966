"""What commands print: JSON, and where tables go."""

import json
import math
import os
import sys
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """One line; a number without a finite value is null."""
    typer.echo(json.dumps(finite(value), allow_nan=False))


def finite(value: Any) -> Any:
    """The same with None for infinities and NaN, which JSON does not have.

    >>> finite({"ratios": [5.0, float("inf")], "low": float("nan")})
    {'ratios': [5.0, None], 'low': None}
    """
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


#: characters: no table is as wide as this
_ENDLESS = 1000


def table_console() -> "Console":
    """As wide as the terminal; into a file or a pipe as wide as needed, unless COLUMNS says how wide that is."""
    from rich.console import Console

    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return Console(highlight=False)
    return Console(highlight=False, width=_ENDLESS)
