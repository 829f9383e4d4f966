"""Measuring while a run trains: probe rows in its journal from epoch 0 on, without a trace in its result."""

from semfocus.runs.directory import probe_rows_of
from semfocus.studies.measuring import ALONG_TRAINING, FEW, PARTS, measure
from semfocus.training import Attempt, EpochResult, Observer
from semfocus.training.loop import reached_stop


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
