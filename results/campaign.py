"""The long trainings behind `results/`, in stages that any machine can continue.

    python results/campaign.py STORE small           # scaled down: k, controls, sharpness, robustness
    python results/campaign.py STORE paper           # the paper's setting of three tasks, to the epoch limit
    python results/campaign.py STORE listops         # one seed of ListOps at the paper's setting
    python results/campaign.py STORE STAGE --list    # what a stage would run
    python results/campaign.py STORE STAGE --export results/campaign   # what has finished so far

Runs that have ended are read, others continue, so the same command goes on after any interruption. Several stages may
work on one store at once.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import polars

from semfocus.execution.progress import StudyWatcher
from semfocus.recipes.arms import FEW_ARMS, compare
from semfocus.recipes.beyond import k_sweep, sharpness, small
from semfocus.report.export import curves_table, runs_table
from semfocus.runs import RunSpec, open_store
from semfocus.runs.paper_settings import PAPER_SEEDS
from semfocus.studies import grid, run_study

#: the two tasks of `sharpness`: one that is looked up by position, one by content
PAIR = ("even_pairs", "missing_duplicate")

#: each of the paper's ablations, in proportion to the values of `small`, which are left out: they are the base
ABLATIONS = {
    "training__learning_rate": (0.132, 0.3, 0.45),
    "model__num_blocks": (1, 3, 4),
    "model__num_heads": (2, 4),
    "training__learning_rate_decay": (0.99, 0.999),
    "model__activation": ("gelu", "mish"),
}
#: the columns of a curve that are kept
CURVE = ("epoch", "train_accuracy", "held_out_accuracy", "train_loss", "gradient_norm", "clipped_share")
ADAM_RATES = (1e-4, 1e-3, 1e-2)


def small_stage() -> Iterator[RunSpec]:
    """Twelve to thirty seconds each: which k, which keys, what sharpness changes, does it depend on the rest."""
    sizes = ("full", *(f"top_k({k})" for k in (1, 3, 5, 9, 13, 15)))
    for task in k_sweep.SMALL_TASKS:
        yield from compare(_small(task), sizes, PAPER_SEEDS[:8])
    for task in PAIR:
        yield from compare(_small(task), sharpness.ARMS, PAPER_SEEDS[:8])
    for task in PAIR:
        arms = ("bottom_k(5)", "random(5)", "random(5,fixed)", "banded(5)", "full x4")
        yield from compare(_small(task), arms, PAPER_SEEDS[:6])
    for task in PAIR:
        adam = _small(task)
        adam["training"] = {**adam["training"], "optimiser": "adam"}
        yield from compare(adam, FEW_ARMS, PAPER_SEEDS[:6], training__learning_rate=ADAM_RATES)
    for axis, values in ABLATIONS.items():
        for task in PAIR:
            yield from compare(_small(task), FEW_ARMS, PAPER_SEEDS[:6], **{axis: values})


def paper_stage() -> Iterator[RunSpec]:
    """Ten to forty minutes each, seed after seed, so that whatever finishes is a comparison."""
    for task in ("even_pairs", "stack_manipulation", "missing_duplicate"):
        yield from compare({"task": task}, FEW_ARMS, PAPER_SEEDS[:6])


def listops_stage() -> Iterator[RunSpec]:
    """Eight hours with top-k, twenty with full attention."""
    yield from grid({"task": "listops"}, pattern=["top_k(5)", "full"], seed=PAPER_SEEDS[:1])


def _small(task: str) -> dict:
    return {"task": task, **small.SETTING}


STAGES = {"small": small_stage, "paper": paper_stage, "listops": listops_stage}


def export(store: str, specs: list[RunSpec], folder: Path) -> int:
    """Write the finished runs of a stage as two small tables: what identifies a run, and its curve in single precision."""
    wanted = {spec.digest for spec in specs}
    ended = [record for record in open_store(store).records() if record["state"] in ("done", "diverged")]
    records = [record for record in ended if record["run"] in wanted]
    if not records:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    curves = curves_table(records).select("run", *CURVE).cast({polars.Float64: polars.Float32})
    for name, frame in (("runs", runs_table(records)), ("curves", curves)):
        frame.write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=19)
    return len(records)


class Lines(StudyWatcher):
    """One line for every run that ends."""

    def run_ended(self, spec: RunSpec, record: dict) -> None:
        print(record["state"], spec.task, spec.pattern, spec.seed, record["run"], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store")
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the runs and stop")
    parser.add_argument(
        "--export", type=Path, help="write the finished runs as tables into this folder, and stop"
    )
    arguments = parser.parse_args()
    specs = list({spec.digest: spec for spec in STAGES[arguments.stage]()}.values())
    if arguments.list:
        for spec in specs:
            print(spec.digest, spec.task, spec.pattern, spec.seed)
        print(len(specs), "runs")
    elif arguments.export:
        folder = arguments.export / arguments.stage
        print(export(arguments.store, specs, folder), "of", len(specs), "runs in", folder)
    else:
        run_study(specs, arguments.store, workers=arguments.workers, checkpoint_seconds=60, watcher=Lines())


if __name__ == "__main__":
    main()
