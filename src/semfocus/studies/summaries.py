"""What is said about an arm and about a comparison: plain values."""

from dataclasses import dataclass, field

from semfocus.studies.arms import Comparison
from semfocus.studies.controls import SHARPENED
from semfocus.studies.goals import Goal
from semfocus.studies.statistics import Estimate, Speedup, Time


@dataclass(frozen=True)
class Race:
    """One arm against the baseline on one clock; None where there is nothing to compare."""

    speedup: Speedup | None = None
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class ArmSummary:
    """What the runs of one arm say; lists of values are in the order of `ended_seeds`."""

    label: str
    group: str
    seeds: list[int]
    states: dict[str, int]
    total: int
    reached: int
    share_perfect: float
    epochs_to_target: Estimate
    mean_epochs: Estimate
    seconds_to_target: Estimate
    epochs_to_held_out: Estimate
    times: dict[int, Time]
    seconds: dict[int, Time]
    held_out_times: dict[int, Time]
    #: the runs that are done, and their last epoch: others may still change, or broke off (diverged)
    ended_seeds: list[int]
    last_held_out: list[float]
    gap: list[float]
    loss_gap: list[float]
    last_held_out_loss: list[float]
    last_train_loss: list[float]
    #: None for the baseline itself, and where there is none
    speedup: Speedup | None
    p: float | None
    p_holm: float | None
    smallest_p: float | None
    seconds_speedup: Speedup | None
    seconds_p: float | None
    seconds_p_holm: float | None
    held_out_speedup: Speedup | None
    held_out_p: float | None
    held_out_p_holm: float | None

    @property
    def is_sharpened(self) -> bool:
        """Whether the arm runs at another inverse temperature than 1, or with another factor of a control."""
        return SHARPENED in self.label


@dataclass(frozen=True)
class TaskSummary:
    """One comparison: its arms, the answer in one sentence, and what a reader should know beside it."""

    comparison: Comparison
    target: float
    held_out_target: float
    #: the targets with their names; for text they are losses
    goal: Goal
    second_goal: Goal
    baseline: str
    arms: list[ArmSummary]
    sentence: str
    notes: list[str] = field(default_factory=list)

    @property
    def by_loss(self) -> bool:
        """Whether it is language models that are compared: by perplexity, not by accuracy."""
        return self.goal.at_most
