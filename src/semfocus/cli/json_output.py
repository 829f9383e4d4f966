"""JSON on standard output, of the kind that every parser reads."""

import json
import math
from typing import Any

import typer


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
