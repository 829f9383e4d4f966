"""From what a user names, a recipe or a Python file, to the study it describes."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from semfocus.measurements import Lengths, Measurement, Twins
from semfocus.mechanisms import Pattern, WithGlobals, parse_pattern
from semfocus.notation import did_you_mean
from semfocus.recipes import RECIPES, Recipe
from semfocus.runs import RunSpec, load_recipe
from semfocus.runs.recipe_file import defines_classes, place_in
from semfocus.runs.record import Record
from semfocus.settings import explain
from semfocus.studies.grid import refuse_repeats
from semfocus.studies.selection import changed

#: what version 0.1 called a measurement, how it is written now, and the measurement that it means
_OLD_ATTRIBUTES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "EVALUATE_LENGTHS": ("Lengths()", lambda value: Lengths()),
    "TWINS": ("Twins()", lambda value: Twins()),
    "PROBES": ("Inside(...)", lambda value: value),
    "LANDSCAPES": ("Landscape(...)", lambda value: value),
}


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
    def contrasts(self) -> list[Sequence[str]]:
        """Pairs of arms that the study is about, the first of them primary."""
        return list(getattr(self.recipe, "CONTRASTS", ()))

    @cached_property
    def measurements(self) -> list[Measurement]:
        """What is measured in the models after training: `MEASURE`, or the attributes of version 0.1."""
        listed = getattr(self.recipe, "MEASURE", ())
        found = [*(listed if isinstance(listed, list | tuple) else [listed]), *self._old_measurements()]
        for each in found:
            if not isinstance(each, Measurement) or not is_dataclass(each):
                raise ValueError(
                    f"MEASURE of {self.name} must list measurements, which are frozen dataclasses, got {each!r:.80}"
                )
        return found

    def _old_measurements(self) -> list[Any]:
        found = []
        for old, (new, make) in _OLD_ATTRIBUTES.items():
            value = getattr(self.recipe, old, None)
            if value:
                message = f"{old} of {self.name} is deprecated: write MEASURE = [{new}]"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                found.append(make(value))
        return found

    @property
    def afterwards(self) -> list[str]:
        """What follows the training, in words."""
        return [str(each) for each in self.measurements]

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
    measures = any(type(each).__module__ == module.__name__ for each in getattr(module, "MEASURE", ()))
    if defines_classes(module) or measures:
        raise ValueError(
            f"{path} has patterns, tasks or measurements of its own: leave --recipe out, "
            f"or move them to {recipe_file}"
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
    named = (spec.model.match_entropy, spec.model.match_dispersion)
    values = [
        spec.task_value,
        pattern.base if isinstance(pattern, WithGlobals) else pattern,
        *(parse_pattern(each) for each in named if each is not None),
    ]
    return module is not None and any(type(value).__module__ == module.__name__ for value in values)
