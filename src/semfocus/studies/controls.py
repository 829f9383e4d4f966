"""The settings beside the inverse temperature that make an arm of their own, and how labels say them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: between a pattern and its inverse temperature in a label, and before every other factor
SHARPENED = " ×"  # noqa: RUF001


@dataclass(frozen=True)
class Control:
    """A setting that separates causes: its plain value, and the words for any other."""

    plain: float | None
    words: Callable[[float], str]


def _gradient(value: float) -> str:
    return f" gradient ÷{1 / value:g}" if 0 < value < 1 else f" gradient{SHARPENED}{value:g}"


#: by flat key, in the order of the label
CONTROLS: Mapping[str, Control] = {
    "model.score_gradient": Control(1.0, _gradient),
    "model.score_clip": Control(None, lambda value: f" clipped at {value:g}"),
    "model.initial_scale.query_key": Control(1.0, lambda value: f" q/k start{SHARPENED}{value:g}"),
    "training.learning_rate_scale.query_key": Control(1.0, lambda value: f" q/k rate{SHARPENED}{value:g}"),
}


def controls_text(setting: Mapping[str, Any]) -> str:
    """What a label adds for the controls of a flat spec; nothing where all are plain.

    >>> controls_text({"model.score_gradient": 0.1, "model.score_clip": None})
    ' gradient ÷10'
    """
    found = {key: setting.get(key, control.plain) for key, control in CONTROLS.items()}
    return "".join(CONTROLS[key].words(value) for key, value in found.items() if value != CONTROLS[key].plain)
