"""A claim with its rule, and the rule's verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from semfocus.report.claims.sizes import by_size
from semfocus.report.texts import shortened

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary

Verdict = Literal["supported", "contradicted", "undecided"]


@dataclass(frozen=True)
class Line:
    """One line of numbers, and the setting of the runs that gave them."""

    text: str
    setting: str


@dataclass(frozen=True)
class Finding:
    """What a rule says about the runs, and the numbers it looked at."""

    verdict: Verdict
    numbers: list[Line] = field(default_factory=list)


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
    #: the settings of the runs behind the numbers; where there are several, a line ends with the place of its own
    settings: list[str] = field(default_factory=list)


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
        numbered = [("", line) for line in finding.numbers]
        numbered += [(f"{name}: ", line) for name, other in others for line in other.numbers]
        settings = list(dict.fromkeys(line.setting for _, line in numbered))
        return Judged(
            self.name,
            self.text,
            self.source,
            self.recipe,
            self.supported_if,
            self.contradicted_if,
            finding.verdict,
            [f"{size}{line.text}{_where(line, settings)}" for size, line in numbered],
            "; ".join([size, *(f"{name}: {other.verdict}" for name, other in others)]) if told else "",
            [shortened(setting, 300) for setting in settings],
        )


def _where(line: Line, settings: Sequence[str]) -> str:
    """Which setting, if the lines have several."""
    return f" (setting {settings.index(line.setting) + 1})" if len(settings) > 1 else ""


def decide(supported: bool, contradicted: bool, numbers: list[Line]) -> Finding:
    """Undecided unless exactly one side holds."""
    if supported == contradicted:
        return Finding("undecided", numbers)
    return Finding("supported" if supported else "contradicted", numbers)
