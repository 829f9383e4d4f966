"""How far a campaign is: runs and core-hours, done and left, stage by stage."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from semfocus.campaign.campaign import Campaign
from semfocus.campaign.stage import OpenStage
from semfocus.runs import RunSpec
from semfocus.runs.progress import being_worked_on
from semfocus.runs.record import Record, read_record
from semfocus.studies.pace import Pace
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
    pace = Pace.of(
        {**campaign.exported, **{name: record for name, (_, record, _) in found.items() if record}}
    )
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
    pace: Pace,
    running: set[str],
) -> Account:
    known = [spec for spec, _, is_known in found if is_known]
    left = [(spec, _last_epoch(record)) for spec, record, is_known in found if not is_known]
    to_come = _second_part(campaign, stage)
    records = [record for _, record, _ in found if record is not None]
    names = {spec.digest for spec, _, _ in found}
    shared = [spec for spec in campaign.specs(stage) if spec.digest not in names]
    seconds_left = sum(pace.seconds(spec, after) for spec, after in left)
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


def _last_epoch(record: Record | None) -> float:
    """Of a run that was begun."""
    return (record.curve.get("epoch") or [0.0])[-1] if record is not None else 0.0


def seconds_of(record: Record) -> float:
    """Of training and evaluation, as far as they are known."""
    columns = [record.curve.get(name, ()) for name in ("train_seconds", "evaluation_seconds")]
    return sum(value for column in columns for value in column if value is not None and math.isfinite(value))
