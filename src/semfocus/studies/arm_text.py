"""How one arm of a comparison is written: a pattern, then what is not plain about it, as tables print it: `full x4`."""

import re

from semfocus.mechanisms import parse_pattern

_NUMBER = r"\s*(?P<{}>\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_TIMES = "[x\u00d7]"  # the second is the multiplication sign of the tables
_ARM = re.compile(
    r"(?P<pattern>.+?)"
    rf"(?:\s+{_TIMES}{_NUMBER.format('sharper')})?"
    rf"(?:\s+gradient\s*(?:{_TIMES}{_NUMBER.format('gradient')}|[/\u00f7]{_NUMBER.format('divided')}))?"
    rf"(?:\s+clipped\s+at{_NUMBER.format('clip')})?"
    rf"(?:\s+q/k\s+start\s*{_TIMES}{_NUMBER.format('start')})?"
    rf"(?:\s+q/k\s+rate\s*{_TIMES}{_NUMBER.format('rate')})?"
    r"\s*"
)
_KEYS = {
    "sharper": "model.inverse_temperature",
    "gradient": "model.score_gradient",
    "divided": "model.score_gradient",
    "clip": "model.score_clip",
    "start": "model.initial_scale.query_key",
    "rate": "training.learning_rate_scale.query_key",
}


def read_arm(text: str) -> tuple[str, dict[str, float]]:
    """The pattern, and by flat key what the text says beside it; it says nothing of what it leaves out.

    >>> read_arm("full x10 gradient /10"), read_arm("banded(5)+G1")
    (('full', {'model.inverse_temperature': 10.0, 'model.score_gradient': 0.1}), ('banded(5)+G1', {}))
    """
    matched = _ARM.fullmatch(text)
    if matched is None:
        return str(parse_pattern(text)), {}  # which says what is wrong with it
    said = {name: float(matched[name]) for name in _KEYS if matched[name] is not None}
    if said.get("divided") == 0:
        raise ValueError(f"a gradient cannot be divided by 0: {text!r}")
    settings = {_KEYS[name]: 1 / value if name == "divided" else value for name, value in said.items()}
    return str(parse_pattern(matched["pattern"])), settings
