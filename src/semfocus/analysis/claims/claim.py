"""A claim with its rule, and the rule's verdict, for each size of models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from semfocus.words import shortened

if TYPE_CHECKING:
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
class NumberLine:
    """One line of numbers, and the setting of the runs that gave them."""

    text: str
    setting: str


@dataclass(frozen=True)
class Ruling:
    """The verdict of a rule on the runs, and the numbers it rests on."""

    verdict: ClaimVerdict
    numbers: list[NumberLine] = field(default_factory=list)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict, in plain values."""

    name: str
    text: str
    source: str
    recipe: str
    supported_if: str
    contradicted_if: str
    verdict: ClaimVerdict
    numbers: list[str]
    #: which runs gave the verdict, and what those of the other size say
    size: str = ""
    #: the settings of the runs behind the numbers; where there are several, a line ends with the place of its own
    settings: list[str] = field(default_factory=list)
    #: a study in minutes; empty where none would decide
    small_recipe: str = ""


@dataclass(frozen=True)
class Claim:
    """One sentence that runs can support or contradict; the two conditions say in words what `rule` computes.

    `recipe` and `small_recipe` are what follows `semfocus study`: at the paper's size, and scaled down.
    """

    name: str
    text: str
    source: str
    recipe: str
    supported_if: str
    contradicted_if: str
    rule: Callable[[Sequence["TaskSummary"]], Ruling]
    small_recipe: str = ""

    def judge(self, summaries: Sequence["TaskSummary"]) -> Judged:
        found = [(size, self.rule(own)) for size, own in by_size(summaries)]
        with_numbers = [each for each in found if each[1].numbers]
        size, finding = next(
            (each for each in with_numbers if each[1].verdict != "undecided"), (with_numbers or found)[0]
        )
        others = [each for each in with_numbers if each[1] is not finding]
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
            "; ".join([size, *(f"{name}: {other.verdict}" for name, other in others)])
            if with_numbers
            else "",
            [shortened(setting, 300) for setting in settings],
            self.small_recipe,
        )


def _where(line: NumberLine, settings: Sequence[str]) -> str:
    """Which setting, if the lines have several."""
    return f" (setting {settings.index(line.setting) + 1})" if len(settings) > 1 else ""


def decide(supported: bool, contradicted: bool, numbers: list[NumberLine]) -> Ruling:
    """Undecided unless exactly one side holds."""
    if supported == contradicted:
        return Ruling("undecided", numbers)
    return Ruling("supported" if supported else "contradicted", numbers)
