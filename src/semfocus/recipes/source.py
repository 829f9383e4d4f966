"""From what a user names, a recipe or a Python file, to the study it describes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from semfocus.mechanisms import Pattern, WithGlobals
from semfocus.notation import did_you_mean
from semfocus.recipes import RECIPES, Recipe
from semfocus.runs import RunSpec, load_recipe
from semfocus.runs.recipe_file import defines_classes, place_in
from semfocus.runs.record import Record
from semfocus.settings import explain
from semfocus.studies.grid import refuse_repeats
from semfocus.studies.landscape.options import LandscapeOptions
from semfocus.studies.probe_plan import Probing
from semfocus.studies.selection import changed


@dataclass(frozen=True)
class Source:
    """A recipe with its name and, if it or its patterns and tasks come from a user's file, that file."""

    name: str
    recipe: Recipe | ModuleType
    #: the file with patterns and tasks, which workers load as well
    file: Path | None = None
    digest: str | None = None
    module: ModuleType | None = None
    #: the file with specs(), if the recipe is a user's
    study_file: Path | None = None

    @property
    def question(self) -> str:
        return str(getattr(self.recipe, "QUESTION", f"What do the runs of {self.name} show?"))

    @property
    def next_stage(self) -> Callable[[Sequence[Record]], list[RunSpec]] | None:
        """The runs that follow from the records of the first ones, for recipes in two stages."""
        return getattr(self.recipe, "next_stage", None)

    @property
    def own_settings(self) -> tuple[str, ...]:
        """Fields that may differ between the arms of one comparison."""
        return tuple(getattr(self.recipe, "OWN_SETTINGS", ()))

    @property
    def evaluates_lengths(self) -> bool:
        return bool(getattr(self.recipe, "EVALUATE_LENGTHS", False))

    @property
    def measures_twins(self) -> bool:
        return bool(getattr(self.recipe, "TWINS", False))

    @property
    def probing(self) -> Probing | None:
        """What the study measures inside its models after training."""
        found = getattr(self.recipe, "PROBES", None)
        if found is not None and not isinstance(found, Probing):
            raise ValueError(f"PROBES of {self.name} must be a Probing, got {found!r:.80}")
        return found

    @property
    def landscapes(self) -> LandscapeOptions | None:
        """What the study computes around its models after training."""
        found = getattr(self.recipe, "LANDSCAPES", None)
        if found is not None and not isinstance(found, LandscapeOptions):
            raise ValueError(f"LANDSCAPES of {self.name} must be LandscapeOptions, got {found!r:.80}")
        return found

    @property
    def afterwards(self) -> list[str]:
        """What follows the training, in words."""
        found = []
        if self.evaluates_lengths:
            found.append("the models are evaluated on longer sequences")
        if self.measures_twins:
            found.append("every run is trained again beside a twin with one sample replaced")
        if self.probing is not None:
            found.append(f"it is measured inside the models ({self.probing})")
        if self.landscapes is not None:
            found.append(f"the loss is computed around the models ({self.landscapes})")
        return found

    def specs(self) -> list[RunSpec]:
        """The recipe's own list, made sure to be one."""
        return checked_specs(self.recipe.specs, self.name, self.study_file)

    def marked(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        """The specs, with the digest of the user's file in those that use a class of it.

        The others are the same runs whatever the file says, and stay where they are when it changes.
        """
        return [
            changed(spec, {"recipe": self.digest}) if _uses(spec, self.module) else spec for spec in specs
        ]


def open_source(name: str, recipe_file: Path | None = None) -> Source:
    """A recipe by its name (with `recipe_file` for patterns and tasks of one's own), or `FILE.py` with `specs()`."""
    if name.endswith(".py"):
        return _study_file(Path(name), recipe_file)
    if name not in RECIPES:
        raise ValueError(
            f"unknown recipe {name!r}{did_you_mean(name, RECIPES)}; "
            f"known: {', '.join(RECIPES)}; or a Python file, FILE.py"
        )
    if recipe_file is None:
        return Source(name, RECIPES[name])
    module, digest = load_recipe(recipe_file)
    return Source(name, RECIPES[name], recipe_file, digest, module)


def _study_file(path: Path, recipe_file: Path | None) -> Source:
    """A file with `specs()`; its patterns and tasks may stand in a file of their own, which then changes less often."""
    own = None if recipe_file is None else load_recipe(recipe_file)
    module, digest = load_recipe(path, "study file")
    if not callable(getattr(module, "specs", None)):
        raise ValueError(f"{path} must define specs(), which returns a list of RunSpec")
    if own is None:
        return Source(path.stem, module, path, digest, module, path)
    if defines_classes(module):
        raise ValueError(
            f"{path} has patterns or tasks of its own: leave --recipe out, or move them to {recipe_file}"
        )
    return Source(path.stem, module, recipe_file, own[1], own[0], path)


def checked_specs(make: Callable[[], Any], name: str, file: Path | None = None) -> list[RunSpec]:
    """What `make` returns, if it is a list of different specs; errors name the line of the user's file."""
    try:
        specs = make()
    except ValueError as error:  # says itself what is wrong with which value
        place = "" if file is None else place_in(error, file)
        if not place:
            raise
        what = explain(error) if isinstance(error, ValidationError) else str(error)
        raise ValueError(f"{what}{place}") from error
    except Exception as error:  # a user's own code
        place = "" if file is None else place_in(error, file)
        raise ValueError(
            f"the specs of {name} cannot be made: {type(error).__name__}: {error}{place}"
        ) from error
    if not isinstance(specs, list) or not all(isinstance(spec, RunSpec) for spec in specs):
        raise ValueError(f"the specs of {name} must be a list of RunSpec, got {_what(specs)}")
    if not specs:
        raise ValueError(f"{name} has no runs")
    refuse_repeats(specs)
    return specs


def _what(value: Any) -> str:
    if isinstance(value, list):
        return next(f"a list with {each!r:.80}" for each in value if not isinstance(each, RunSpec))
    return f"{value!r:.80}"


def _uses(spec: RunSpec, module: ModuleType | None) -> bool:
    pattern: Pattern = spec.pattern_value
    values = [spec.task_value, pattern.base if isinstance(pattern, WithGlobals) else pattern]
    return module is not None and any(type(value).__module__ == module.__name__ for value in values)
