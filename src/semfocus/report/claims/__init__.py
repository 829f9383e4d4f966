"""Claims: what was said about attention and learning, by which rule it is judged, and what the runs say."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.report.claims import (
    breaking,
    convergence,
    explanations,
    generalisation,
    limits,
    ordering,
    robust,
    sharpness,
)
from semfocus.report.claims.claim import Claim, Judged

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary

CLAIMS: tuple[Claim, ...] = (
    *convergence.CLAIMS,
    *generalisation.CLAIMS,
    *robust.CLAIMS,
    *limits.CLAIMS,
    *sharpness.CLAIMS,
    *explanations.CLAIMS,
    *breaking.CLAIMS,
    *ordering.CLAIMS,
)

__all__ = ["CLAIMS", "Claim", "Judged", "judge_all"]


def judge_all(summaries: Sequence["TaskSummary"]) -> list[Judged]:
    """The verdict on every claim."""
    return [claim.judge(summaries) for claim in CLAIMS]
