"""`run_trial`: full attention against patterns on somebody's own model and data."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semfocus.mechanisms import Pattern
from semfocus.training.device import resolve_device
from semfocus.trial.arm import FULL, SHARPER_FULL, Arm, arms_of, refuse_globals, refuse_pattern
from semfocus.trial.batch import TrialData
from semfocus.trial.data import kind_of, read_data
from semfocus.trial.file_subject import FileSubject
from semfocus.trial.hugging_face_subject import HuggingFaceSubject
from semfocus.trial.result import TrialResult
from semfocus.trial.running import Runner
from semfocus.trial.settings import TrialSettings
from semfocus.trial.spec import TrialRunSpec
from semfocus.trial.strictness import seeds_needed
from semfocus.trial.subject import Subject, refuse_data, refuse_future
from semfocus.trial.table import classes_of
from semfocus.trial.training import build
from semfocus.trial.tuning import tuned
from semfocus.trial.watcher import TrialWatcher


@dataclass(frozen=True)
class Prepared:
    """A trial of which everything was checked that can be before training."""

    subject: Subject
    data: TrialData
    arms: tuple[Arm, ...]
    num_patterns: int
    seeds: int
    settings: TrialSettings
    tune: bool


def run_trial(
    model: str | os.PathLike[str],
    data: str | os.PathLike[str],
    patterns: Sequence[Pattern | str] = ("top_k(8)",),
    *,
    directory: str | os.PathLike[str] = "trial",
    seeds: int | None = None,
    settings: TrialSettings | None = None,
    context: int | None = None,
    continued: bool = False,
    tune: bool = False,
    arms: Sequence[Arm] | None = None,
    device: str = "auto",
    threads: int = 1,
    checkpoint_seconds: float = 20.0,
    watcher: TrialWatcher | None = None,
) -> TrialResult:
    """Train full attention, sharper full attention and each pattern, with the same seeds, data order and steps.

    model: a directory or config file of Hugging Face (nothing is downloaded), or a Python file with `model()`.
    data: rows with labels (.csv, .tsv, .jsonl), or a text for causal language modelling (any other ending).
    directory: where runs are kept; a trial that was interrupted continues, and runs that have ended are read.
    seeds: by default the fewest with which a difference can be shown. `continued`: from the weights of the directory.
    tune: each arm at the best learning rate of three, chosen on other seeds. `arms` instead of patterns: compare these.
    """
    prepared = prepare(model, data, patterns, seeds, settings, context, continued, tune, arms)
    runner = Runner(
        Path(directory) / "runs",
        prepared.subject,
        prepared.data,
        resolve_device(device),
        threads,
        checkpoint_seconds,
        watcher or TrialWatcher(),
    )
    return carry_out(prepared, runner)


def prepare(
    model: str | os.PathLike[str],
    data: str | os.PathLike[str],
    patterns: Sequence[Pattern | str],
    seeds: int | None,
    settings: TrialSettings | None,
    context: int | None,
    continued: bool,
    tune: bool,
    arms: Sequence[Arm] | None = None,
) -> Prepared:
    """Read model and data, and refuse what cannot work before anything is trained."""
    chosen = list(arms) if arms is not None else arms_of(patterns)
    subject = subject_of(Path(model), Path(data), continued)
    found = read_data(Path(data), subject.vocabulary, context)
    every = (FULL, *chosen) if arms is not None else (FULL, *chosen, SHARPER_FULL)
    for arm in chosen:
        refuse_pattern(arm.pattern, found.longest, subject.window)
        if found.train.real is not None:
            refuse_globals(arm.pattern)
    refuse_data(subject, subject.build(0), found.train)
    for arm in every:
        spec = TrialRunSpec(subject.digest, found.digest, found.longest, arm, 0, settings or TrialSettings())
        untrained = build(spec, subject)
        if found.kind == "text":
            refuse_future(subject, untrained, found.train, arm)
    num = seeds_needed(len(chosen)) if seeds is None else seeds
    if not 1 <= num <= 20:
        raise ValueError(f"seeds must be from 1 to 20, got {num}")
    return Prepared(subject, found, every, len(chosen), num, settings or TrialSettings(), tune)


def subject_of(model: Path, data: Path, continued: bool) -> Subject:
    """A Python file, or a model of Hugging Face that fits the data."""
    if model.suffix == ".py":
        if continued:
            raise ValueError("--continue is for a directory with weights; model() may load its own")
        return FileSubject(model)
    kind = kind_of(data)
    return HuggingFaceSubject(
        model, kind, len(classes_of(data)) if kind == "classification" else 0, continued=continued
    )


def carry_out(prepared: Prepared, runner: Runner) -> TrialResult:
    """Seed after seed, all arms of each: what is there after an interruption can be compared."""
    rates = dict.fromkeys(prepared.arms, prepared.settings.learning_rate)

    def spec_of(arm: Arm, seed: int, rate: float) -> TrialRunSpec:
        settings = replace_rate(prepared.settings, rate)
        return TrialRunSpec(
            prepared.subject.digest, prepared.data.digest, prepared.data.longest, arm, seed, settings
        )

    if prepared.tune:
        rates = tuned(prepared.arms, prepared.settings.learning_rate, spec_of, runner)
    specs = [spec_of(arm, seed, rates[arm]) for seed in range(prepared.seeds) for arm in prepared.arms]
    done = sum(runner.place(spec).has_ended for spec in specs)
    runner.watcher.planned(len(specs), done, prepared.settings.steps)
    records: dict[Arm, dict[int, dict[str, Any]]] = {arm: {} for arm in prepared.arms}
    for spec in specs:
        records[spec.arm][spec.seed] = runner.record(spec)
    return TrialResult(
        prepared.subject.name,
        prepared.data.kind,
        prepared.data.description,
        prepared.arms,
        prepared.num_patterns,
        prepared.settings,
        rates,
        records,
        prepared.data.guess_loss if prepared.subject.is_cross_entropy else None,
        prepared.data.guess_accuracy(prepared.settings.held_out),
    )


def replace_rate(settings: TrialSettings, rate: float) -> TrialSettings:
    return settings.model_copy(update={"learning_rate": rate})
