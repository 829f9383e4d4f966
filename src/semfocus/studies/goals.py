"""What a run of a comparison has to reach: an accuracy, or for text the loss at which the baseline ended."""

import math
from dataclasses import dataclass
from statistics import median

from semfocus.counts import with_span
from semfocus.runs.record import is_text
from semfocus.studies.arms import Comparison
from semfocus.studies.wording import percent


@dataclass(frozen=True)
class Goal:
    """A value that a column of the curve must reach, from below or (`at_most`) from above, and its name in a sentence."""

    column: str
    value: float
    words: str
    at_most: bool = False

    @property
    def short(self) -> str:
        """Its name without the explanation."""
        return self.words.partition(" (")[0]

    @property
    def perplexity(self) -> float:
        """Of a goal that is a loss."""
        return math.exp(min(self.value, 700.0))


def goals_of(
    comparison: Comparison, target: float, held_out_target: float, baseline: str
) -> tuple[Goal, Goal]:
    """The goal by which arms are compared, and a second one beside it.

    An accuracy of 95 % means nothing where the next token cannot be known. For text the goal is the held-out loss that the
    baseline had after its last epoch, on the worst of its seeds, so that all of them reach it; beside it the same of
    the training loss.
    """
    if is_text(comparison.task):
        return tuple(
            _end_of(comparison, baseline, column, words)
            for column, words in (("held_out_loss", "held-out"), ("train_loss", "training"))
        )  # type: ignore[return-value]
    return (
        Goal("train_accuracy", target, f"{percent(target)} training accuracy"),
        Goal("held_out_accuracy", held_out_target, f"{percent(held_out_target)} held-out"),
    )


def _end_of(comparison: Comparison, baseline: str, column: str, words: str) -> Goal:
    ends = [
        record["curve"][column][-1]
        for record in comparison.arms.get(baseline, [])
        if record.get("state") == "done" and record["curve"].get(column)
    ]
    if not ends:  # nothing to reach before a run of the baseline has ended
        return Goal(column, -math.inf, f"the {words} perplexity at which {baseline} ends", at_most=True)
    goal = Goal(column, max(ends), "", at_most=True)
    return Goal(
        column,
        goal.value,
        f"{words} perplexity {goal.perplexity:.3g} (where {baseline} ended)",
        at_most=True,
    )


def perplexities(losses: list[float]) -> list[float]:
    return [math.exp(min(loss, 700.0)) for loss in losses]


def perplexity_text(losses: list[float]) -> str:
    """`6.31 (6.28 to 6.4)`: the median over seeds, and the range."""
    if not losses:
        return ""
    values = perplexities(losses)
    return with_span(*(f"{each:.4g}" for each in (median(values), min(values), max(values))))
