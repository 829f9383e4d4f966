"""Claims: what was said about attention and learning, by which rule it is judged, and what the runs say."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.analysis.claims import (
    conditions,
    convergence,
    explanations,
    generalisation,
    limits,
    ordering,
    robustness,
    sharpness,
    surfaces,
)
from semfocus.analysis.claims.claim import RULE as SIZES
from semfocus.analysis.claims.claim import Claim, Evidence

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

CLAIMS: tuple[Claim, ...] = (
    *convergence.CLAIMS,
    *generalisation.CLAIMS,
    *robustness.CLAIMS,
    *limits.CLAIMS,
    *sharpness.CLAIMS,
    *explanations.CLAIMS,
    *surfaces.CLAIMS,
    *conditions.CLAIMS,
    *ordering.CLAIMS,
)

__all__ = ["CLAIMS", "SIZES", "Claim", "Evidence", "counted", "judge_all"]


def judge_all(summaries: Sequence["TaskSummary"]) -> list[Claim]:
    """The verdict on every claim; all are about classification, so language models neither support nor
    contradict one.
    """
    classified = [summary for summary in summaries if not summary.by_loss]
    return [claim.judge(classified) for claim in CLAIMS]


def counted(judged: Sequence[Claim]) -> str:
    """`24 claims: 2 supported, 1 contradicted, 3 undecided, 18 without any runs.`"""
    with_numbers = [claim for claim in judged if claim.evidence]
    counts = {verdict: sum(claim.verdict == verdict for claim in with_numbers) for verdict in _VERDICTS}
    parts = [f"{number} {verdict}" for verdict, number in counts.items()]
    return f"{len(judged)} claims: {', '.join(parts)}, {len(judged) - len(with_numbers)} without any runs."


_VERDICTS = ("supported", "contradicted", "undecided")
