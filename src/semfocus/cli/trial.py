"""semfocus trial: would a pattern help my model, on my data?"""

import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import DeviceOption, JsonOption, QuietOption, ThreadsOption
from semfocus.cli.output import print_json
from semfocus.notation import split_list


@explains_errors
def trial(
    model: Annotated[
        Path,
        typer.Argument(
            help="A Hugging Face config (.json) or model directory, or a Python file that defines model()."
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(
            help="Rows with labels, or for an encoder-decoder with texts and targets (.csv, .tsv, .jsonl), "
            "or a text for causal language modelling (.txt, ...)."
        ),
    ],
    patterns: Annotated[
        str,
        typer.Option(metavar="LIST", help='Patterns to compare with full attention: "top_k(8); banded(8)".'),
    ] = "top_k(8)",
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Runs of each arm (default: the fewest that can show a difference, 6 for one pattern), at most 20.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps of the optimiser (AdamW) a run.")] = 500,
    batch_size: Annotated[int, typer.Option(help="Sequences a step.")] = 16,
    learning_rate: Annotated[float, typer.Option(help="Learning rate.")] = 1e-3,
    warmup_steps: Annotated[int, typer.Option(help="Steps over which the rate rises from 0.")] = 20,
    looks: Annotated[int, typer.Option(help="How often the held-out loss is measured: 4 or more.")] = 25,
    held_out: Annotated[int, typer.Option(help="The most held-out sequences of a look.")] = 128,
    context: Annotated[
        int | None,
        typer.Option(
            help="Tokens of a window of text, 2 or more (default 128, or as many as the model allows); longer rows are cut to it.",
            show_default=False,
        ),
    ] = None,
    continued: Annotated[
        bool,
        typer.Option("--continue", help="Start from the weights in the directory (otherwise from new ones)."),
    ] = False,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Each arm at the best of three learning rates, chosen on other seeds."),
    ] = False,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided",
            help="Seven seeds first (for one pattern), and five more only if those decide nothing and could.",
        ),
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory of the runs and the report.")
    ] = Path("trial"),
    executor: Annotated[
        str, typer.Option(metavar="serial|pool", help="Where runs are computed: here, or in processes.")
    ] = "pool",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs at once, each with its own model in memory (default: one per core, one on a GPU).",
            show_default=False,
        ),
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train full attention against patterns on your model and data, and report the difference and how sure it is.

    Sharper full attention (inverse temperature 4) always runs too: it may be all that a pattern does. After Ctrl-C
    rerun the command to resume.

    Example: semfocus trial my_model/ --data reviews.jsonl --patterns "top_k(8)" --steps 1000
    """
    from semfocus.cli.trial_result import print_result
    from semfocus.report.pages.trial_page import write_trial_page
    from semfocus.trial import TrialSettings, run_trial

    settings = TrialSettings(
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        warmup_steps=warmup_steps,
        looks=min(looks, max(4, steps)),
        held_out=held_out,
    )
    with _without_warnings_of_torch():
        result = run_trial(
            model,
            data,
            split_list(patterns, "--patterns"),
            directory=output,
            seeds=seeds,
            settings=settings,
            context=context,
            continued=continued,
            tune=tune,
            until_decided=until_decided,
            executor=executor,  # type: ignore[arg-type]  # it checks
            device=device,
            threads=threads,
            workers=workers,
            quiet=quiet,
        )
    page = write_trial_page(result, output / "report.html", _command())
    if as_json:
        print_json(result.as_plain() | {"report": str(page)})
    else:
        print_result(result)
        typer.echo(f"Report: {page}")


@contextmanager
def _without_warnings_of_torch() -> Iterator[None]:
    """An nn.TransformerEncoder that came as it is warns, in the middle of the progress, of what it does itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The PyTorch API of nested tensors")
        yield


def _command() -> str:
    """What was typed, less what does not concern the page."""
    return shlex.join(
        ["semfocus", *(each for each in sys.argv[1:] if each not in ("--json", "--quiet", "-q"))]
    )
