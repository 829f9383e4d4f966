"""How settings are written; numbers and ratios are worded by `semfocus.studies.wording`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semfocus.studies.arms import Comparison

#: stands where there is nothing to show
UNKNOWN = "\N{EN DASH}"


def setting_of(comparison: "Comparison") -> str:
    """The setting of a comparison, with what its arms have each for itself."""
    own = sorted({key.split(".", 1)[-1] for values in comparison.arm_settings.values() for key in values})
    return setting_text(comparison.setting) + (f"; each arm at its own {', '.join(own)}" if own else "")


def setting_text(setting: Mapping[str, Any]) -> str:
    """`blocks 2, length 16, ...`: what differs from the paper's setting, or that nothing does."""
    if not setting:
        return "the paper's setting"
    return f"other than the paper's: {values_text(setting)}"


def values_text(setting: Mapping[str, Any]) -> str:
    """`learning_rate 0.1, num_blocks 2`."""
    return ", ".join(f"{key.split('.', 1)[-1]} {value_text(value)}" for key, value in setting.items())


def value_text(value: Any) -> str:
    """One value of a setting."""
    if isinstance(value, list | tuple):
        return " to ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
