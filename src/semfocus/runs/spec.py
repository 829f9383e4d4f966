"""A run as a value: everything that decides its result, and the digest that names it."""

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from semfocus.mechanisms import Pattern, PatternByRows, parse_pattern
from semfocus.mechanisms.control_rules import refuse_controls
from semfocus.runs.paper_settings import paper_model, paper_training
from semfocus.runs.pretraining import Pretraining
from semfocus.runs.training_settings import TrainingSettings
from semfocus.settings import LATER, ModelSettings, Settings
from semfocus.tasks import FileTask, Task, TextTask, checked_length, parse_task
from semfocus.words import count_of

#: raised whenever the same spec would give another result, so that old results are not mistaken for new
RESULTS_VERSION: Literal[2] = 2


class RunSpec(Settings):
    """RunSpec(task="even_pairs", pattern="top_k(5)", seed=0, model={...}, training={...}).

    What `model` and `training` leave out is the paper's setting for the task. `data` and `recipe` are
    digests of the user's data file and recipe file, if any: part of the run's identity, filled in here.
    `pretraining` is what the blocks learned before; see pretraining.py.
    """

    task: str
    pattern: str = "full"
    seed: int = Field(0, ge=0)
    model: ModelSettings
    training: TrainingSettings
    data: str | None = None
    recipe: str | None = None
    pretraining: Annotated[Pretraining | None, LATER] = None
    results_version: Literal[2] = RESULTS_VERSION

    _task: Task = PrivateAttr()
    _pretraining_spec: "RunSpec | None" = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _fill_in_the_papers_settings(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("task"), str):
            return values
        task = parse_task(values["task"])
        filled = dict(values)
        for key, paper in (("model", paper_model(task.name)), ("training", _usual_training(task))):
            given = values.get(key, {})
            if isinstance(given, dict):
                filled[key] = paper | given | _written_patterns(given)
        earlier = values.get("pretraining")
        if isinstance(earlier, dict) and isinstance(earlier.get("task"), str):
            training = _usual_training(parse_task(earlier["task"])) | dict(earlier.get("training", {}))
            filled["pretraining"] = {**earlier, "training": training}
        return filled

    @field_validator("pattern", mode="before")
    @classmethod
    def _write_pattern(cls, value: Any) -> str:
        return str(value if isinstance(value, Pattern) else parse_pattern(value))

    @model_validator(mode="after")
    def _check_controls(self) -> "RunSpec":
        refuse_controls(self.model, self.pattern_value)
        return self

    @model_validator(mode="after")
    def _check_task(self) -> "RunSpec":
        task = parse_task(self.task)
        digest = task.digest if isinstance(task, FileTask | TextTask) else None
        if self.data not in (None, digest):
            raise ValueError(f"{self.task}: the file has changed since the run was specified")
        if isinstance(task, TextTask):
            task = self._checked_text(task)
        elif self.training.tokenizer != "bytes":
            raise ValueError(f"training.tokenizer is for text:PATH, not for {self.task}")
        if isinstance(task, FileTask) and self.training.length != task.paper_length:
            raise ValueError(
                "training.length belongs to tasks that draw samples; a data file has its own lengths"
            )
        if isinstance(task, FileTask | TextTask) and self.training.replace_sample is not None:
            raise ValueError(
                "training.replace_sample needs a task that draws samples; a data file has only its own"
            )
        self._check_selection(task)
        self._check_plain_steps(task)
        checked_length(task, self.training.length)
        # The model is frozen for its users; these are its own finishing touches.
        object.__setattr__(self, "task", str(task))
        object.__setattr__(self, "data", digest)
        self._task = task
        if self.pretraining is not None:
            model = self.model.model_dump()
            self._pretraining_spec = RunSpec(**self.pretraining.spec_values(self.seed, model))
            own = {key: getattr(self._pretraining_spec, key) for key in ("task", "pattern", "data")}
            object.__setattr__(self, "pretraining", self.pretraining.model_copy(update=own))
        return self

    def _check_plain_steps(self, task: Task) -> None:
        training = self.training
        name = "plain_after" if training.plain_after is not None else "plain_before"
        if getattr(training, name) is None:
            return
        if isinstance(task, FileTask):
            raise ValueError(
                f"training.{name} counts steps, and how many an epoch has depends on the data file"
            )
        if self.pattern_value.global_tokens():
            raise ValueError(f"training.{name}: the global tokens of {self.pattern} cannot come and go")
        if self.model.initial_scale.query_key != 1:
            raise ValueError(f"training.{name}: a start of queries and keys cannot be undone later")
        rate = training.learning_rate_scale.query_key
        if self.pattern == "full" and self.model == self.model.without_controls() and rate == 1:
            raise ValueError(f"training.{name} needs an arm to switch on or off; this one is plain all along")

    def _check_selection(self, task: Task) -> None:
        if self.model.selection == "relevant" and type(task).relevant is Task.relevant:
            raise ValueError(f"selection='relevant': {task.name} cannot say which tokens decide the label")
        if self.model.selection == "initial" and self.pretraining is not None:
            raise ValueError(
                "selection='initial' is that of an untrained model; this run starts from a pre-trained one"
            )

    def _checked_text(self, text: TextTask) -> TextTask:
        if not isinstance(self.training.length, int):
            raise ValueError(
                f"training.length of a text is one number, its context, got {self.training.length}"
            )
        if self.pattern_value.global_tokens():
            raise ValueError(f"{self.pattern}: global tokens see what comes later, which a text must not")
        kept = self.pattern_value.most_kept() if isinstance(self.pattern_value, PatternByRows) else None
        if kept is not None and kept > self.training.length:
            raise ValueError(
                f"{self.pattern} keeps up to {count_of(kept, 'key')}, and the context is {self.training.length}: that is full attention; "
                f"choose a number below {self.training.length}, or a longer training.length"
            )
        return text.with_tokenizer(self.training.tokenizer)

    @property
    def task_value(self) -> Task:
        """The task that `task` writes."""
        return self._task

    @property
    def pretraining_spec(self) -> "RunSpec | None":
        """The run that this one continues, if any."""
        return self._pretraining_spec

    @property
    def pattern_value(self) -> Pattern:
        """The pattern that `pattern` writes."""
        return parse_pattern(self.pattern)

    def canonical(self) -> str:
        """The spec as one line of JSON with sorted keys; a data file counts by its content, not its path.

        Fields added later (settings.LATER) are in it only where they are not at their default, so names do not drift.
        """
        values = self.model_dump(mode="json")
        if self.data is not None:
            values["task"] = self._task.name
        if self._pretraining_spec is not None and self._pretraining_spec.data is not None:
            values["pretraining"]["task"] = self._pretraining_spec.task_value.name
        return json.dumps(values, sort_keys=True, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """The name of the run: equal specs, equal names."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:20]


def _written_patterns(model: dict[str, Any]) -> dict[str, str]:
    """The patterns that controls name, each in its one way to be written."""
    names = ("match_entropy", "match_dispersion")
    return {name: str(parse_pattern(model[name])) for name in names if isinstance(model.get(name), str)}


def _usual_training(task: Task) -> dict[str, Any]:
    return {"length": task.paper_length, **paper_training(task.name)}
