"""What is compared: full attention as the model has it, patterns, and sharper full attention."""

from collections.abc import Sequence
from dataclasses import dataclass

from semfocus.counts import count_of
from semfocus.mechanisms import Full, Pattern, WithGlobals, parse_pattern
from semfocus.mechanisms.pattern import PatternByRows

#: of the arm that tells whether sharper attention alone would do the same
SHARPER = 4.0


@dataclass(frozen=True)
class Arm:
    """A pattern and the factor on all scores.

    `learning_rate_scale` and `seed_shift` are for trials of the trial itself: an arm that must be slower, and one that is
    full attention again with other random numbers.
    """

    pattern: Pattern = Full()  # noqa: RUF009  (a frozen value)
    inverse_temperature: float = 1.0
    learning_rate_scale: float = 1.0
    seed_shift: int = 0

    @property
    def is_untouched(self) -> bool:
        """Whether the model attends just as it came."""
        return isinstance(self.pattern, Full) and self.inverse_temperature == 1.0

    @property
    def label(self) -> str:
        words = [str(self.pattern)]
        if isinstance(self.pattern, Full) and self.inverse_temperature > 1.0:
            words = [f"sharper full ({self.inverse_temperature:g})"]
        elif self.inverse_temperature != 1.0:
            words.append(f"inverse temperature {self.inverse_temperature:g}")
        if self.learning_rate_scale != 1.0:
            words.append(f"learning rate x {self.learning_rate_scale:g}")
        if self.seed_shift:
            words.append("other seeds")
        return ", ".join(words)


FULL = Arm()
SHARPER_FULL = Arm(inverse_temperature=SHARPER)


def arms_of(patterns: Sequence[Pattern | str]) -> list[Arm]:
    """Arms for patterns, each once; full attention is always there and need not be said."""
    parsed = [parse_pattern(each) if isinstance(each, str) else each for each in patterns]
    found = [Arm(each) for each in dict.fromkeys(parsed) if not isinstance(each, Full)]
    if not found:
        raise ValueError("give at least one pattern to compare with full attention, such as top_k(8)")
    return found


def refuse_globals(pattern: Pattern) -> None:
    """Global are the last positions of a row, which are padding in all but the longest."""
    if isinstance(pattern, WithGlobals):
        raise ValueError(
            f"{pattern}: the last positions are global, but rows differ in length and shorter ones end in padding: "
            "cut all to one length with --context, or leave the +G out"
        )


def refuse_pattern(pattern: Pattern, longest: int, window: int | None = None) -> None:
    """A pattern that can keep every key of the longest sequence is full attention, and nothing would be compared."""
    base = pattern.base if isinstance(pattern, WithGlobals) else pattern
    kept = base.most_kept() if isinstance(base, PatternByRows) else None
    if kept is not None and window is not None and window <= min(kept, longest):
        raise ValueError(
            f"{pattern} keeps up to {count_of(kept, 'key')}, and the model's sliding window shows a query no more than {window}: "
            f"nothing would change; choose a number well below {window}"
        )
    if kept is not None and kept >= longest:
        raise ValueError(
            f"{pattern} keeps up to {count_of(kept, 'key')}, and no sequence is longer than {longest}: "
            f"that is full attention; choose a number well below {longest}"
        )
