"""Showing a study while it runs: a live table in a terminal, plain lines elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from semfocus.runs import RunSpec
from semfocus.studies import StudyWatcher


@contextmanager
def study_watcher(specs: Sequence[RunSpec], quiet: bool) -> Iterator[StudyWatcher]:
    yield StudyWatcher()
