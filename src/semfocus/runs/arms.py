"""Arms and tasks by name: what one side of a comparison is called, read from a spec without loading a mechanism."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Any

from semfocus.runs.paper_settings import paper_model, paper_training
from semfocus.words import count_of

_OF_FILES = ("file:", "text:")
#: no file, but a folder may be called so
_STDLIB = "text:stdlib"


def task_title(task: object, among: Iterable[object] = ()) -> str:
    """The task's own name; of a path its last part, and as many parents as tell it from the other tasks.

    >>> task_title("text:/home/me/book.txt"), task_title("parity")
    ('text:book.txt', 'parity')
    >>> task_title("file:/new/a/x.csv", among=["file:/old/a/x.csv", "file:/y/x.csv"])
    'file:new/a/x.csv'
    """
    name = str(task)
    kind = next((each for each in _OF_FILES if name.startswith(each)), None)
    if kind is None or name == _STDLIB:
        return name
    own = _parts(name, kind)
    others = [_parts(each, kind) for each in {_STDLIB, *map(str, among)} - {name} if each.startswith(kind)]
    for num in range(1, len(own)):
        if all(each[-num:] != own[-num:] for each in others):
            return kind + "/".join(own[-num:])
    return name


def tasks_of(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """The tasks of records, of which some may have no spec that could be read."""
    specs = [record.get("spec") or {} for record in records]
    return {str(spec["task"]) for spec in specs if "task" in spec}


def _parts(name: str, kind: str) -> tuple[str, ...]:
    return PurePath(name.removeprefix(kind)).parts


#: between a pattern and its inverse temperature in a label, and before every other factor
SHARPENED = " ×"  # noqa: RUF001


@dataclass(frozen=True)
class Control:
    """A setting that separates causes: its plain value, and the words for any other."""

    plain: float | None
    words: Callable[[Any], str]


def _gradient(value: float) -> str:
    return f" gradient ÷{1 / value:g}" if 0 < value < 1 else f" gradient{SHARPENED}{value:g}"


#: by flat key, in the order of the label
CONTROLS: Mapping[str, Control] = {
    "model.match_entropy": Control(None, lambda pattern: f" entropy of {pattern}"),
    "model.match_dispersion": Control(None, lambda pattern: f" dispersion of {pattern}"),
    "model.match_keeps_gradient": Control(False, lambda _: " gradient ÷f"),
    "model.selection": Control(None, lambda chosen: f" {'oracle' if chosen == 'relevant' else chosen} keys"),
    "model.selection_noise": Control(0.0, lambda value: f" noisy {value:g}"),
    "model.score_gradient": Control(1.0, _gradient),
    "model.score_clip": Control(None, lambda value: f" clipped at {value:g}"),
    "model.initial_scale.query_key": Control(1.0, lambda value: f" q/k start{SHARPENED}{value:g}"),
    "training.learning_rate_scale.query_key": Control(1.0, lambda value: f" q/k rate{SHARPENED}{value:g}"),
    "training.plain_after": Control(None, lambda steps: f" first {count_of(steps, 'step')}"),
    "training.plain_before": Control(None, lambda steps: f" after {count_of(steps, 'step')}"),
}


def controls_text(setting: Mapping[str, Any]) -> str:
    """What a label adds for the controls of a flat spec; nothing where all are plain.

    >>> controls_text({"model.score_gradient": 0.1, "model.score_clip": None})
    ' gradient ÷10'
    """
    found = {key: setting.get(key, control.plain) for key, control in CONTROLS.items()}
    return "".join(CONTROLS[key].words(value) for key, value in found.items() if value != CONTROLS[key].plain)


Setting = dict[str, Any]
_PLAIN = frozenset((str, int, float, bool, type(None)))

#: sequence lengths of the paper; a test holds them against the tasks, which cannot be read without torch
_PAPER_LENGTH: Mapping[str, Any] = {"listops": [501, 599], "text": 128}
_PAPER_LENGTH_OF_OTHERS = 40


def flat(values: Mapping[str, Any], prefix: str = "") -> Setting:
    """Nested values by dotted key.

    >>> flat({"task": "parity", "model": {"num_blocks": 3}})
    {'task': 'parity', 'model.num_blocks': 3}
    """
    found: Setting = {}
    for key, value in values.items():
        # most values are plain, and a question to an abstract class is slow
        if type(value) not in _PLAIN and isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = list(value) if isinstance(value, tuple) else value
    return found


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The reverse of `flat`.

    >>> nested({"task": "parity", "model.num_blocks": 3})
    {'task': 'parity', 'model': {'num_blocks': 3}}
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        put(found, key.split("."), value)
    return found


def put(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a nested value; nothing where the path leads through one that is not a dict."""
    *parents, last = path
    for parent in parents:
        if not isinstance(values.setdefault(parent, {}), dict):
            return
        values = values[parent]
    values[last] = value


def paper_setting(task: str) -> Setting:
    """What a spec of this task holds under `model` and `training` when it says nothing."""
    return dict(_paper_setting(re.split("[(:]", task, maxsplit=1)[0]))


@cache
def _paper_setting(name: str) -> Setting:
    from semfocus.runs.training_settings import TrainingSettings
    from semfocus.settings import ModelSettings

    length = _PAPER_LENGTH.get(name, _PAPER_LENGTH_OF_OTHERS)
    model = ModelSettings(**paper_model(name))
    training = TrainingSettings(length=length, **paper_training(name))
    return flat({"model": model.model_dump(mode="json"), "training": training.model_dump(mode="json")})


