"""One study of a campaign: what is trained and measured, and which exported runs count."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from semfocus.measurements import Inside, Measurement
from semfocus.recipes.source import checked_specs
from semfocus.runs import RunSpec, Store
from semfocus.settings import explain
from semfocus.studies.selection import without_repeats
from semfocus.study import Study

ENDED = ("done", "diverged")


@dataclass(frozen=True)
class Stage:
    """A line of a campaign file: `Stage("depth", "depth_short", seeds=6)`.

    recipe: a recipe's name, the path of a study file, or a function that returns specs. seeds, patterns, tasks and
    settings choose among its runs as the options of `semfocus study` do. measure: what is measured after training
    (default: what the recipe says). needs: columns of the curve or measurements without which an exported run does
    not count, such as "clipped_share", or "layers", what was measured layer by layer along training; a run without a
    curve never does.
    """

    name: str
    recipe: str | Callable[[], Iterable[RunSpec]]
    seeds: Sequence[int] | int | None = None
    patterns: Sequence[str] | str | None = None
    tasks: Sequence[str] | str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""
    measure: Sequence[Measurement] | None = None
    needs: Sequence[str] = ()


@dataclass(frozen=True)
class OpenStage:
    """A stage with its study."""

    stage: Stage
    study: Study

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def question(self) -> str:
        return self.stage.question or self.study.question

    @property
    def has_two_parts(self) -> bool:
        """Whether runs follow from the results of the others."""
        return self.study.source.next_stage is not None

    @property
    def measurements(self) -> list[Measurement]:
        chosen = self.stage.measure
        return self.study.measurements if chosen is None else list(chosen)

    @property
    def probe_every(self) -> int | None:
        """Measuring while a run trains is cheap; afterwards it means to train it again."""
        return next((each.every for each in self.measurements if isinstance(each, Inside)), None)


def open_stage(stage: Stage, store: Store, file: Path | None, recipe_file: Path | None) -> OpenStage:
    """Find the recipe and choose among its runs; an error names the stage.

    `file`: of the campaign; `recipe_file`: the same where it defines patterns or tasks that functions use.
    """
    try:
        recipe: Any = stage.recipe
        if callable(recipe):
            make = recipe
            recipe = checked_specs(lambda: without_repeats(make()), stage.name, file)
        study = Study(
            recipe,
            store,
            recipe_file=None if isinstance(recipe, str) else recipe_file,
            seeds=stage.seeds,
            patterns=stage.patterns,
            tasks=stage.tasks,
            settings=dict(stage.settings),
            command=_command(stage, file),
        )
    except ValueError as error:
        what = explain(error) if isinstance(error, ValidationError) else str(error)
        raise ValueError(f"stage {stage.name!r}: {what}") from error
    return OpenStage(stage, study)


def _command(stage: Stage, file: Path | None) -> str:
    """Without the places of one machine: plans are exported, and read elsewhere."""
    known = "FILE" if file is None else file.name if file.is_absolute() else str(file)
    return shlex.join(["semfocus", "campaign", known, "--stage", stage.name])
