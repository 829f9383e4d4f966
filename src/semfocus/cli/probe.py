"""semfocus probe: what happens inside trained models."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import (
    JsonOption,
    RecipeOption,
    StoreOption,
    ThreadsOption,
    checked_page,
    existing_store,
    refuse_other_recipe,
)
from semfocus.cli.output import print_json
from semfocus.notation import split_list

if TYPE_CHECKING:
    from semfocus.report.probed_runs import ProbedRun
    from semfocus.runs import RunDirectory

_DATA = {"train": ("train",), "held_out": ("held_out",), "both": ("held_out", "train")}


@explains_errors
def probe(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...",
            help="Runs: their directories, names, or beginnings of their names.",
            show_default=False,
        ),
    ] = None,
    hugging_face: Annotated[
        Path | None,
        typer.Option(
            "--hf",
            metavar="DIR",
            help="Instead of runs, a Hugging Face model; --data is then a file, as for `semfocus trial`.",
            show_default=False,
        ),
    ] = None,
    epoch: Annotated[
        str, typer.Option(help="last, best, a number (0: untrained), or reaching:0.95 (training accuracy).")
    ] = "last",
    data: Annotated[str, typer.Option(help="train, held_out, or both; with --hf a file.")] = "held_out",
    samples: Annotated[int, typer.Option(min=1, help="How many sequences to measure.")] = 256,
    patterns: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help='Also apply these patterns to the same scores: "top_k(5); banded(5)".',
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="EPOCHS",
            help="Also measure every N epochs, training the run again where that was not done.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Write figures and attention maps.", show_default=False),
    ] = None,
    sequence: Annotated[
        int, typer.Option(min=0, help="Which sequence of the data the attention maps of the page show.")
    ] = 0,
    store: StoreOption = None,
    recipe: RecipeOption = None,
    threads: ThreadsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Measure inside the models of runs: dispersion, separation, focus and more, layer by layer, side by side.

    What was measured is kept with the run, and read the next time. An epoch without a checkpoint is trained again.

    Example: semfocus probe --hf my_model/ --data reviews.jsonl --patterns "top_k(8)"

    Example: semfocus probe 2093 51ab --epoch reaching:0.95 --patterns "top_k(5)" --page probes.html
    """
    from semfocus.cli.probe_table import print_tables
    from semfocus.probes import QUANTITIES
    from semfocus.report.pages.probe_page import write_probe_page
    from semfocus.report.probed_runs import Probed
    from semfocus.training.replay import chosen_epoch, readable_record

    checked_page(page)
    if hugging_face is not None:
        from semfocus.cli.probe_hugging_face import probe_hugging_face

        if runs or every is not None or epoch != "last" or recipe is not None:
            raise ValueError(
                "--hf measures one model as it is, and goes without runs, --epoch, --every and --recipe"
            )
        if data in _DATA and not Path(data).is_file():
            raise ValueError("--hf DIR needs --data FILE: a text, or rows with labels (.jsonl, .csv)")
        others = [] if patterns is None else split_list(patterns, "--patterns")
        probe_hugging_face(hugging_face, Path(data), samples, others, page, sequence, as_json)
        return
    if not runs:
        raise ValueError("name a run to look into, or a Hugging Face model with --hf DIR --data FILE")
    if data not in _DATA:
        raise ValueError(f"--data must be one of {', '.join(_DATA)}, got {data!r}")
    opened = existing_store(store)
    directories = [opened.find(run) for run in runs]
    refuse_other_recipe(directories, recipe)
    for directory in directories:  # before any of them is trained again
        chosen_epoch(readable_record(directory), epoch)
    others = [] if patterns is None else split_list(patterns, "--patterns")
    found = [
        _look(directory, epoch, _DATA[data], samples, others, every, threads, sequence, maps=page is not None)
        for directory in directories
    ]
    if page is not None:
        options = [("--epoch", epoch), ("--data", data), ("--samples", samples), ("--patterns", patterns)]
        options += [("--every", every), ("--sequence", sequence), ("--store", store), ("--recipe", recipe)]
        words = [word for option, value in options if value is not None for word in (option, str(value))]
        command = shlex.join(["semfocus", "probe", *runs, *words, "--page", str(page)])
        write_probe_page(Probed(found, QUANTITIES, command), page)
    if as_json:
        print_json({"runs": [_plain(each) for each in found], "page": None if page is None else str(page)})
        return
    print_tables(found)
    if page is not None:
        typer.echo(f"Page: {page}")


def _look(
    directory: "RunDirectory",
    epoch: str,
    data: tuple[str, ...],
    samples: int,
    patterns: list[str],
    every: int | None,
    threads: int,
    sequence: int,
    *,
    maps: bool,
) -> "ProbedRun":
    from semfocus.measurements.maps import attention_maps
    from semfocus.measurements.run_probe import probe_run
    from semfocus.measurements.training_probe import along_training, probe_along
    from semfocus.report.probed_runs import ProbedRun
    from semfocus.training.replay import chosen_epoch, model_at, readable_record

    rows = probe_run(
        directory,
        epoch=epoch,
        data=data,  # type: ignore[arg-type]  # checked above
        samples=samples,
        patterns=patterns,
        threads=threads,
    )
    along = along_training(directory) if every is None else probe_along(directory, every)
    record = readable_record(directory)
    seen = attention_maps(model_at(directory, epoch), sequence, data[0]) if maps else None  # type: ignore[arg-type]
    return ProbedRun(record, chosen_epoch(record, epoch), rows, along, seen)


def _plain(each: "ProbedRun") -> dict[str, Any]:
    return {
        "run": each.record["run"],
        "spec": each.record["spec"],
        "epoch": each.epoch,
        "problems": each.problems,
        "rows": list(each.rows),
        "along": list(each.along),
    }
