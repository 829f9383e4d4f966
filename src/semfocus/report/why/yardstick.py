"""Sparsity or sharpness: which quantity of the untrained model orders the arms?"""

from collections.abc import Iterable, Mapping, Sequence

from semfocus.analysis.why.focus_layers import HOW_CARRIED, carrying_layer, epochs_of, layer_value, layers_of
from semfocus.analysis.why.measured_runs import MeasuredRun, MeasuredTask, middle, number_of
from semfocus.analysis.why.yardsticks import YARDSTICKS, Yardstick, yardsticks
from semfocus.report.curves import Sampled, with_quartiles
from semfocus.report.figures import FIGURES
from semfocus.report.figures.lines import Line
from semfocus.report.palette import Ink
from semfocus.report.why.block import TIMES_LABEL, Table, WhyBlock, arms_in, correlation_text, shown

#: more arms than one are needed to order them
_FEWEST_ARMS = 3
#: tasks whose quantities are drawn along training
_MOST_ALONG = 2
#: as the title of a panel has room for them
_SHORT = {
    "effective_keys": "effective keys",
    "focus_mass": "focus mass",
    "dispersion": "dispersion",
    "gradient_norm_query_key": "gradient of q, k",
    "gradient_norm_value_out": "gradient of v, out",
    "lambda_w_local": "local constant",
}


def block(tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink]) -> WhyBlock | None:
    """None with fewer than three arms."""
    legend = arms_in(tasks, inks)
    found = yardsticks(tasks)
    if len(legend) < _FEWEST_ARMS or not found:
        return None
    figures = [FIGURES["correlations"].of(found), FIGURES["sparsity-or-sharpness"].of(found, inks=inks)]
    figures.append(FIGURES["along"].of(_along(tasks), inks=inks))
    return WhyBlock(
        "sparsity-or-sharpness",
        "Sparsity or sharpness: which quantity of the untrained model predicts who will learn first?",
        "One dot per run: its median at epoch 0 on held-out data to the right, the epoch at which it reached its target upwards (a triangle: not by its last epoch). Arms are "
        "compared on the same task and seed only. Rank correlation +1: less of the quantity always learns first; -1: more of it does; 0: it orders nothing. "
        "A pair of arms that the quantity does not order counts as 0, a pair whose order is unknown counts neither way. "
        f"At epoch 0 no layer is idle yet, and all count together. Along training: {HOW_CARRIED[0].lower()}{HOW_CARRIED[1:]}",
        figures,
        _sentences(found),
        "Arms are a choice of ours, not a sample, and some change several quantities at once; the interval is over tasks and their seeds, not over arms, and the best of several quantities looks better than it is. What orders the arms need not make them learn.",
        [
            Table(
                "Rank correlations with epochs to target, arms of one task and seed",
                ["at epoch 0", "all arms", "without fixed patterns"],
                _correlations(found),
                is_open=True,
            ),
            Table(
                "Medians over seeds at epoch 0",
                ["task", "attention", *YARDSTICKS.values(), TIMES_LABEL],
                _cells(tasks),
            ),
        ],
        legend,
    )


def _sentences(found: Sequence[Yardstick]) -> list[str]:
    """Which quantity comes nearest to an order, and which have an interval on one side of 0: none with too
    few tasks.
    """
    best = found[0]
    said = [
        f"Of {len(found)} quantities, nearest to an order of the arms comes the {best.words}: {correlation_text(best.correlation)}."
    ]
    known = [each for each in found if each.correlation.low is not None and each.correlation.high is not None]
    for words, own in (
        (
            "Less of it goes with sooner learning (interval above 0)",
            [each for each in known if (each.correlation.low or 0) > 0],
        ),
        (
            "More of it goes with sooner learning (interval below 0)",
            [each for each in known if (each.correlation.high or 0) < 0],
        ),
        ("No order is known (interval includes 0)", [each for each in known if not _is_one_sided(each)]),
    ):
        said += [f"{words}: {', '.join(each.words for each in own)}."] if own else []
    return said


def _is_one_sided(each: Yardstick) -> bool:
    low, high = each.correlation.low, each.correlation.high
    return low is not None and high is not None and (low > 0 or high < 0)


def _correlations(found: Sequence[Yardstick]) -> list[list[str]]:
    return [
        [each.words, correlation_text(each.correlation), correlation_text(each.choosing)] for each in found
    ]


def _cells(tasks: Sequence[MeasuredTask]) -> list[list[str]]:
    rows = []
    for task in tasks:
        for label in task.labels:
            runs = list(task.of(label).values())
            values = [shown(middle(run.value(name, "start") for run in runs)) for name in YARDSTICKS]
            times = ", ".join(f"{'' if run.time.reached else '> '}{run.time.value:g}" for run in runs)
            rows.append([task.task, label, *values, times])
    return rows


def _along(tasks: Sequence[MeasuredTask]) -> Iterable[Line]:
    """Of the tasks with the most runs that were measured along training."""
    there = [(sum(bool(run.along) for run in task.runs), task) for task in tasks]
    chosen = [task for num, task in sorted(there, key=lambda each: -each[0]) if num][:_MOST_ALONG]
    for task in chosen:
        for quantity in YARDSTICKS:
            for label in task.labels:
                line = _line(task, label, quantity)
                if line is not None:
                    yield Line(
                        label,
                        line[1],
                        line[0],
                        {"task": task.task, "panel": _SHORT[quantity], "is_share": False},
                    )


def _carried_along(run: MeasuredRun, quantity: str) -> dict[int, float | None]:
    """In the layer that carries focus, where that was measured."""
    layer = carrying_layer(run)
    if layer is None or layer not in layers_of(run, quantity):
        return {}
    return {
        epoch: layer_value(run, quantity, epoch, layer, "50") for epoch in sorted(epochs_of(run, quantity))
    }


def _line(task: MeasuredTask, label: str, quantity: str) -> tuple[list[int], Sampled] | None:
    seeds = {}
    for seed, run in task.of(label).items():
        own = _carried_along(run, quantity) or {
            row["epoch"]: number_of(row, "50")
            for row in run.along
            if row["quantity"] == quantity and row.get("layer") is None
        }
        if own:
            seeds[seed] = own
    if not seeds:
        return None
    epochs = sorted({epoch for own in seeds.values() for epoch in own})
    return epochs, with_quartiles(
        [(seed, [own.get(epoch) for epoch in epochs]) for seed, own in seeds.items()]
    )
