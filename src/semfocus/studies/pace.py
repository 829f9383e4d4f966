"""How long runs will take, by runs that have ended: the seconds of an epoch, and the epochs to the target."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

from pydantic import ValidationError

from semfocus.runs import RunSpec
from semfocus.runs.arms import arm_of
from semfocus.runs.record import Record
from semfocus.studies.cost import cost_key, evaluations, rough_seconds

#: of such runs nothing more will come
_ENDED = ("done", "diverged")


@dataclass(frozen=True)
class _Ended:
    """A run as its successors see it."""

    spec: RunSpec
    epochs: Sequence[float]
    accuracies: Sequence[float]

    def epochs_to(self, stop: float) -> float | None:
        """How many it takes to train until this accuracy, at most its limit; None where it stopped before."""
        for epoch, accuracy in zip(self.epochs, self.accuracies, strict=False):
            if accuracy is not None and accuracy >= stop:
                return epoch
        own = self.spec.training.stop_at
        stopped_before = own is not None and own < stop and self.epochs[-1] < self.spec.training.epochs
        return None if stopped_before else float(self.spec.training.epochs)


class Pace:
    """What the runs of one or several machines say about those to come.

    Seconds of an epoch are medians over the epochs of a run, then over runs: on a machine that was busy with
    something else some take ten times as long. Epochs of a kind that nobody ran take what `rough_seconds` says.
    """

    def __init__(self, known: Iterable[tuple[RunSpec, Record]]) -> None:
        self._ended: list[_Ended] = []
        seconds: dict[str, list[float]] = {}
        for spec, record in known:
            own = _seconds_of_epochs(record)
            if own:
                seconds.setdefault(_kind(spec), []).append(median(own))
            if record.state in _ENDED and record.curve.get("epoch"):
                accuracies = record.curve.get("train_accuracy", ())
                self._ended.append(_Ended(spec, record.curve["epoch"], accuracies))
        self._seconds = {kind: median(each) for kind, each in seconds.items()}
        self._epochs: list[dict[str, list[_Ended]]] = []
        for alike in _ALIKE:
            found: dict[str, list[_Ended]] = {}
            for each in self._ended:
                found.setdefault(alike(each.spec), []).append(each)
            self._epochs.append(found)

    @classmethod
    def of(cls, records: Mapping[str, Record] | Iterable[Record]) -> "Pace":
        """From records; one whose spec cannot be read says nothing."""
        given = records.values() if isinstance(records, Mapping) else records
        return cls((spec, record) for record in given if (spec := _spec_of(record)) is not None)

    def seconds(self, spec: RunSpec, after: float = 0.0) -> float:
        """Of a run, or of what is left of it after so many epochs."""
        known = self._seconds.get(_kind(spec))
        left = max(0.0, self.epochs(spec) - after)
        return left * (rough_seconds(spec) / spec.training.epochs if known is None else known)

    def epochs(self, spec: RunSpec) -> float:
        """To expect: the limit, or where a run stops at a target what the same arm took on the same task, else
        what all arms took there.
        """
        limit, stop = spec.training.epochs, spec.training.stop_at
        if stop is None:
            return limit
        for alike, known in zip(_ALIKE, self._epochs, strict=True):
            took = [each.epochs_to(stop) for each in known.get(alike(spec), ())]
            found = [min(each, limit) for each in took if each is not None]
            if found:
                return median(found)
        return limit


def _spec_of(record: Record) -> RunSpec | None:
    try:
        return RunSpec.model_validate(record.spec)
    except ValidationError:
        return None


def _seconds_of_epochs(record: Record) -> list[float]:
    """Of training and evaluation; nothing where an export left them out."""
    curve = record.curve
    columns = [curve.get(name) for name in ("epoch", "train_seconds", "evaluation_seconds")]
    if not all(columns):
        return []
    found = [
        train + seen
        for epoch, train, seen in zip(*columns, strict=True)
        if epoch > 0 and None not in (train, seen)
    ]
    return [each for each in found if math.isfinite(each)]


def _kind(spec: RunSpec) -> str:
    """Equal for runs whose epochs cost the same."""
    training = spec.training
    return json.dumps([cost_key(spec), training.num_train, training.num_held_out, evaluations(spec)])


def _setting(spec: RunSpec) -> str:
    """Equal for runs that differ in seed, and in when they end."""
    values = json.loads(spec.canonical())
    training = {
        key: value for key, value in values.get("training", {}).items() if key not in ("stop_at", "epochs")
    }
    return json.dumps({**values, "seed": 0, "training": training}, sort_keys=True)


def _arm(spec: RunSpec) -> str:
    """Equal for runs of one arm on a task of one size, however deep the models are and whatever else was set."""
    return json.dumps([arm_of(spec.model_dump(mode="json")).label, _task(spec)])


def _task(spec: RunSpec) -> str:
    return json.dumps([spec.task, spec.training.length, spec.training.num_train])


#: from most to least alike
_ALIKE: tuple[Callable[[RunSpec], str], ...] = tuple(map(lru_cache(maxsize=4096), (_setting, _arm, _task)))
