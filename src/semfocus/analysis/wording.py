"""Speedups, settings and counts of runs as people read them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from semfocus.analysis.statistics import Speedup
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.runs.arms import BASELINE, SHARPENED
from semfocus.runs.outcome import is_text
from semfocus.words import count_of, number, percent, shortened

if TYPE_CHECKING:
    from semfocus.analysis.comparisons import Comparison
    from semfocus.analysis.statistics.pooling import PooledSpeedup


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


def interval(speedup: "Speedup | PooledSpeedup") -> str:
    """[3.1, 10.4]; 0 or ∞ where the data give no limit; nothing for a single seed.

    >>> interval(Speedup(2.0, 1.4, None, method="t"))
    '[1.4, ∞]'
    """
    if speedup.method == "none":
        return ""
    return f"[{ratio(speedup.low, '0')}, {ratio(speedup.high, '∞')}]"


def bounded(speedup: "Speedup | PooledSpeedup") -> str:
    """5.7x, at least 2.3x, at most 0.5x: the estimate without its interval."""
    if speedup.ratio is None:
        return "unknown"
    side = f"{speedup.bound} " if speedup.bound in ("at least", "at most") else ""
    return f"{side}{times(speedup.ratio)}"


def short(speedup: "Speedup | PooledSpeedup") -> str:
    """The same with a sign in the place of words, and with its interval: ≤ 0.56x [0, 1.4]."""
    if speedup.ratio is None:
        return "unknown"
    side = {"at least": "≥ ", "at most": "≤ "}.get(speedup.bound, "")
    return f"{side}{times(speedup.ratio)} {interval(speedup)}".rstrip()


class HasLevel(Protocol):
    """Whatever has intervals with an error."""

    @property
    def alpha(self) -> float: ...


def level_text(judged: Iterable[HasLevel]) -> str:
    """Of their intervals: `95 %`, `95 % or 96.9 %`.

    >>> level_text([Speedup(2.0, 1.4, None), Speedup(2.0, 1.4, None, alpha=1 / 32)])
    '95 % or 96.9 %'
    """
    return " or ".join(
        percent(1 - alpha) for alpha in sorted({each.alpha for each in judged} or {ALPHA}, reverse=True)
    )


_TOP = re.compile(r"top_k\((\d+)\)")
_SHARPER = re.compile(rf"full{SHARPENED}([\d.]+)")


def attention(label: str) -> str:
    """An arm as a sentence calls it.

    >>> attention("full"), attention("top_k(5)"), attention("banded(5)")
    ('full attention', 'top-5 attention', 'banded(5)')
    """
    if label == BASELINE:
        return "full attention"
    if found := _TOP.fullmatch(label):
        return f"top-{found[1]} attention"
    if found := _SHARPER.fullmatch(label):
        return f"sharper full attention ({SHARPENED.strip()}{found[1]})"
    return shortened(label)


#: stands where there is nothing to show
UNKNOWN = "\N{EN DASH}"


#: of a report that is not that of one study
TITLE = "Which attention learns faster?"


def runs_text(records: Sequence[Mapping[str, Any]], num_tasks: int, num_missing: int = 0) -> str:
    """`118 runs on 8 tasks, 2 unfinished; 3 more were planned. Made 2025-01-01 12:00 UTC.`"""
    if not records:
        return "0 runs."
    words = [count_of(len(records), "run")]
    if num_tasks:
        words[0] += f" on {count_of(num_tasks, 'task')}"
    states = Counter(str(record.get("state")) for record in records)
    words += [f"{count} {state}" for state, count in sorted(states.items()) if state != "done"]
    return f"{', '.join(words)}{planned_text(num_missing)}. Made {datetime.now(UTC).strftime('%Y-%m-%d %H:%M UTC')}."


def planned_text(num_missing: int) -> str:
    """`; 3 more were planned`: what is here may be a part of what a study set out to do."""
    return f"; {num_missing} more {'was' if num_missing == 1 else 'were'} planned" if num_missing else ""


def setting_of(comparison: "Comparison") -> str:
    """The setting of a comparison, with what its arms have each for itself."""
    if is_text(comparison.task):  # the paper says the sizes of its language models and little else
        return f"other than the defaults: {values_text(comparison.setting)}"
    own = sorted(key.split(".", 1)[-1] for key in comparison.own_keys)
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
