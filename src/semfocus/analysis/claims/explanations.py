"""Claims about why: decided by what was measured inside and around models, not by learning curves alone."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import RACE, Claim, Ruling, decide, paper_study
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, TOP_K, agnostic_labels
from semfocus.analysis.claims.evidence import (
    FEWEST_TASKS,
    HOW_COUNTED,
    HOW_MEASURED,
    Races,
    counts,
    line,
    majority,
    measured_lines,
    pooled,
    races_of,
    seeds_enough,
)
from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.findings import Finding
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary
    from semfocus.analysis.why.measured_runs import MeasuredTask

SOURCE = "Ram et al. 2025, explanation"
#: what `dispersion` measures on the scores of full attention
_AGNOSTIC = "full x1; banded(5); block_local(5)"
#: a rank correlation below this goes with the claim
STRONG = -0.5
#: tasks on which a sharper arm must win to speak against small dispersion
FEWEST_SHARPER = 2
#: a pattern shrinks the dispersion if it leaves less than this share of what it would leave of noise
OF_NOISE = 0.9


def _smaller_dispersion(summaries: Sequence["TaskSummary"]) -> Ruling:
    from semfocus.analysis.why.measured_runs import measured_tasks
    from semfocus.analysis.why.ratio import dispersion_ratios, ratio_test

    tasks = measured_tasks(summaries)
    races = races_of(tasks, HEAVY_HITTERS)
    ratios = {task.task: dispersion_ratios(task, HEAVY_HITTERS, "end", False) for task in tasks}
    numbers = [
        f"{line(task, 'dispersion of top_k(5) over full', ratios[task.task])}; {races[task.task]}"
        for task in tasks
        if ratios[task.task] and task.task in races
    ]
    counted = [task for task in tasks if seeds_enough(ratios[task.task]) and counts(races.get(task.task))]
    larger = [task for task in counted if median(ratios[task.task].values()) >= 1]
    gains = [task for task in counted if races[task.task].verdict == "faster"]
    found = ratio_test(counted, HEAVY_HITTERS, "input-dependent", "end", False).correlation
    if found.value is not None:
        numbers.append(
            f"rank correlation of ratio and speedup over {count_of(len(counted), 'task')}: {found.value:+.2f}"
        )
    sharper = _sharper_races(tasks)
    numbers += [
        f"{label}: larger dispersion than full, untrained and trained; {each.text}"
        for label, own in sharper.items()
        for each in own.numbers_together()
    ]
    supported = (
        len(counted) >= FEWEST_TASKS
        and bool(gains)
        and not any(task in larger for task in gains)
        and found.value is not None
        and found.value < STRONG
    )
    all_the_same = len(larger) >= FEWEST_TASKS and majority(
        [task for task in larger if task in gains], larger
    )
    return decide(
        supported,
        all_the_same or any(own.num_tasks >= FEWEST_SHARPER and own.gain for own in sharper.values()),
        measured_lines(numbers, summaries),
    )


def _sharper_races(tasks: "Sequence[MeasuredTask]") -> dict[str, Races]:
    """Arms of sharper full attention against top-k, over the tasks on which they disperse more than full at
    the start and in the end.
    """
    from semfocus.analysis.why.ratio import dispersion_ratios

    found: dict[str, list[Finding]] = {}
    labels = dict.fromkeys(
        run.label for task in tasks for run in task.runs if run.group == "sharper full attention"
    )
    for label in labels:
        races = races_of(tasks, label, HEAVY_HITTERS)
        for task in tasks:
            ratios = [dispersion_ratios(task, label, when, False) for when in ("start", "end")]
            disperses = all(seeds_enough(each) and median(each.values()) > 1 for each in ratios)
            if disperses and counts(races.get(task.task)):
                found.setdefault(label, []).append(races[task.task])
    return {label: pooled(own, len(found)) for label, own in found.items()}


def _agnostic_shrinks_not(summaries: Sequence["TaskSummary"]) -> Ruling:
    """Each fixed pattern on the scores of trained full attention, against the same pattern on noise."""
    from semfocus.analysis.why.measured_runs import measured_tasks
    from semfocus.analysis.why.ratio import left_over

    numbers: list[str] = []
    shrinks: dict[str, list[bool]] = {}
    for label in agnostic_labels(summaries):
        for task in measured_tasks(summaries):
            shares = {seed: each.of_noise for seed, each in left_over(task, label, "end").items()}
            if shares:
                numbers.append(
                    line(task, f"{label} leaves, of the dispersion it would leave of noise,", shares)
                )
            if seeds_enough(shares) and not task.num_open("full"):
                shrinks.setdefault(label, []).append(all(each < OF_NOISE for each in shares.values()))
    counted = {label: own for label, own in shrinks.items() if len(own) >= FEWEST_TASKS}
    some = [label for label, own in counted.items() if majority([each for each in own if each], own)]
    return decide(bool(counted) and not some, bool(some), measured_lines(numbers, summaries))


CLAIMS = (
    Claim(
        "smaller_dispersion_faster",
        "Top_k learns faster because the dispersion of the scores its softmax sees is smaller.",
        TOP_K,
        SOURCE,
        paper_study(RACE, recipe="dispersion", stops=False),
        f"Over at least {FEWEST_TASKS} tasks, the 75 % quantile of top_k's dispersion after training is below that of full attention wherever top_k gains, and a smaller ratio "
        f"goes with a larger speedup (rank correlation below {STRONG}; pairs of tasks whose order is not known count neither way). {HOW_MEASURED} {HOW_COUNTED}",
        f"There are at least {FEWEST_TASKS} tasks on which its dispersion is not smaller, and top_k gains on more than half of them; or an arm of sharper full attention, untrained and trained of larger dispersion than full, "
        f"gains over top_k over at least {FEWEST_SHARPER} tasks, corrected for the number of such arms.",
        _smaller_dispersion,
        f'dispersion_small --patterns "{RACE}"',
    ),
    Claim(
        "agnostic_does_not_shrink_dispersion",
        "An input-agnostic pattern does not systematically shrink the dispersion of the scores.",
        Contrast("input-agnostic", "full"),
        SOURCE,
        paper_study(_AGNOSTIC, recipe="dispersion", seeds=3, stops=False),
        f"Put on the scores of trained full attention, no input-agnostic pattern that was measured on at least {FEWEST_TASKS} tasks shrinks the dispersion on more than half of them. It shrinks it where "
        f"the share of the dispersion that it leaves is, on every seed, below {OF_NOISE} times the share that it leaves of Gaussian noise of the same size: fewer keys are always less dispersed. {HOW_MEASURED}",
        f"Some input-agnostic pattern shrinks it on more than half of at least {FEWEST_TASKS} tasks.",
        _agnostic_shrinks_not,
        f'dispersion_small --patterns "{_AGNOSTIC}"',
    ),
)
