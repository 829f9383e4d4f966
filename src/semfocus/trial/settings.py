"""How the runs of a trial are trained: the same for every arm."""

from pydantic import Field, model_validator

from semfocus.settings import Settings


class TrialSettings(Settings):
    """Numbers of a trial; a step is one of the optimiser, AdamW."""

    steps: int = Field(500, ge=4)
    batch_size: int = Field(16, ge=1)
    learning_rate: float = Field(1e-3, gt=0)
    #: the rate rises from 0 in a straight line over so many steps, then stays
    warmup_steps: int = Field(20, ge=0)
    weight_decay: float = Field(0.01, ge=0)
    clip_norm: float | None = Field(1.0, gt=0)
    #: how often the held-out loss is looked at
    looks: int = Field(25, ge=4)
    #: the most held-out sequences of a look
    held_out: int = Field(128, ge=1)

    @model_validator(mode="after")
    def _has_steps_between_looks(self) -> "TrialSettings":
        if self.looks > self.steps:
            raise ValueError(f"looks must be at most steps, got {self.looks} looks at {self.steps} steps")
        return self

    def looked_at(self) -> list[int]:
        """The steps after which the held-out loss is looked at; the first is the untrained model."""
        return [round(place * self.steps / self.looks) for place in range(self.looks + 1)]