def unlike_the_paper(task: str, setting: Setting) -> Setting:
    """The keys of a flat spec whose values are not the paper's; a data file's lengths are its own."""
    paper = {"data": None, "recipe": None} | paper_setting(task)
    if task.startswith("file:"):
        paper["training.length"] = setting.get("training.length")
    if "pretraining.task" in setting:
        usual = paper_setting(str(setting["pretraining.task"]))
        paper |= {f"pretraining.{key}": value for key, value in usual.items() if key.startswith("training.")}
    different = {key: value for key, value in setting.items() if key not in paper or paper[key] != value}
    different.pop("results_version", None)  # a matter of the software, not of the experiment
    return dict(sorted(different.items()))


BASELINE = "full"
USER_DEFINED = "user-defined"
PRE_TRAINED = "pre-trained"
#: what a run learned before is a matter of its arm
EARLIER = "pretraining."
GROUPS = (
    "baseline",
    "input-dependent",
    "input-agnostic",
    "sharper full attention",
    PRE_TRAINED,
    "control",
    USER_DEFINED,
)

# A record is read without torch, so patterns are known here by name; a test compares with their families.
_GROUP_OF_PATTERN = {
    "top_k": "input-dependent",
    "top_p": "input-dependent",
    "banded": "input-agnostic",
    "block_local": "input-agnostic",
    "bottom_k": "control",
    "random": "control",
}
#: what tells two arms of one comparison apart
ARM_KEYS = ("pattern", "model.inverse_temperature", *CONTROLS)
#: and two runs of one arm
WITHIN_A_COMPARISON = ("task", "seed", *ARM_KEYS)


@dataclass(frozen=True)
class ArmName:
    """One side of a comparison: a pattern at an inverse temperature, with the controls that are not plain."""

    label: str
    group: str


def arm_of(spec: Mapping[str, Any]) -> ArmName:
    """The arm that a record's spec belongs to.

    >>> arm_of({"pattern": "banded(5)+G1"}), arm_of({"pattern": "full", "model": {"inverse_temperature": 4.0}})
    (ArmName(label='banded(5)+G1', group='input-agnostic'), ArmName(label='full ×4', group='sharper full attention'))
    """
    pattern, setting = str(spec.get("pattern", BASELINE)), flat(spec)
    temperature = float(setting.get("model.inverse_temperature", 1.0))
    label = pattern if temperature == 1 else f"{pattern}{SHARPENED}{temperature:g}"
    controls = controls_text(setting)
    earlier = setting.get(f"{EARLIER}pattern")
    if earlier is not None:
        return ArmName(f"{label}{controls} after {earlier}", PRE_TRAINED)
    return ArmName(label + controls, "control" if controls else _group_of(pattern, temperature))


def _group_of(pattern: str, temperature: float) -> str:
    if pattern == "full":
        if temperature == 1:
            return "baseline"
        return "sharper full attention" if temperature > 1 else "control"
    name = re.split(r"[(+]", pattern, maxsplit=1)[0].strip()
    if name == "full":  # with global tokens: what the tokens alone do
        return "control"
    return _GROUP_OF_PATTERN.get(name, USER_DEFINED)


#: texts that say nothing to a reader
_DIGESTS = ("recipe", "data")


def varying_keys(specs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The flat keys, in order, of which these specs have several values; task, arm and seed are named anyway."""
    values = [flat(spec) for spec in specs]
    keys = {key for each in values for key in each if not key.startswith(EARLIER)}
    keys -= {*WITHIN_A_COMPARISON, *_DIGESTS}
    # a field that a spec does not write is at its default, which is another value than one that is written
    return sorted(key for key in keys if len({str(each.get(key)) for each in values}) > 1)


def run_title(spec: Mapping[str, Any], keys: Collection[str] = (), tasks: Collection[str] = ()) -> str:
    """`even_pairs full ×4 num_blocks=2 seed 7`; `tasks`: of all runs of the study.

    >>> run_title({"task": "parity", "pattern": "full", "seed": 7, "model": {"num_blocks": 2}}, ["model.num_blocks"])
    'parity full num_blocks=2 seed 7'
    """
    values = flat(spec)
    own = [f"{key.split('.', 1)[-1]}={values[key]}" for key in keys if key in values]
    return " ".join(
        [task_title(spec.get("task"), tasks), arm_of(spec).label, *own, f"seed {spec.get('seed')}"]
    )


_TOP_K = re.compile(r"top_k\((\d+)\)(?:\+G(\d+))?\Z")
_GLOBALS = re.compile(r".*\+G(\d+)\Z")


def top_k_of(pattern: str) -> int | None:
    """k of plain top-k, None for every other pattern.

    >>> top_k_of("top_k(5)"), top_k_of("top_k(5)+G1"), top_k_of("bottom_k(5)")
    (5, None, None)
    """
    matched = _TOP_K.match(pattern)
    return int(matched[1]) if matched and matched[2] is None else None


def kept_with_globals(pattern: str) -> int | None:
    """Keys that a query keeps under top-k, the global ones too.

    >>> kept_with_globals("top_k(5)"), kept_with_globals("top_k(5)+G2"), kept_with_globals("full")
    (5, 7, None)
    """
    matched = _TOP_K.match(pattern)
    return int(matched[1]) + num_globals(pattern) if matched else None


def num_globals(pattern: str) -> int:
    """Global tokens of a pattern.

    >>> num_globals("full"), num_globals("full+G3")
    (0, 3)
    """
    matched = _GLOBALS.match(pattern)
    return int(matched[1]) if matched else 0
