"""One run of a trial as a value: its digest names its directory, so the same run twice is a hit."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from semfocus.trial.arm import Arm
from semfocus.trial.settings import TrialSettings

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
