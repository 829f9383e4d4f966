"""The record of a run: its curve, a summary, where it was computed, and what was measured in it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Self

from semfocus.runs.directory import DamagedRun, RunDirectory, epoch_rows, probe_rows_of, steps_of
from semfocus.runs.journal import CorruptJournal
from semfocus.runs.outcome import summarise
from semfocus.runs.shape import OPTIONAL_NUMBERS, problem_of_spec

_NOT_THE_RESULT = ("environment", "attempts", "problems", "run", "probes")
#: events that a run goes through without changing its state
_ON_THE_WAY = ("epoch", "probe")


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError(
        "a record is frozen: record | {...} makes another, copy.deepcopy(part) a part that can be changed"
    )


class FrozenDict(dict[str, Any]):
    """A part of a record: equal to a plain dict and written as one; what copies and pickles make of it is plain."""

    __slots__ = ()
    __setitem__ = __delitem__ = update = setdefault = pop = popitem = clear = __ior__ = _refuse

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """The same for a list."""

    __slots__ = ()
    __setitem__ = __delitem__ = append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> Any:
        return list, (list(self),)


_SINGLE = frozenset({int, float, str, bool, type(None)})


def frozen(value: Any) -> Any:
    """The same value with every dict and list in it frozen; a long column of numbers costs no more than a copy."""
    if isinstance(value, FrozenDict | FrozenList):
        return value
    if isinstance(value, dict):
        return FrozenDict(
            {key: each if type(each) in _SINGLE else frozen(each) for key, each in value.items()}
        )
    if isinstance(value, list | tuple):
        has_parts = not _SINGLE.issuperset(map(type, value))
        parts = map(frozen, value) if has_parts else value
        return FrozenList(parts) if isinstance(value, list) else tuple(parts)
    return value


class Record(FrozenDict):
    """What is known of one run, finished or not: frozen plain values under the names of its file.

    Unknown keys are kept. A run whose files cannot be read is a record too, of the state `corrupt`.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        directory: RunDirectory | None = None,
        measurements: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__((key, frozen(value)) for key, value in values.items())
        self._directory = directory
        self._measurements: Mapping[str, Any] = frozen(dict(measurements or {}))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Record":
        """Any record as a value of this type."""
        return values if isinstance(values, Record) else cls(values)

    @property
    def run(self) -> str:
        return str(self.get("run"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """Empty for a corrupt run."""
        return self.get("spec") or {}

    @property
    def state(self) -> str:
        """done, diverged, failed, interrupted, unfinished or corrupt."""
        return str(self.get("state", "unknown"))

    @property
    def reason(self) -> str | None:
        return self.get("reason")

    @property
    def curve(self) -> Mapping[str, Sequence[Any]]:
        """Columns by name; empty before the first epoch."""
        return self.get("curve") or {}

    @property
    def steps(self) -> Mapping[str, Sequence[Any]]:
        """`step` and `train_accuracy` between epochs, for runs with `training.evaluate_every`; else empty."""
        return self.get("steps") or {}

    @property
    def summary(self) -> Mapping[str, Any]:
        return self.get("summary") or {}

    @property
    def environment(self) -> Mapping[str, Any]:
        return self.get("environment") or {}

    @property
    def directory(self) -> RunDirectory | None:
        """Where the run is kept; None for a record that came from elsewhere."""
        return self._directory

    @property
    def measurements(self) -> "Measurements":
        """What was measured in the run, by the name of the measurement; read when it is asked for."""
        return Measurements(self._measurements, self._directory)

    def measured(self, name: str) -> list[dict[str, Any]]:
        """A measurement, or nothing where there is none or its file is damaged: `semfocus status` reports damage."""
        try:
            found: list[dict[str, Any]] = self.measurements[name]
        except (KeyError, DamagedRun, OSError):
            return []
        return found

    def __or__(self, other: Mapping[str, Any]) -> "Record":  # type: ignore[override]
        return Record({**self, **other}, self._directory, self._measurements)

    def __copy__(self) -> Self:
        return self

    def __reduce__(self) -> Any:
        return Record, (dict(self), self._directory, self._measurements)

    def __repr__(self) -> str:
        facts = [self.spec.get("task"), self.spec.get("pattern"), f"seed {self.spec.get('seed')}", self.state]
        return f"<Record {self.run[:8]} {' '.join(map(str, facts))}>"


class Measurements(Mapping[str, Any]):
    """What was measured in one run, by name: given, or read from the run's directory."""

    def __init__(self, given: Mapping[str, Any], directory: RunDirectory | None) -> None:
        self._given = given
        self._directory = directory

    def __getitem__(self, name: str) -> Any:
        if name in self._given:
            return self._given[name]
        rows = self._directory.kept(name) if self._directory is not None else []
        if not rows:
            raise KeyError(f"{name} was not measured in this run; there is: {', '.join(self) or 'nothing'}")
        return rows

    def __repr__(self) -> str:
        return f"<Measurements: {', '.join(self) or 'none'}>"

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def given(self, name: str) -> list[Any]:
        """What the record was made with under this name, whatever its directory holds."""
        return list(self._given.get(name, ()))

    def __iter__(self) -> Iterator[str]:
        kept = self._directory.kept_names() if self._directory is not None else ()
        return iter(dict.fromkeys([*self._given, *kept]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def with_kernel_version(numerics: Mapping[str, Any]) -> dict[str, Any]:
    """A numerics class as it is written now: version 0.1.0 named no kernel version, and its kernels are version 1."""
    first = None if numerics.get("kernels") == "none" else 1
    return {"kernel_version": first, **numerics}


def read_record(directory: RunDirectory) -> Record:
    """The final record, or for a run that has not ended what its journal says so far (state `unfinished`)."""
    try:
        final = directory.record()
        if final is not None:
            return Record(final, directory)
        spec, events = directory.spec(), directory.events()
        problem = problem_of_spec(spec)
        if problem is not None:
            raise DamagedRun(f"{directory.path / 'spec.json'} is damaged: {problem}")
    except (DamagedRun, CorruptJournal, OSError) as error:
        return Record(
            {"run": directory.name, "spec": {}, "state": "corrupt", "reason": str(error)}, directory
        )
    rows = epoch_rows(events)
    ended = next((event for event in reversed(events) if event["event"] not in _ON_THE_WAY), None)
    state = {"failed": "failed", "interrupted": "interrupted"}.get(
        ended["event"] if ended else "", "unfinished"
    )
    values = {
        "run": directory.name,
        "spec": spec,
        "state": state,
        "reason": ended.get("reason") if ended else None,
        "curve": as_columns(rows),
        "summary": summarise(rows, str(spec.get("task"))),
        "probes": probe_rows_of(events),
        **steps_of(events),
    }
    return Record(values, directory)


def as_columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows as lists by name; None where a row lacks a column, as in a run that an older version began."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def result_digest(record: Mapping[str, Any]) -> str:
    """One number for the result alone: equal for the same run on any machine of one numerics class."""
    result = {key: value for key, value in record.items() if key not in _NOT_THE_RESULT}
    if isinstance(result.get("curve"), dict):
        curve = result["curve"]
        result["curve"] = {key: values for key, values in curve.items() if key not in OPTIONAL_NUMBERS}
    return hashlib.sha256(json.dumps(_without_times(result), sort_keys=True).encode()).hexdigest()[:20]


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if "seconds" not in key}
    return value


def study_digest(records: Iterable[Mapping[str, Any]]) -> str:
    """One number for the results of many runs, in whatever order they come."""
    digests = sorted((record["run"], result_digest(record)) for record in records)
    return hashlib.sha256(json.dumps(digests).encode()).hexdigest()[:20]
