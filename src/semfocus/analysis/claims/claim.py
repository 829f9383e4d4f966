"""A claim with its rule, and the rule's verdict, for each size of models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from semfocus.analysis.comparisons import Contrast
from semfocus.words import shortened

if TYPE_CHECKING:
    from semfocus.analysis.findings import Finding
    from semfocus.analysis.summaries import TaskSummary


PAPER_SIZE = "the paper's size"
SCALED_DOWN = "scaled-down setting"
RULE = (
    "Scaled-down runs (shorter, narrower, fewer samples or epochs than the paper's) are judged apart from those of the paper's size; "
    "where these decide nothing, a verdict of the scaled-down ones is marked as such. "
    "Levels are those of 5 % error; for runs of a study that ends once it is decided, the share of its look takes the place of the 5 %."
)
_SIZES = (
    *("training.length", "training.num_train", "training.num_held_out", "training.epochs"),
    *("model.d_model", "model.d_mlp"),
)


def by_size(summaries: Sequence["TaskSummary"]) -> list[tuple[str, list["TaskSummary"]]]:
    """The paper's size first; one of the two may be empty."""
    small = [each for each in summaries if is_scaled_down(each)]
    return [(PAPER_SIZE, [each for each in summaries if each not in small]), (SCALED_DOWN, small)]


def is_scaled_down(summary: "TaskSummary") -> bool:
    """Whether the runs have less of anything that makes a task large."""
    from semfocus.runs.arms import paper_setting

    comparison = summary.comparison
    changed = [key for key in _SIZES if key in comparison.setting]
    paper = paper_setting(comparison.task) if changed else {}
    return any(_largest(comparison.setting[key]) < _largest(paper.get(key)) for key in changed)


def _largest(value: Any) -> float:
    """Of a range its end; what is no number is no size."""
    if isinstance(value, list | tuple):
        return max(map(_largest, value), default=0.0)
    return float(value) if isinstance(value, int | float) else 0.0


#: arms of `semfocus study --patterns`; "full" alone would choose every temperature
RACE = "full x1; top_k(5)"

#: of the recipe `small`, at which length 40 is length 16: two look-ups, two tasks of more steps, one learned by heart
FIVE_TASKS = "even_pairs, marked_pair, stack_manipulation, missing_duplicate, listops"

#: the same at the paper's setting, without the one that takes hours per run
FOUR_TASKS = "even_pairs, marked_pair, stack_manipulation, missing_duplicate"

#: those of the paper that some arm learns there
SIX_TASKS = "even_pairs, listops, missing_duplicate, modular_arithmetic, solve_equation, stack_manipulation"


def small_study(patterns: str, tasks: str = FIVE_TASKS, *settings: str) -> str:
    """Eight seeds of these arms at the setting of `small`, in minutes; `settings` change it."""
    options = "".join(f" -s {each}" for each in settings)
    return f'small --tasks "{tasks}" --patterns "{patterns}" --seeds 8{options}'


def paper_study(
    patterns: str, tasks: str = FOUR_TASKS, recipe: str = "curves", *, seeds: int = 6, stops: bool = True
) -> str:
    """These arms at the paper's size, in as few runs as can decide; `stops`: where the question is only how
    fast, runs end at the target.
    """
    chosen = f' --tasks "{tasks}"' if tasks else ""
    end = " --stop-at 0.95" if stops else ""
    return f'{recipe}{chosen} --patterns "{patterns}" --seeds {seeds}{end}'


ClaimVerdict = Literal["supported", "contradicted", "undecided"]


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, line by line: in words, the setting of its runs, and the finding that it states, if
    it is one.
    """

    text: str
    setting: str
    finding: "Finding | None" = None
    #: of the models: the paper's, or scaled down
    size: str = ""

    def as_values(self) -> dict[str, Any]:
        return vars(self) | {"finding": None if self.finding is None else self.finding.as_values()}


@dataclass(frozen=True)
class Ruling:
    """The verdict of a rule on the runs, and the evidence that it rests on."""

    verdict: ClaimVerdict
    evidence: Sequence[Evidence] = ()


Rule = Callable[[Sequence["TaskSummary"]], Ruling]


@dataclass(frozen=True)
class Claim:
    """One sentence that runs can support or contradict; the two conditions say in words what `rule` computes.

    `contrast`: an arm or a group of arms against another, None where all arms count at once. `recipe` and
    `small_recipe` are what follows `semfocus study`: at the paper's size, and scaled down (empty where none would
    decide). `judge` returns the claim with its verdict and evidence.
    """

    name: str
    text: str
    contrast: Contrast | None
    source: str
    recipe: str
    supported_if: str
    contradicted_if: str
    rule: Rule
    small_recipe: str = ""
    verdict: ClaimVerdict = "undecided"
    #: that of the models which gave the verdict comes first
    evidence: tuple[Evidence, ...] = ()
    #: which models gave the verdict, and what those of the other size say
    size: str = ""

    def judge(self, summaries: Sequence["TaskSummary"]) -> "Claim":
        found = [(size, self.rule(own)) for size, own in by_size(summaries)]
        known = [each for each in found if each[1].evidence]
        if not known:
            return replace(self, verdict=found[0][1].verdict)
        decided = next((each for each in known if each[1].verdict != "undecided"), known[0])
        ordered = [decided, *(each for each in known if each is not decided)]
        return replace(
            self,
            verdict=decided[1].verdict,
            evidence=tuple(replace(each, size=size) for size, own in ordered for each in own.evidence),
            size="; ".join([decided[0], *(f"{size}: {own.verdict}" for size, own in ordered[1:])]),
        )

    @property
    def numbers(self) -> list[str]:
        """The evidence as lines: those of other models begin with their size, and where there are several settings,
        each line ends with the place of its own.
        """
        settings = self._settings
        return [
            f"{'' if each.size == self.evidence[0].size else f'{each.size}: '}{each.text}{_where(each, settings)}"
            for each in self.evidence
        ]

    @property
    def settings(self) -> list[str]:
        """Those of the runs behind the numbers."""
        return [shortened(setting, 300) for setting in self._settings]

    @property
    def _settings(self) -> list[str]:
        return list(dict.fromkeys(each.setting for each in self.evidence))

    def as_values(self) -> dict[str, Any]:
        """Plain values: all but the rule, which `supported_if` and `contradicted_if` state."""
        names = ("name", "text", "source", "recipe", "supported_if", "contradicted_if", "verdict", "numbers")
        return {
            **{name: getattr(self, name) for name in (*names, "size", "settings", "small_recipe")},
            "contrast": self.contrast and self.contrast._asdict(),
            "evidence": [each.as_values() for each in self.evidence],
        }


def _where(line: Evidence, settings: Sequence[str]) -> str:
    """Which setting, if the lines have several."""
    return f" (setting {settings.index(line.setting) + 1})" if len(settings) > 1 else ""


def decide(supported: bool, contradicted: bool, evidence: Sequence[Evidence]) -> Ruling:
    """Undecided unless exactly one side holds."""
    if supported == contradicted:
        return Ruling("undecided", evidence)
    return Ruling("supported" if supported else "contradicted", evidence)
