"""Any spec at a size that trains at once: for tests that want every recipe to reach its end."""

from dataclasses import dataclass
from typing import Any

from semfocus.recipes import Recipe
from semfocus.runs import RunSpec
from semfocus.studies.selection import changed, without_repeats


def tiny(spec: RunSpec) -> RunSpec:
    """Length 6 or the next that the task allows, width 8, 20 samples, 2 epochs; what a recipe varies stays."""
    length = next(each for each in range(6, 100) if spec.task_value.allows_length(each) is None)
    training: dict[str, Any] = {"length": length, "num_train": 20, "num_held_out": 10, "epochs": 2}
    changes = {"model.d_model": 8, "model.d_mlp": 8}
    changes |= {f"training.{key}": each for key, each in training.items()}
    if spec.pretraining is not None:
        changes |= {f"pretraining.training.{key}": each for key, each in training.items()}
    kind, *size = spec.training.tokenizer.split(":")
    if size:
        changes["training.tokenizer"] = f"{kind}:400"
    return changed(spec, changes)


@dataclass(frozen=True)
class Tiny:
    """A recipe with tiny specs: its first tasks and seeds."""

    recipe: Recipe
    num_tasks: int = 2
    num_seeds: int = 2

    def __getattr__(self, name: str) -> Any:
        return getattr(self.recipe, name)

    def specs(self) -> list[RunSpec]:
        specs = self.recipe.specs()
        tasks = list(dict.fromkeys(spec.task for spec in specs))[: self.num_tasks]
        seeds = list(dict.fromkeys(spec.seed for spec in specs))[: self.num_seeds]
        chosen = [spec for spec in specs if spec.task in tasks and spec.seed in seeds]
        shrunk = without_repeats(tiny(spec) for spec in chosen)
        assert len(shrunk) == len(chosen), "shrinking must keep what the recipe varies"
        return shrunk
