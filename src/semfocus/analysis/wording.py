"""Speedups, settings and counts of runs as people read them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from semfocus.analysis.statistics import Speedup
from semfocus.runs.record import is_text
from semfocus.words import count_of, number

if TYPE_CHECKING:
    from semfocus.analysis.comparisons import Comparison


def ratio(value: float | None, missing: str = "") -> str:
    """A speedup; beyond what three digits can say, only on which side it is."""
    if value is None:
        return missing
    if value >= 1000:
        return "1000+"
    return "under 0.01" if value < 0.01 else number(value)


def times(value: float) -> str:
    """A speedup with its sign: 5.7x, 1.04x."""
    return f"{ratio(value)}x"


def interval(speedup: Speedup) -> str:
    """[3.1, 10.4]; 0 or ∞ where the data give no limit; nothing for a single seed.

    >>> interval(Speedup(2.0, 1.4, None, method="t"))
    '[1.4, ∞]'
    """
    if speedup.method == "none":
        return ""
    return f"[{ratio(speedup.low, '0')}, {ratio(speedup.high, '∞')}]"


def bounded(speedup: Speedup) -> str:
    """5.7x, at least 2.3x, at most 0.5x: the median of the seeds without its interval."""
    if speedup.ratio is None:
        return "unknown"
    side = "at least " if speedup.at_least else "at most " if speedup.at_most else ""
    return f"{side}{times(speedup.ratio)}"


#: stands where there is nothing to show
UNKNOWN = "\N{EN DASH}"


#: of a report that is not that of one study
TITLE = "Which attention learns faster?"


def runs_text(records: Sequence[Mapping[str, Any]], num_tasks: int) -> str:
    """`118 runs on 8 tasks, 2 unfinished. Made 2025-01-01 12:00 UTC.`"""
    if not records:
        return "0 runs."
    words = [count_of(len(records), "run")]
    if num_tasks:
        words[0] += f" on {count_of(num_tasks, 'task')}"
    states = Counter(str(record.get("state")) for record in records)
    words += [f"{count} {state}" for state, count in sorted(states.items()) if state != "done"]
    return f"{', '.join(words)}. Made {datetime.now(UTC).strftime('%Y-%m-%d %H:%M UTC')}."


def setting_of(comparison: "Comparison") -> str:
    """The setting of a comparison, with what its arms have each for itself."""
    if is_text(comparison.task):  # the paper says the sizes of its language models and little else
        return f"other than the defaults: {values_text(comparison.setting)}"
    own = sorted({key.split(".", 1)[-1] for values in comparison.arm_settings.values() for key in values})
    return setting_text(comparison.setting) + (f"; each arm at its own {', '.join(own)}" if own else "")


def setting_text(setting: Mapping[str, Any]) -> str:
    """`blocks 2, length 16, ...`: what differs from the paper's setting, or that nothing does."""
    if not setting:
        return "the paper's setting"
    return f"other than the paper's: {values_text(setting)}"


def values_text(setting: Mapping[str, Any]) -> str:
    """`learning_rate 0.1, num_blocks 2`."""
    return ", ".join(f"{key.split('.', 1)[-1]} {_short(key, value)}" for key, value in setting.items())


def _short(key: str, value: Any) -> str:
    """A digest in as many digits as tell two apart."""
    return str(value)[:12] if key in ("recipe", "data") else value_text(value)


def value_text(value: Any) -> str:
    """One value of a setting."""
    if isinstance(value, list | tuple):
        return " to ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
