"""The options of `semfocus study` that choose its runs, and how their texts become values."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from semfocus.runs.paper_settings import PAPER_SEEDS

SeedsOption = Annotated[
    str | None,
    typer.Option(
        metavar="N|LIST",
        help=f"The first N of the paper's {len(PAPER_SEEDS)} seeds, or a list: 1,2,3 (one seed: 7,).",
        show_default=False,
    ),
]
PatternsOption = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help='Only these arms, or others than the recipe\'s: "full; full x4; random(5,fixed)".',
        show_default=False,
    ),
]
TasksOption = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Only these tasks, or others than the recipe's: parity,even_pairs.",
        show_default=False,
    ),
]
StopAtOption = Annotated[
    float | None,
    typer.Option(
        help="Stop each run when its training accuracy reaches this, e.g. 0.95. Recipes run to the epoch limit; "
        "the report says which runs did not.",
        show_default=False,
    ),
]

# Separators between values, not those inside brackets.
_BETWEEN = re.compile(r"[;,]\s*(?![^()]*\))")


def split_list(text: str, option: str) -> list[str]:
    """`full; random(5,fixed), top_k(5)` -> three texts; semicolons and commas separate outside of brackets."""
    found = [part.strip() for part in _BETWEEN.split(text) if part.strip()]
    if not found:
        raise ValueError(f"{option} names nothing: {text!r}")
    return found


def parse_seeds(text: str) -> list[int]:
    """`3`: the first three of the paper's seeds; `1,2,3` or `7,`: these."""
    if re.fullmatch(r"\s*\d+\s*", text):
        number = int(text)
        if not 1 <= number <= len(PAPER_SEEDS):
            raise ValueError(
                f"--seeds {number}: the paper has {len(PAPER_SEEDS)} seeds; for the seed {number} itself "
                f"write --seeds {number},"
            )
        return list(PAPER_SEEDS[:number])
    words = split_list(text, "--seeds")
    if not all(word.isdecimal() for word in words):
        raise ValueError(f"--seeds must be a number of seeds, or a list such as 1,2,3; got {text!r}")
    seeds = [int(word) for word in words]
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"--seeds names a seed twice: {text!r}")
    return seeds


def command_text(
    name: str,
    *,
    settings: Sequence[str],
    options: Sequence[tuple[str, object]],
    store: Path | None,
) -> str:
    """The command that computes or continues this study, without what does not change its results."""
    words = ["semfocus", "study", name]
    for setting in settings:
        words += ["-s", setting]
    for option, value in (*options, ("--store", store)):
        if value is not None:
            words += [option, str(value)]
    return shlex.join(words)
