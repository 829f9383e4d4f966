"""A claim with its rule, and the rule's verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from semfocus.report.claims.sizes import RULE, by_size

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
    #: which runs gave the verdict, and what those of the other size say
    size: str = ""


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
        found = [(size, self.rule(own)) for size, own in by_size(summaries)]
        told = [each for each in found if each[1].numbers]
        size, finding = next((each for each in told if each[1].verdict != "undecided"), (told or found)[0])
        others = [each for each in told if each[1] is not finding]
        return Judged(
            self.name,
            self.text,
            self.source,
            self.recipe,
            f"{self.supported_if} {RULE}",
            self.contradicted_if,
            finding.verdict,
            [*finding.numbers, *(f"{name}: {line}" for name, other in others for line in other.numbers)],
            "; ".join([size, *(f"{name}: {other.verdict}" for name, other in others)]) if told else "",
        )


def decide(supported: bool, contradicted: bool, numbers: list[str]) -> Finding:
    """Undecided unless exactly one side holds."""
    if supported == contradicted:
        return Finding("undecided", numbers)
    return Finding("supported" if supported else "contradicted", numbers)
