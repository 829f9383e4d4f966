"""Comparisons: which runs are held against which."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from semfocus.runs.arms import (
    EARLIER,
    GROUPS,
    USER_DEFINED,
    WITHIN_A_COMPARISON,
    ArmName,
    Setting,
    arm_of,
    flat,
    task_title,
    unlike_the_paper,
)
from semfocus.runs.record import Record

#: of two records of one run, the one that says more
_MOST_FINISHED_FIRST = ("done", "diverged", "failed", "interrupted", "unfinished", "running")


class Contrast(NamedTuple):
    """What is held against what."""

    arm: str
    baseline: str

    def __str__(self) -> str:
        return f"{self.arm} against {self.baseline}"


@dataclass(frozen=True)
class Comparison:
    """Runs that differ in pattern, inverse temperature, controls and seed alone."""

    task: str
    #: the task as people read it, different for each task of the comparisons that were made together
    title: str
    setting: Setting
    arms: dict[str, list[Record]]
    groups: dict[str, str]
    #: what else differs between arms, where the caller allowed it: label -> flat key -> value
    arm_settings: dict[str, Setting] = field(default_factory=dict)
    #: everything that all runs share, as flat keys, the paper's values too
    shared: Setting = field(default_factory=dict)

    def is_set_like(self, other: "Comparison") -> bool:
        """Whether both have the same values, or differ from the paper's setting of their tasks in the same."""
        if self.own_keys != other.own_keys:
            return False
        return self.setting == other.setting or (bool(self.shared) and self.shared == other.shared)

    @property
    def own_keys(self) -> set[str]:
        """What each arm has for itself."""
        return {key for values in self.arm_settings.values() for key in values}


def comparisons(
    records: Iterable[Mapping[str, Any]], *, apart_from: Collection[str] = (), tasks: Collection[str] = ()
) -> list[Comparison]:
    """One for each task and setting; the paper's setting first, then by how much differs from it.

    `apart_from` names flat keys ("training.learning_rate") that may differ between arms as well, for
    studies that give each arm its own. Records without a readable spec belong to no comparison.
    `tasks`: others that stand beside these, so that no two files of one name get the same title.
    """
    sharing: dict[str, list[tuple[Setting, Record]]] = {}
    for record in map(Record.of, records):
        spec = flat(record.get("spec") or {})
        if "task" in spec:
            key = json.dumps([spec["task"], _shared(spec, {*apart_from, "recipe"})], sort_keys=True)
            sharing.setdefault(key, []).append((spec, record))
    everywhere = set(tasks) | {spec["task"] for members in sharing.values() for spec, _ in members}
    found = [
        _comparison(own, apart_from, everywhere) for members in sharing.values() for own in _by_file(members)
    ]
    return sorted(found, key=lambda each: (each.task, len(each.setting), json.dumps(each.setting)))


def _by_file(members: list[tuple[Setting, Record]]) -> list[list[tuple[Setting, Record]]]:
    """A run of a built-in pattern has the digest of a user's file only where its task is from there.

    Such runs are compared among themselves. A pattern from a file is compared with those of the same digest if there
    are any, else with the plain ones.
    """
    tied = {spec.get("recipe") for spec, record in members if arm_of(record["spec"]).group != USER_DEFINED}
    parts: dict[Any, list[tuple[Setting, Record]]] = {}
    for spec, record in members:
        digest = spec.get("recipe")
        parts.setdefault(digest if digest in tied else None, []).append((spec, record))
    return list(parts.values())


def _versions(members: list[tuple[Setting, Record]]) -> dict[str, set[str]]:
    """Under which digests of files a user's pattern was run, another text may be another pattern; and after
    which pre-training.
    """
    found: dict[str, set[str]] = {}
    for spec, record in members:
        found.setdefault(arm_of(record["spec"]).label, set()).add(_version(spec))
    return found


def _version(spec: Setting) -> str:
    earlier = {key: value for key, value in spec.items() if key.startswith(EARLIER)}
    if not earlier:
        return str(spec.get("recipe"))
    return hashlib.sha256(json.dumps([spec.get("recipe"), earlier], sort_keys=True).encode()).hexdigest()


def _comparison(
    members: list[tuple[Setting, Record]], apart_from: Collection[str], tasks: Collection[str]
) -> Comparison:
    task = members[0][0]["task"]
    runs: dict[ArmName, dict[int, Record]] = {}
    own: dict[ArmName, Setting] = {}
    versions = _versions(members)
    for spec, record in members:
        arm = arm_of(record["spec"])
        if len(versions[arm.label]) > 1:
            arm = ArmName(f"{arm.label} [{_version(spec)[:6]}]", arm.group)
        chosen = {key: spec[key] for key in sorted(apart_from) if key in spec}
        if own.setdefault(arm, chosen) != chosen:
            raise ValueError(
                f"{task}, {arm.label}: runs with {own[arm]} and with {chosen}; pass runs of one setting per arm"
            )
        seeds = runs.setdefault(arm, {})
        known = seeds.get(spec["seed"])
        seeds[spec["seed"]] = record if known is None else min(known, record, key=_rank)
    ordered = sorted(runs, key=_order)
    setting = {
        key: value
        for key, value in unlike_the_paper(task, members[0][0]).items()
        if key not in {*WITHIN_A_COMPARISON, *apart_from}
        and not key.startswith(EARLIER)
        and not (key == "recipe" and len({spec.get("recipe") for spec, _ in members}) > 1)
    }
    return Comparison(
        task=task,
        title=task_title(task, tasks),
        setting=setting,
        arms={arm.label: [runs[arm][seed] for seed in sorted(runs[arm])] for arm in ordered},
        groups={arm.label: arm.group for arm in ordered},
        arm_settings={arm.label: own[arm] for arm in ordered} if apart_from else {},
        shared=_shared(members[0][0], {*apart_from, "recipe", "data"}),
    )


def _shared(spec: Setting, apart: Collection[str]) -> Setting:
    without = {*WITHIN_A_COMPARISON, *apart}
    return {key: value for key, value in spec.items() if key not in without and not key.startswith(EARLIER)}


def _rank(record: Record) -> tuple[int, int, str]:
    """Small for the record that says most about its run; the text decides between equals, whatever the order."""
    state = record.get("state", "")
    known = _MOST_FINISHED_FIRST
    place = known.index(state) if state in known else len(known)
    return place, -len(record.get("curve", {}).get("epoch", [])), json.dumps(record, sort_keys=True)


def _order(arm: ArmName) -> tuple[int, list[tuple[int, float, str]]]:
    """By group, then by label, with numbers in labels as numbers: ×4 before ×10."""
    words = re.split(r"(\d+(?:\.\d+)?)", arm.label)
    return GROUPS.index(arm.group), [
        (1, float(word), "") if number % 2 else (0, 0.0, word) for number, word in enumerate(words)
    ]
