"""What follows the training of a study, where its recipe asks for it: longer sequences, twins, looks inside and around the models."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from semfocus.cli.study_landscapes import surveyed_runs
from semfocus.cli.study_lengths import Lengths, evaluated_lengths
from semfocus.cli.study_probes import not_measured_along, probed_runs
from semfocus.cli.study_twins import Measured, measured_twins

if TYPE_CHECKING:
    from semfocus.cli.study_run import Execution, StudyResult


@dataclass(frozen=True)
class Afterwards:
    """What was found, and a line for everything that could not be."""

    lengths: Lengths
    twins: Measured
    unprobed: list[str]
    unsurveyed: list[str]
    #: runs, not a failure: --probe-every sees only what trains
    not_along: list[str]

    @property
    def errors(self) -> list[str]:
        return [*self.lengths.errors, *self.twins.errors, *self.unprobed, *self.unsurveyed]


def afterwards(result: "StudyResult", execution: "Execution", landscape_page: Path | None) -> Afterwards:
    """Everything that the recipe asks for; what is known is read."""
    source = result.source
    return Afterwards(
        evaluated_lengths(result, execution) if source.evaluates_lengths else Lengths(),
        measured_twins(result, execution) if source.measures_twins else Measured(),
        probed_runs(result, execution),
        surveyed_runs(result, execution, landscape_page),
        not_measured_along(result, execution),
    )
