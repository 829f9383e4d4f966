"""Options that several commands share, and how their texts become values."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semfocus.notation import split_list
from semfocus.runs.paper_settings import PAPER_SEEDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semfocus.runs import RunDirectory, Store
    from semfocus.runs.plan import Plan
    from semfocus.runs.record import Record


StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store", help="Directory of the runs (default: runs, or SEMFOCUS_STORE).", show_default=False
    ),
]
ResultsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--results",
        metavar="DIR...",
        help="Instead of a store: folders of exported tables, with all folders below them.",
        show_default=False,
    ),
]
#: a shell writes the folders of `--results results/*` one after another
MoreResults = Annotated[list[Path] | None, typer.Argument(metavar="DIR", hidden=True)]
ExecutorOption = Annotated[
    str, typer.Option(help="pool (worker processes), serial, or ray (the extra; a cluster if there is one).")
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Jobs at once (default: one per core).", show_default=False)
]
DeviceOption = Annotated[str, typer.Option(help="auto (CUDA, MPS or CPU), cpu, cuda, cuda:1, mps.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads for the computation.")]
RecipeOption = Annotated[
    Path | None,
    typer.Option("--recipe", help="Python file with your own patterns and tasks.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
ProbeEveryOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="EPOCHS",
        help="Also measure inside the model at epoch 0, every N epochs, and at the last; results do not change.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Override any field of the spec, e.g. -s model.num_blocks=3. May be repeated.",
        show_default=False,
    ),
]

_RANGE = re.compile(r"(\d+):(\d+)\Z")


def parse_length(text: str) -> int | list[int]:
    """`40`, or `10:40` for a range."""
    matched = _RANGE.match(text)
    if matched:
        return [int(matched[1]), int(matched[2])]
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"length must be a number or LOW:HIGH, got {text!r}") from None


def parse_setting(text: str) -> tuple[list[str], Any]:
    """`model.num_blocks=3` -> (["model", "num_blocks"], 3). Values are JSON where they can be, else text."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ValueError(f"a setting is written KEY=VALUE, got {text!r}")
    path = key.strip().split(".")
    if path[-1] == "length":
        return path, parse_length(value)
    try:
        return path, json.loads(value)
    except json.JSONDecodeError:
        return path, value


def existing_store(path: Path | None) -> "Store":
    """The store, for commands that only read: a wrong path must not look like a store without runs."""
    from semfocus.runs import open_store

    store = open_store(path)
    if not store.path.is_dir():
        raise ValueError(f"there is no store at {store.path} (give --store DIR, or run a study first)")
    return store


def with_runs(store: "Store", records: "list[Record]") -> "list[Record]":
    """The records, for commands that have nothing to say without any."""
    if not records:
        raise ValueError(f"there are no runs in {store.path} (give --store DIR, or run a study first)")
    return records


def exported_runs(
    results: list[Path] | None, more: list[Path] | None, store: Path | None, summaries_count: bool = False
) -> "tuple[list[Record], list[Plan]] | None":
    """The runs of --results that have curves, with their plans; None where a store is meant.

    `summaries_count`: also those that have only a summary, with the epochs to their target.
    """
    if more and not results:
        raise ValueError(f"unexpected argument {more[0]}; folders of exported tables follow --results")
    if not results:
        return None
    if store is not None:
        raise ValueError("give --store or --results, not both")
    from semfocus.report.export import read_export, read_exported_plans

    folders = [*results, *(more or ())]
    records = read_export(folders)
    known = [record for record in records if record.curve]
    if len(known) < len(records):
        without = f"{len(records) - len(known)} of {len(records)} exported runs have no curve"
        what = "only their epochs to the target count" if summaries_count else "they are left out"
        typer.echo(f"note: {without}: {what}", err=True)
    return records if summaries_count else known, read_exported_plans(folders)


def checked_page(page: Path | None, *others: str) -> None:
    """Before any work: the file that --page names will be HTML (or one of `others`), and must say so."""
    if page is not None and page.suffix.lower() not in (".html", ".htm", *others):
        raise ValueError(f"--page must end in {' or '.join(('.html', *others))}, got {str(page)!r}")
    if page is not None and page.is_dir():
        raise ValueError(f"--page names the file to write, and {page} is a directory")


def writable_store(path: Path | None) -> "Store":
    """The store, after making sure that runs can be written there."""
    from semfocus.durable import try_writing
    from semfocus.runs import open_store

    store = open_store(path)
    try:
        try_writing(store.path)
        store.remove_leftovers()
    except OSError as error:
        raise ValueError(f"cannot write to the store {store.path}: {error.strerror}") from None
    return store


def refuse_other_recipe(directories: "Iterable[RunDirectory]", recipe: Path | None) -> None:
    """Load the recipe file, which must be the one that the runs were made with."""
    from semfocus.runs import load_recipe

    given = None if recipe is None else load_recipe(recipe)[1]
    for directory in directories:
        needed = directory.spec().get("recipe")
        if needed != given:
            wanted = (
                "without a recipe file" if needed is None else f"with the recipe file of digest {needed[:12]}"
            )
            raise ValueError(f"run {directory.name} was made {wanted}: add the matching --recipe FILE")


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
        "the report lists the runs that did not.",
        show_default=False,
    ),
]


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
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return shlex.join(words)
