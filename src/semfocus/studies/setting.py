"""The setting of a run as flat keys, and what of it differs from the paper's."""

import re
from collections.abc import Mapping
from typing import Any

from semfocus.runs.paper_settings import paper_model, paper_training

Setting = dict[str, Any]

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
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = list(value) if isinstance(value, tuple) else value
    return found


def paper_setting(task: str) -> Setting:
    """What a spec of this task holds under `model` and `training` when it says nothing."""
    from semfocus.runs.training_settings import TrainingSettings
    from semfocus.settings import ModelSettings

    name = re.split("[(:]", task, maxsplit=1)[0]
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
