"""What is measured inside a model along its training: while it trains, or afterwards by training it again."""

from collections.abc import Iterator, Sequence

from semfocus.measurements.interior import ALONG_TRAINING, PARTS, Row, add_rows, label_of
from semfocus.measurements.run_probe import FEW, labelled, measure
from semfocus.runs import RunDirectory
from semfocus.runs.directory import probe_rows_of
from semfocus.training import Attempt, EpochResult, Observer
from semfocus.training.loop import reached_stop
from semfocus.training.replay import chosen_epoch, readable_record, replayed
from semfocus.training.runner import dataset_of


def is_probed(epoch: int, every: int, last: int) -> bool:
    """Epoch 0, every so many, and the last."""
    return epoch % every == 0 or epoch == last


class ProbeObserver(Observer):
    """At epoch 0, N, 2N, ... and the last, notes what is measured on a few sequences; training does not see it.

    Observers hear of an epoch after its times were taken, so measuring counts into none of them.
    """

    def __init__(self, every: int) -> None:
        if every < 1:
            raise ValueError(f"probe_every must be at least 1, got {every}")
        self.every = every
        self.attempt: Attempt | None = None

    def prepared(self, attempt: Attempt) -> None:
        self.attempt = attempt

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        """A process that was killed between saving an epoch and measuring it left a gap, which is filled here."""
        assert self.attempt is not None
        restored = first_epoch - 1
        known = {row["epoch"] for row in probe_rows_of(self.attempt.directory.events())}
        if restored >= 0 and is_probed(restored, self.every, last_epoch) and restored not in known:
            self._probe(restored)

    def epoch_ended(self, result: EpochResult) -> None:
        assert self.attempt is not None
        settings = self.attempt.spec.training
        stops = reached_stop(settings, result.train_accuracy)
        if is_probed(result.epoch, self.every, result.epoch if stops else settings.epochs):
            self._probe(result.epoch)

    def _probe(self, epoch: int) -> None:
        assert self.attempt is not None
        attempt = self.attempt
        try:
            rows = [
                row
                for part in PARTS
                for row in measure(
                    attempt.model, attempt.spec, attempt.data, part, samples=FEW, quantities=ALONG_TRAINING
                )
            ]
        except ValueError as error:  # scores that are not numbers, say: the run is still a run
            attempt.directory.note("probe", epoch=epoch, rows=[], problem=str(error))
            return
        attempt.directory.note("probe", epoch=epoch, rows=rows)


def along_training(directory: RunDirectory) -> list[Row]:
    """What is known of the way of a run: rows of its journal, and of `probe_along` where the journal has none."""
    noted = readable_record(directory).get("probes") or []
    known = {row["epoch"] for row in noted}
    label = label_of("along", ALONG_TRAINING)
    later = [
        row
        for row in directory.kept("inside")
        if row.get("quantities") == label and row["epoch"] not in known
    ]
    return sorted([*noted, *later], key=lambda row: row["epoch"])


def probe_along(directory: RunDirectory, every: int) -> list[Row]:
    """The rows that training with `probe_every` would have noted, for a run that was trained without.

    Epochs without rows are trained again; what was measured is kept even if this is interrupted.
    """
    wanted = _not_along(directory, every)
    if wanted:
        new: list[Row] = []
        try:
            for rows in _measured_on_the_way(directory, wanted):
                new += rows
        finally:
            add_rows(directory, new)
    return along_training(directory)


def rows_along(directory: RunDirectory, every: int) -> list[Row]:
    """The rows that `probe_along` would add."""
    wanted = _not_along(directory, every)
    new: list[Row] = []
    try:
        for rows in _measured_on_the_way(directory, wanted) if wanted else ():
            new += rows
    except KeyboardInterrupt:  # it takes a whole training: what there is stays
        add_rows(directory, new)
        raise
    return new


def along_is_known(directory: RunDirectory, every: int) -> bool:
    """Whether `probe_along` would only read."""
    return not _not_along(directory, every)


def _not_along(directory: RunDirectory, every: int) -> list[int]:
    """Epochs that lack rows."""
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    record = readable_record(directory)
    last = chosen_epoch(record, "last")
    known = {row["epoch"] for row in along_training(directory)}
    return [each for each in record["curve"]["epoch"] if is_probed(each, every, last) and each not in known]


def _measured_on_the_way(directory: RunDirectory, epochs: Sequence[int]) -> Iterator[list[Row]]:
    """All rows of one epoch at a time: an epoch with some of them would count as measured."""
    label = label_of("along", ALONG_TRAINING)
    drawn = None
    for trained in replayed(directory, epochs):
        drawn = drawn or dataset_of(trained.spec)
        found = [
            measure(trained.model, trained.spec, drawn, part, samples=FEW, quantities=ALONG_TRAINING)
            for part in PARTS
        ]
        yield labelled([row for rows in found for row in rows], label, trained)
