"""A claim with its rule, and the rule's verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary

Verdict = Literal["supported", "contradicted", "undecided"]


@dataclass(frozen=True)
class Finding:
    """What a rule says about the runs, and the numbers it looked at."""

    verdict: Verdict
    numbers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict, in plain values."""

    name: str
    text: str
    source: str
    recipe: str
    supported_if: str
    contradicted_if: str
    verdict: Verdict
    numbers: list[str]


@dataclass(frozen=True)
class Claim:
    """One sentence that runs can support or contradict; the two conditions say in words what `rule` computes."""

    name: str
    text: str
    source: str
    recipe: str
    supported_if: str
    contradicted_if: str
    rule: Callable[[Sequence["TaskSummary"]], Finding]

    def judge(self, summaries: Sequence["TaskSummary"]) -> Judged:
        finding = self.rule(summaries)
        return Judged(
            self.name,
            self.text,
            self.source,
            self.recipe,
            self.supported_if,
            self.contradicted_if,
            finding.verdict,
            finding.numbers,
        )


def decide(supported: bool, contradicted: bool, numbers: list[str]) -> Finding:
    """Undecided unless exactly one side holds."""
    if supported == contradicted:
        return Finding("undecided", numbers)
    return Finding("supported" if supported else "contradicted", numbers)
