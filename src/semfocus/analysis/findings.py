"""Findings: what a comparison shows about one arm against its baseline, as a value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from semfocus.analysis.statistics import Speedup
from semfocus.analysis.summaries import ArmSummary, TaskSummary
from semfocus.analysis.verdict import side
from semfocus.analysis.wording import bounded, interval, setting_of
from semfocus.words import count_of

Verdict = Literal["faster", "slower", "equivalent", "undecided"]


class Contrast(NamedTuple):
    """What is held against what."""

    arm: str
    baseline: str


@dataclass(frozen=True)
class Finding:
    """How many times fewer epochs an arm needed than the baseline, how sure that is, and what it comes to.

    `task` is None where tasks are pooled. A limit is None where the data give none.
    """

    contrast: Contrast
    task: str | None
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    num_pairs: int
    verdict: Verdict
    #: what differs from the paper's setting, in words: a task may be compared at several settings
    setting: str
    speedup: Speedup = field(repr=False, compare=False)

    def __str__(self) -> str:
        """`even_pairs: top_k(5) against full: faster, 5.7x [3.1, 10.4], 5 seeds`."""
        where = "" if self.task is None else f"{self.task}: "
        how = " ".join(filter(None, (bounded(self.speedup), interval(self.speedup))))
        return (
            f"{where}{self.contrast.arm} against {self.contrast.baseline}: {self.verdict}, {how}, "
            f"{count_of(self.num_pairs, 'seed')}"
        )


def findings_of(summaries: Iterable[TaskSummary]) -> list[Finding]:
    """One for every arm that shares a seed with the baseline, comparison after comparison."""
    found = (finding_on(summary, arm) for summary in summaries for arm in summary.arms)
    return [each for each in found if each is not None]


def finding_on(summary: TaskSummary, arm: ArmSummary) -> Finding | None:
    """What a comparison shows about one of its arms; None for the baseline, and where no seed is shared."""
    speedup = arm.speedup
    if speedup is None or not speedup.pairs:
        return None
    return Finding(
        Contrast(arm.label, summary.baseline),
        summary.comparison.title,
        speedup.ratio,
        speedup.low,
        speedup.high,
        arm.p,
        speedup.num_pairs,
        verdict_on(summary.arms, speedup),
        setting_of(summary.comparison),
        speedup,
    )


def verdict_on(arms: Sequence[ArmSummary], speedup: Speedup) -> Verdict:
    """Where nobody reached the goal there is nothing to be faster at."""
    found = side(speedup)
    if found in ("faster", "slower") and any(arm.reached for arm in arms):
        return found
    return "undecided"
