"""What a run learned before its own task: another run of the same model and seed, as a part of the spec."""

from typing import Any

from semfocus.runs.training_settings import TrainingSettings
from semfocus.settings import Settings


class Pretraining(Settings):
    """The task, attention and training of the run whose blocks this one starts from; model and seed are this one's.

    A value and not the name of a run: the spec then says all that decides the result, the same arm has one label on
    every seed, and a store that lacks the earlier run can make it. `data` is the digest of the earlier run's
    text or file.
    """

    task: str
    pattern: str = "full"
    training: TrainingSettings
    data: str | None = None

    def spec_values(self, seed: int, model: dict[str, Any]) -> dict[str, Any]:
        """The earlier run's own spec."""
        return {**self.model_dump(), "seed": seed, "model": model}
