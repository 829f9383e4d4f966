"""How far a campaign is: runs and core-hours, done and left, stage by stage."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from semfocus.campaign.campaign import Campaign
from semfocus.campaign.stage import ENDED, OpenStage
from semfocus.runs import RunSpec
from semfocus.runs.progress import being_worked_on
from semfocus.runs.record import Record, read_record
from semfocus.studies.cost import cost_key, rough_seconds
from semfocus.studies.selection import with_seeds

#: the name of the sum
ALL = "all stages"


@dataclass(frozen=True)
class Account:
    """One stage, or all of them. A run counts in the first stage that has it: `shared` ones belong to earlier stages.

    `exported`: of those done, the ones that no store here has. `failed`: tried and not ended, counted in `left` too.
    `shared_left`: of the shared ones, those still to be trained.
    """

    name: str
    question: str
    runs: int
    done: int
    exported: int
    running: int
    failed: int
    left: int
    shared: int
    shared_left: int
    hours_done: float
    hours_left: float


def accounts(campaign: Campaign, only: str | None = None) -> list[Account]:
    """Stage by stage; nothing is written. A stage alone has all of its runs, as it would train them."""
    found = {
        spec.digest: (spec, _record(campaign, spec), campaign.is_known(spec))
        for _, specs in campaign.own_specs()
        for spec in specs
    }
    begun = [campaign.store.directory(spec) for spec, _, is_known in found.values() if not is_known]
    running = being_worked_on([each for each in begun if each.exists])
    pace = _Pace((spec, record) for spec, record, _ in found.values())
    return [
        _account(campaign, stage, [found[spec.digest] for spec in specs], pace, running)
        for stage, specs in campaign.specs_of(only)
    ]


def total(parts: Sequence[Account]) -> Account:
    """All stages together."""
    numbers = ("runs", "done", "exported", "running", "failed", "left", "hours_done", "hours_left")
    sums: dict[str, Any] = {name: sum(getattr(each, name) for each in parts) for name in numbers}
    return Account(name=ALL, question="", shared=0, shared_left=0, **sums)


def _record(campaign: Campaign, spec: RunSpec) -> Record | None:
    """What is there of a run: ended or begun in the store, or exported as the stage needs it."""
    directory = campaign.store.directory(spec)
    if directory.has_ended or (directory.exists and not campaign.is_exported(spec)):
        return read_record(directory)
    return campaign.exported[spec.digest] if campaign.is_exported(spec) else None


def _account(
    campaign: Campaign,
    stage: OpenStage,
    found: Sequence[tuple[RunSpec, Record | None, bool]],
    pace: "_Pace",
    running: set[str],
) -> Account:
    known = [spec for spec, _, is_known in found if is_known]
    left = [(spec, 0.0 if record is None else seconds_of(record)) for spec, record, done in found if not done]
    to_come = _second_part(campaign, stage)
    records = [record for _, record, _ in found if record is not None]
    names = {spec.digest for spec, _, _ in found}
    shared = [spec for spec in campaign.specs(stage) if spec.digest not in names]
    seconds_left = sum(max(0.0, pace.seconds(spec) - spent) for spec, spent in left)
    return Account(
        name=stage.name,
        question=stage.question,
        runs=len(found) + len(to_come),
        done=len(known),
        exported=sum(not campaign.store.directory(spec).has_ended for spec in known),
        running=sum(spec.digest in running for spec, _ in left),
        failed=sum(record.state in ("failed", "corrupt") for record in records),
        left=len(left) + len(to_come),
        shared=len(shared),
        shared_left=sum(not campaign.is_known(spec) for spec in shared),
        hours_done=sum(map(seconds_of, records)) / 3600,
        hours_left=(seconds_left + sum(map(pace.seconds, to_come))) / 3600,
    )


def _second_part(campaign: Campaign, stage: OpenStage) -> list[RunSpec]:
    """As many runs as will follow from a search that has not ended: their number does not depend on its results."""
    make, first = stage.study.source.next_stage, stage.study.specs
    if make is None or len(campaign.specs(stage)) > len(first):
        return []
    found = make([Record({"spec": spec.model_dump(mode="json"), "summary": {}}) for spec in first])
    return found if stage.study.seeds is None else with_seeds(found, stage.study.seeds)


def seconds_of(record: Record) -> float:
    """Of training and evaluation, as far as they are known."""
    columns = [record.curve.get(name, ()) for name in ("train_seconds", "evaluation_seconds")]
    return sum(value for column in columns for value in column if value is not None and math.isfinite(value))


class _Pace:
    """How long runs take: as equal ones on other seeds did, or by what their epochs cost, or by a formula."""

    def __init__(self, known: Iterable[tuple[RunSpec, Record | None]]) -> None:
        self.whole: dict[str, list[float]] = {}
        self.each: dict[str, list[float]] = {}
        for spec, record in known:
            if record is not None and record.curve.get("epoch"):
                seconds = seconds_of(record)
                self.each.setdefault(_of_an_epoch(spec), []).append(seconds / (record.curve["epoch"][-1] + 1))
                if record.state in ENDED:
                    self.whole.setdefault(_setting(spec), []).append(seconds)

    def seconds(self, spec: RunSpec) -> float:
        if _setting(spec) in self.whole:
            return fmean(self.whole[_setting(spec)])
        if _of_an_epoch(spec) in self.each:
            return fmean(self.each[_of_an_epoch(spec)]) * (spec.training.epochs + 1)
        return rough_seconds(spec)


def _setting(spec: RunSpec) -> str:
    """Equal for runs that differ in their seed alone."""
    return json.dumps({**json.loads(spec.canonical()), "seed": 0})


def _of_an_epoch(spec: RunSpec) -> str:
    return json.dumps([cost_key(spec), spec.training.num_train, spec.training.num_held_out])
