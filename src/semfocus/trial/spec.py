"""What a trial compares and how it trains, as values: arms, settings, and one run with the digest that names it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field, model_validator

from semfocus.mechanisms import Full, Pattern, WithGlobals, parse_pattern
from semfocus.mechanisms.pattern import PatternByRows
from semfocus.settings import Settings
from semfocus.words import count_of


class TrialSettings(Settings):
    """Numbers of a trial; a step is one of the optimiser, AdamW."""

    steps: int = Field(500, ge=4)
    batch_size: int = Field(16, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    #: the rate rises from 0 in a straight line over so many steps, then stays
    warmup_steps: int = Field(20, ge=0)
    weight_decay: float = Field(0.01, ge=0)
    clip_norm: float | None = Field(1.0, gt=0)
    #: how often the held-out loss is measured
    looks: int = Field(25, ge=4)
    #: the most held-out sequences of a look
    held_out: int = Field(128, ge=1)

    @model_validator(mode="after")
    def _has_steps_between_looks(self) -> "TrialSettings":
        if self.looks > self.steps:
            raise ValueError(f"looks must be at most steps, got {self.looks} looks at {self.steps} steps")
        return self

    def look_steps(self) -> list[int]:
        """The steps after which the held-out loss is measured; the first is the untrained model."""
        return [round(place * self.steps / self.looks) for place in range(self.looks + 1)]


#: of the arm that tells whether sharper attention alone would do the same
SHARPER = 4.0


@dataclass(frozen=True)
class Arm:
    """A pattern and the factor on all scores.

    `learning_rate_scale` and `seed_shift` are for trials of the trial itself: an arm that must be slower, and
    one that is full attention again with other random numbers.
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


#: raised when the same spec would give other numbers
RESULTS_VERSION = 1


@dataclass(frozen=True)
class TrialRunSpec:
    """A model, data, an arm, a seed, and how to train."""

    model: str
    data: str
    context: int
    arm: Arm
    seed: int
    settings: TrialSettings

    @property
    def title(self) -> str:
        return f"{self.arm.label}, seed {self.seed}"

    @property
    def learning_rate(self) -> float:
        return self.settings.learning_rate * self.arm.learning_rate_scale

    def as_plain(self) -> dict[str, Any]:
        return {
            "results_version": RESULTS_VERSION,
            "model": self.model,
            "data": self.data,
            "context": self.context,
            "pattern": str(self.arm.pattern),
            "inverse_temperature": self.arm.inverse_temperature,
            "learning_rate_scale": self.arm.learning_rate_scale,
            "seed_shift": self.arm.seed_shift,
            "seed": self.seed,
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def digest(self) -> str:
        text = json.dumps(self.as_plain(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def spec_of_values(values: dict[str, Any]) -> TrialRunSpec:
    """The spec that `as_plain` wrote."""
    arm = Arm(
        parse_pattern(values["pattern"]),
        values["inverse_temperature"],
        values["learning_rate_scale"],
        values["seed_shift"],
    )
    settings = TrialSettings(**values["settings"])
    return TrialRunSpec(values["model"], values["data"], values["context"], arm, values["seed"], settings)
