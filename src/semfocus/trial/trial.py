"""`run_trial`: full attention against patterns on somebody's own model and data."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import torch
from torch import Tensor, nn

from semfocus.execution.display import display
from semfocus.execution.executor import Conditions, make_executor
from semfocus.execution.progress import Watcher
from semfocus.execution.schedule import Schedule
from semfocus.integrations import check
from semfocus.mechanisms import Pattern
from semfocus.subjects.batch import Batch, TrialData
from semfocus.subjects.subject import Subject, refuse_data, refuse_future
from semfocus.subjects.vocabulary import Vocabulary
from semfocus.training.device import resolve_device
from semfocus.trial.decision import is_futile
from semfocus.trial.jobs import TrialItem, TrialOptions, described_trial, opened
from semfocus.trial.result import TrialResult, curve_of
from semfocus.trial.spec import (
    FULL,
    SHARPER_FULL,
    Arm,
    TrialRunSpec,
    TrialSettings,
    arms_of,
    refuse_globals,
    refuse_pattern,
)
from semfocus.trial.training import build
from semfocus.trial.verdict import seeds_needed

#: of a run whose worker was killed; an error of the model is not tried again
_ATTEMPTS = 3
#: of the second look
_MORE_SEEDS = 5
#: of the learning rate, for an arm that is tuned
_TUNING_FACTORS = (1 / 3, 1.0, 3.0)
#: far from those of any trial
_TUNING_SEEDS = (1000, 1001)


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
    #: of a second look, if the first decides nothing; None for one look
    at_most: int | None = None


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
    until_decided: bool = False,
    arms: Sequence[Arm] | None = None,
    executor: Literal["serial", "pool"] = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    checkpoint_seconds: float = 20.0,
    quiet: bool = True,
    watcher: Watcher | None = None,
) -> TrialResult:
    """Train full attention, sharper full attention and each pattern, with the same seeds, data order and steps.

    model: a directory or config file of Hugging Face (nothing is downloaded), or a Python file with `model()`.
    data: rows with labels, or with texts and targets for an encoder-decoder (.csv, .tsv, .jsonl), or a text for causal
    language modelling (any other ending).
    directory: where runs are kept; a trial that was interrupted continues, and runs that have ended are read.
    seeds: by default the fewest with which a difference can be shown. `continued`: from the weights of the directory.
    until_decided: a first look at the fewest seeds, and five more if it decides nothing and they could show anything.
    tune: each arm at the best learning rate of three, chosen on other seeds. `arms` instead of patterns: compare these.
    executor: `pool` trains several runs at once, by default one per core, or one alone on a GPU; `serial`: here.
    """
    prepared = prepare(
        model,
        data,
        patterns,
        seeds,
        settings,
        context,
        continued,
        tune,
        arms,
        directory=directory,
        until_decided=until_decided,
    )
    if executor not in ("serial", "pool"):
        raise ValueError(f"the executor of a trial must be serial or pool, got {executor!r}")
    options = TrialOptions(
        str(Path(model).absolute()),
        str(Path(data).absolute()),
        str((Path(directory) / "runs").absolute()),
        context,
        continued,
        device,
        threads,
        checkpoint_seconds,
    )
    on_gpu = resolve_device(device).type != "cpu"
    workers = workers or (1 if on_gpu else None)
    how = Conditions(executor, workers, device, threads, _ATTEMPTS, quiet=quiet, watcher=watcher)
    train = _Trainer(options, how)
    return carry_out(prepared, train)


@dataclass(frozen=True)
class _Trainer:
    """Records of runs: read if they have ended, else computed."""

    options: TrialOptions
    how: Conditions

    def records(self, specs: Sequence[TrialRunSpec]) -> list[dict[str, Any]]:
        """In the order of the specs."""
        items = [TrialItem(spec, self.options) for spec in {spec.digest: spec for spec in specs}.values()]
        works = described_trial([item.work for item in items])
        more = [] if self.how.watcher is None else [self.how.watcher]
        with display(works, quiet=self.how.quiet) as shown:
            schedule = Schedule(items, self.how.attempts, [shown, *more])
            schedule.run(lambda hear: make_executor(self.how, hear))
        return [schedule.results[spec.digest] for spec in specs]


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
    *,
    directory: str | os.PathLike[str] = "trial",
    until_decided: bool = False,
) -> Prepared:
    """Read model and data, and refuse what cannot work before anything is trained."""
    chosen = list(arms) if arms is not None else arms_of(patterns)
    opened.cache_clear()  # files may have changed since the last trial of this process
    places = (str(Path(each).absolute()) for each in (model, data, Path(directory) / "runs"))
    subject, found = opened(*places, context, continued)
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
            refuse_future(subject, untrained, found.train, None if arm.is_untouched else arm.label)
        if not arm.is_untouched:
            refuse_problems(subject, untrained, found.train, arm)
    if until_decided and seeds is not None:
        raise ValueError("until_decided adds seeds as it needs them: leave seeds out")
    num = seeds_needed(len(chosen), 2 if until_decided else 1) if seeds is None else seeds
    if not 1 <= num <= 20:
        raise ValueError(f"seeds must be from 1 to 20, got {num}")
    at_most = num + _MORE_SEEDS if until_decided else None
    return Prepared(subject, found, every, len(chosen), num, settings or TrialSettings(), tune, at_most)


class _Loss(nn.Module):
    """The loss of a batch as the forward pass of a model, however the subject calls it."""

    def __init__(self, subject: Subject, model: nn.Module) -> None:
        super().__init__()
        self.subject, self.model = subject, model

    def forward(self, batch: Batch) -> Tensor:
        return self.subject.loss(self.model, batch)


def refuse_problems(subject: Subject, model: nn.Module, data: Batch, arm: Arm) -> None:
    """A model that is switched in part, or wrongly, would be compared with itself, or with something else.

    Rows with their padding, and the same rows without any, to which padding can be added; logits, where they are known.
    """
    _widen(model)
    for batch in _checked_rows(data, subject.vocabulary):
        found = subject.arguments(model, batch)
        report = check(_Loss(subject, model), batch) if found is None else check(model, *found[0], **found[1])
        if not report.ok:
            raise ValueError(f"{subject.name} with {arm.label}: {'; '.join(report.problems)}")


#: of tokens that `check` adds; cut off before, so that the model has positions for them
_ROOM = 3


def _checked_rows(data: Batch, vocabulary: Vocabulary) -> list[Batch]:
    """The longest and the shortest row, if lengths differ; the two longest, as far as both have tokens.

    Not these for an encoder-decoder: `check` adds no padding where a decoder has tokens of its own.
    """
    length = data.tokens.shape[1]
    found = [data.rows(slice(0, 2))]
    if data.real is not None:
        lengths = data.real.sum(1)
        order = lengths.argsort(descending=True, stable=True)
        found = [data.rows(order[[0, -1]]), data.rows(order[:2])]
        length = int(lengths[order[:2]].min())
    if vocabulary.eos_id is not None:
        return found[:1]
    most = vocabulary.max_length
    if most is not None and length + _ROOM > most > 2 * _ROOM:
        length = most - _ROOM
    found[-1] = found[-1].first(length)
    return found


@torch.no_grad()
def _widen(model: nn.Module) -> None:
    """Scale up small matrices until they keep the size of what they are multiplied with.

    Many models begin with weights so small that attention hardly moves what comes out; a wrong mask would not be seen.
    """
    for weights in model.parameters():
        if weights.dim() > 1 and weights.numel() > 1 and weights.is_floating_point():
            spread, wanted = float(weights.std()), weights.shape[-1] ** -0.5
            if 0 < spread < wanted:
                weights.mul_(wanted / spread)


def carry_out(prepared: Prepared, train: _Trainer) -> TrialResult:
    """Seed after seed, all arms of each: what is there after an interruption can be compared."""
    rates = dict.fromkeys(prepared.arms, prepared.settings.learning_rate)

    def spec_of(arm: Arm, seed: int, rate: float) -> TrialRunSpec:
        settings = replace_rate(prepared.settings, rate)
        return TrialRunSpec(
            prepared.subject.digest, prepared.data.digest, prepared.data.longest, arm, seed, settings
        )

    if prepared.tune:
        rates = _tuned(prepared.arms, prepared.settings.learning_rate, spec_of, train.records)

    def result_of(num_seeds: int) -> TrialResult:
        specs = [spec_of(arm, seed, rates[arm]) for seed in range(num_seeds) for arm in prepared.arms]
        records: dict[Arm, dict[int, dict[str, Any]]] = {arm: {} for arm in prepared.arms}
        for spec, record in zip(specs, train.records(specs), strict=True):
            records[spec.arm][spec.seed] = record
        return _result(prepared, rates, records)

    first = result_of(prepared.seeds)
    if prepared.at_most is None or first.decision().kind != "undecided":
        return first
    return first if is_futile(first.of_patterns, prepared.at_most, 2) else result_of(prepared.at_most)


def _result(
    prepared: Prepared, rates: dict[Arm, float], records: dict[Arm, dict[int, dict[str, Any]]]
) -> TrialResult:
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
        1 if prepared.at_most is None else 2,
    )


def replace_rate(settings: TrialSettings, rate: float) -> TrialSettings:
    return settings.model_copy(update={"learning_rate": rate})


def _tuned(
    arms: Sequence[Arm],
    rate: float,
    spec_of: Callable[[Arm, int, float], TrialRunSpec],
    records: Callable[[Sequence[TrialRunSpec]], list[dict[str, Any]]],
) -> dict[Arm, float]:
    """Each arm's rate with the lowest mean final loss, on seeds that the trial itself does not use.

    A rate at which a run diverges is never it.
    """
    rates = [rate * factor for factor in _TUNING_FACTORS]
    specs = {
        (arm, each): [spec_of(arm, seed, each) for seed in _TUNING_SEEDS] for arm in arms for each in rates
    }
    every = [spec for group in specs.values() for spec in group]
    found = dict(zip((spec.digest for spec in every), records(every), strict=True))
    finals = {place: _mean_final([found[spec.digest] for spec in group]) for place, group in specs.items()}
    for arm in arms:
        if all(math.isinf(finals[arm, each]) for each in rates):
            raise ValueError(
                f"{arm.label} diverges at every learning rate of {', '.join(f'{each:.2g}' for each in rates)}"
            )
    return {arm: min(rates, key=lambda each: finals[arm, each]) for arm in arms}


def _mean_final(records: list[dict[str, Any]]) -> float:
    return fmean(curve_of(record).final for record in records)
