"""The way of a run, looked at afterwards: the rows that training with `probe_every` would have noted."""

from collections.abc import Iterator, Sequence

from semfocus.runs import RunDirectory
from semfocus.studies.along_training import is_probed
from semfocus.studies.kept_rows import add_rows, label_of, labelled
from semfocus.studies.measuring import ALONG_TRAINING, FEW, PARTS, Row, measure
from semfocus.training.replay import chosen_epoch, readable_record, replayed
from semfocus.training.runner import dataset_of


def along_training(directory: RunDirectory) -> list[Row]:
    """What is known of the way of a run: rows of its journal, and of `probe_along` where the journal has none."""
    noted = readable_record(directory).get("probes") or []
    known = {row["epoch"] for row in noted}
    label = label_of("along", ALONG_TRAINING)
    later = [
        row for row in directory.probes() if row.get("quantities") == label and row["epoch"] not in known
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
