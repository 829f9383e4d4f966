"""Learning curves of language models: perplexity on a logarithmic axis, from the first trained epoch on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from semfocus.report.curve_figure import with_lines
from semfocus.report.palette import Ink
from semfocus.report.panel import BOTTOM, HEIGHT, TOP, Panel, label_room
from semfocus.report.sampling import Record, Sampled, Values, epoch_grid, sample
from semfocus.report.scales import Linear, Logarithmic
from semfocus.studies.goals import Goal


@dataclass(frozen=True)
class NarrowLogarithmic(Logarithmic):
    """A logarithmic axis over less than some decades, where 1, 2 and 5 are too few ticks."""

    def ticks(self, most: int = 8) -> list[float]:
        usual = super().ticks(most)
        return usual if len(usual) >= 4 else Linear(self.low, self.high, 0, 1).ticks(most)


def perplexities_on(records: Sequence[Record], column: str, grid: Sequence[int]) -> Sampled:
    """exp(loss) on the grid. The untrained model is left out: it would press all that follows into a corner."""
    losses = sample(records, column, grid)

    def raised(values: Values) -> Values:
        return [
            None if loss is None or epoch == 0 else math.exp(min(loss, 700.0))
            for epoch, loss in zip(grid, values, strict=True)
        ]

    return replace(
        losses,
        seeds=[(seed, raised(values)) for seed, values in losses.seeds],
        median=raised(losses.median),
        lower=raised(losses.lower),
        upper=raised(losses.upper),
    )


def perplexity_figure(
    title: str, arms: Mapping[str, Sequence[Record]], goal: Goal, inks: Mapping[str, Ink]
) -> Markup | None:
    """The panel of one loss as perplexity, with the target as a line; None if no run has a trained epoch yet."""
    grid = epoch_grid([record for records in arms.values() for record in records])
    sampled = {label: perplexities_on(records, goal.column, grid) for label, records in arms.items()}
    values = [value for arm in sampled.values() for _, row in arm.seeds for value in row if value is not None]
    if not values:
        return None
    has_target = math.isfinite(goal.value)
    low, high = min([*values, *([goal.perplexity] if has_target else [])]), max(values)
    room = max(1.02, (high / low) ** 0.06)
    panel = Panel(
        title,
        "curves",
        last_epoch=grid[-1],
        low=0.0,
        right=label_room(sampled),
        values=NarrowLogarithmic(low / room, high * room, HEIGHT - BOTTOM, TOP),
    )
    if has_target:
        panel.level(goal.perplexity, f"target {goal.perplexity:.3g}", at_left=True)
    return with_lines(panel, sampled, grid, inks)
