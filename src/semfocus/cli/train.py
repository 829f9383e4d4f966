"""semfocus train: one run, from the beginning or from where it stopped."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from semfocus.cli.errors import FAILED, explains_errors, fail
from semfocus.cli.options import (
    DeviceOption,
    JsonOption,
    ProbeEveryOption,
    QuietOption,
    RecipeOption,
    SetOption,
    StoreOption,
    ThreadsOption,
    parse_length,
    parse_setting,
    writable_store,
)
from semfocus.cli.output import print_json
from semfocus.runs.arms import task_title
from semfocus.words import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semfocus.runs import RunSpec
    from semfocus.runs.record import Record


def _refuse_all_keys(spec: "RunSpec") -> None:
    """A number beyond the length is a slip; a study may mean it, as the end of a sweep."""
    from semfocus.mechanisms.pattern import PatternByRows

    length, pattern = spec.training.length, spec.pattern_value
    longest = length if isinstance(length, int) else max(length)
    kept = pattern.most_kept() if isinstance(pattern, PatternByRows) else None
    if kept is not None and kept > longest:
        raise ValueError(
            f"{spec.pattern} keeps up to {count_of(kept, 'key')}, and no sequence is longer than {longest}: "
            f"that is full attention; choose a number below {longest}, or --pattern full"
        )


@explains_errors
def train(
    task: Annotated[str, typer.Argument(help="A task (see `semfocus tasks list`), file:PATH, or text:PATH.")],
    pattern: Annotated[
        str, typer.Option(help='Which keys a query keeps, e.g. "top_k(5)", "banded(9)+G1".')
    ] = "full",
    seed: Annotated[int, typer.Option(help="Seed of data, initial weights and training.")] = 0,
    length: Annotated[
        str | None,
        typer.Option(help="Sequence length, or LOW:HIGH (default: the paper's).", show_default=False),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epoch limit (default: the paper's for the task).", show_default=False)
    ] = None,
    stop_at: Annotated[
        float | None,
        typer.Option(help="Stop when training accuracy reaches this, e.g. 0.95.", show_default=False),
    ] = None,
    settings: SetOption = None,
    store: StoreOption = None,
    recipe: RecipeOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    checkpoint_every: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Least time between two checkpoints.")
    ] = 10.0,
    probe_every: ProbeEveryOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train one model on one task. Rerun the command to resume after Ctrl-C; it reports a run that is done.

    Example: semfocus train even_pairs --pattern "top_k(5)" --seed 1
    """
    from semfocus.execution.display import WatchedRun, described_runs, display
    from semfocus.runs import RunSpec, load_recipe
    from semfocus.studies import put
    from semfocus.training import Observer, run
    from semfocus.training.device import resolve_device

    values: dict[str, Any] = {"task": task, "pattern": pattern, "seed": seed}
    if recipe is not None:
        values["recipe"] = load_recipe(recipe)[1]
    for key, value in (("length", length and parse_length(length)), ("epochs", epochs), ("stop_at", stop_at)):
        if value is not None:
            put(values, ["training", key], value)
    for text in settings or []:
        put(values, *parse_setting(text))
    spec = RunSpec(**values)
    _refuse_all_keys(spec)
    resolve_device(device)  # an unusable one must be refused before anything is created
    runs = writable_store(store)

    directory = runs.directory(spec)
    already_done = directory.record() is not None
    observers: list[Observer] = []
    if probe_every is not None:
        from semfocus.measurements.training_probe import ProbeObserver

        observers.append(ProbeObserver(probe_every))
    with display(described_runs([spec]), quiet=quiet or already_done, seconds=0.0) as watcher:
        record = run(
            spec,
            runs,
            observers=[*observers, WatchedRun(spec, watcher)],
            device=device,
            threads=threads,
            checkpoint_seconds=checkpoint_every,
        )
    if as_json:
        print_json(record)
    else:
        typer.echo(summary_text(record, str(directory.path), already_done))
        if already_done and probe_every is not None and not record.get("probes"):
            typer.echo(
                f"  nothing was measured along its training: semfocus probe {directory.name[:10]} --every {probe_every}"
            )
    if record["state"] != "done":
        fail(f"the run {record['state']}: {record['reason']}", FAILED)


def text_lines(summary: "Mapping[str, Any]") -> list[str]:
    """What a language model has learned."""
    return [
        f"  last training perplexity {summary['last_train_perplexity']:.4f} a token",
        f"  last held-out perplexity {summary['last_held_out_perplexity']:.4f}",
        f"  best held-out perplexity {summary['best_held_out_perplexity']:.4f} at epoch {summary['best_epoch']}"
        " (selected on the held-out set)",
        f"  last held-out accuracy   {summary['last_held_out_accuracy']:.4f} of the next tokens",
    ]


def summary_text(record: "Record", path: str, already_done: bool) -> str:
    """A few lines a person wants to read at the end."""
    spec, summary = record["spec"], record["summary"]
    sizes = f"{record['num_train']} training and {record['num_held_out']} held-out samples"
    lines = [
        f"{task_title(spec['task'])}  {spec['pattern']}  seed {spec['seed']}  {record['num_parameters']:,} parameters"
    ]
    if already_done:
        lines[0] = f"already {record['state']}: {lines[0]}"
    if summary and summary["target_accuracy"] is None:
        lines += text_lines(summary)
    elif summary:
        target, reached = summary["target_accuracy"], summary["epochs_to_target"]
        when = (
            f"reached at epoch {reached} ({summary['seconds_to_target']:.1f} s of training)"
            if reached is not None
            else f"not reached in {count_of(summary['epochs'], 'epoch')}"
        )
        lines += [
            f"  {target:.0%} training accuracy  {when}",
            f"  last training accuracy   {summary['last_train_accuracy']:.4f}",
            f"  last held-out accuracy   {summary['last_held_out_accuracy']:.4f}",
            f"  best held-out accuracy   {summary['best_held_out_accuracy']:.4f} at epoch {summary['best_epoch']}"
            " (selected on the held-out set)",
        ]
    lines.insert(1, f"  {sizes}")
    if record["held_out_overlap"]:
        lines.append(
            f"  {record['held_out_overlap']} of {count_of(record['num_held_out'], 'held-out sequence')} occur in training"
        )
    lines += [f"  note: {problem}" for problem in record["problems"]]
    lines.append(f"  {path}")
    return "\n".join(lines)
