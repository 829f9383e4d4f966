"""The training settings of a run, readable without torch."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from semfocus.settings import LATER, GroupFactors, Settings

SpecLength = Annotated[
    int | tuple[int, int],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]


class TrainingSettings(Settings):
    """Data, optimiser and duration. `drop_samples_per_epoch` reproduces the authors' released code.

    `replace_sample`: the index of a training sample in whose place stands another draw; see measurements/twins.py.
    `tokenizer`: how a text becomes tokens, `bytes`, `unigram:SIZE` or `bpe:SIZE`.
    `clip_per_group`: the gradient of each group of parameters is clipped to `clip_norm` by itself, so that a large
    one of queries and keys does not shrink the steps of all other weights.
    `plain_after` and `plain_before`: after, or before, so many steps the run has plain full attention in place of its
    pattern, inverse temperature and controls. `evaluate_every`: the training accuracy after every so many steps is
    recorded too; what it takes counts as time of training.
    """

    length: SpecLength
    num_train: int = Field(5000, ge=1)
    num_held_out: int = Field(2000, ge=1)
    epochs: int = Field(ge=0)
    batch_size: int = Field(25, ge=1)
    optimiser: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = Field(gt=0)
    learning_rate_decay: float = Field(gt=0, le=1)
    learning_rate_scale: GroupFactors = GroupFactors()
    momentum: float = Field(0.0, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    clip_norm: float | None = Field(0.5, gt=0)
    stop_at: float | None = Field(None, gt=0, le=1)
    drop_samples_per_epoch: int = Field(0, ge=0)
    replace_sample: Annotated[int | None, LATER] = Field(None, ge=0)
    tokenizer: Annotated[str, LATER] = "bytes"
    clip_per_group: Annotated[bool, LATER] = False
    plain_after: Annotated[int | None, LATER] = Field(None, ge=1)
    plain_before: Annotated[int | None, LATER] = Field(None, ge=1)
    evaluate_every: Annotated[int | None, LATER] = Field(None, ge=1)

    @property
    def steps_per_epoch(self) -> int:
        """Of a task that draws its samples; a data file may have fewer."""
        return -(-(self.num_train - self.drop_samples_per_epoch) // self.batch_size)

    def is_plain(self, steps: int) -> bool:
        """Whether after so many steps plain full attention is in force, for the next step and for evaluation."""
        if self.plain_after is not None:
            return steps >= self.plain_after
        return self.plain_before is not None and steps < self.plain_before

    @model_validator(mode="after")
    def _leaves_samples(self) -> "TrainingSettings":
        if self.drop_samples_per_epoch >= self.num_train:
            raise ValueError(
                f"drop_samples_per_epoch must be below num_train, got {self.drop_samples_per_epoch}"
            )
        if self.replace_sample is not None and self.replace_sample >= self.num_train:
            raise ValueError(
                f"replace_sample must be the index of a training sample, below num_train={self.num_train}, "
                f"got {self.replace_sample}"
            )
        if self.optimiser == "adam" and self.momentum:
            raise ValueError("momentum belongs to optimiser='sgd'")
        if self.plain_after is not None and self.plain_before is not None:
            raise ValueError("plain_after and plain_before are the two halves of one question: choose one")
        if self.clip_per_group and self.clip_norm is None:
            raise ValueError("clip_per_group needs a clip_norm, got clip_norm=None")
        return self
