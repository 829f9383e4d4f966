"""The long trainings behind `results/`, in the order in which they decide most per core-hour.

    semfocus campaign results/campaign.py --results results --export results/campaign --store DIR
    semfocus campaign results/campaign.py --results results --status

S: the setting of `small` (length 16, 12 to 45 seconds per run). P: the paper's setting (length 40, minutes; ListOps,
hours). A run that several stages have is trained once.
"""

from collections.abc import Iterator
from typing import Any

from semfocus.campaign import Stage
from semfocus.measurements import Inside, Lengths
from semfocus.recipes.arms import compare
from semfocus.recipes.beyond import causes, k_sweep, sharpness, small
from semfocus.recipes.paper import landscape
from semfocus.recipes.paper.landscape import LEARNED
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS
from semfocus.studies import grid

#: the two tasks of `sharpness`: one that is looked up by position, one by content
PAIR = ("even_pairs", "missing_duplicate")
SIX, EIGHT = PAPER_SEEDS[:6], PAPER_SEEDS[:8]
#: a name alone would choose every temperature
THREE = "full x1; full x4; top_k(5)"
RACE = "full x1; top_k(5)"
#: of `sharpness` and `temperature`, on all tasks of the controls
SHARPER = "top_k(5) x10; banded(5) x10; full x10 gradient /10; full clipped at 1"
#: where the question is only how fast
STOP = {"training.stop_at": 0.95}
#: the tasks of the controls
FIVE = ", ".join(causes.TASKS)
#: parity is learned by heart: seed 1 of full attention at epoch 371, with 250 samples not within 400 epochs
PARITY = {"training.num_train": 100, "training.epochs": 1000}
#: what is learned here holds on other data too: full attention had 95 % of held-out data at epochs 61
#: (stack_manipulation, seed 1), 107 (missing_duplicate) and 32 (marked_pair)
GENERALISING = {"training.num_train": 1000, "training.epochs": 200}


def _small(task: str) -> dict[str, Any]:
    return {"task": task, **small.SETTING}


def k_sweep_specs() -> Iterator[RunSpec]:
    """Up to nearly all of sixteen keys."""
    sizes = ("full", *(f"top_k({k})" for k in (1, 3, 5, 9, 13, 15)))
    for task in k_sweep.SMALL_TASKS:
        yield from compare(_small(task), sizes, EIGHT)


def sharpness_specs() -> Iterator[RunSpec]:
    for task in PAIR:
        yield from compare(_small(task), sharpness.ARMS, EIGHT)


def controls_specs() -> Iterator[RunSpec]:
    """Any keys but the best, sharper fixed patterns, sinks; on every task that some arm learns."""
    chosen = ("bottom_k(5)", "random(5)", "random(5,fixed)", "banded(5)", "full x4")
    others = ("full", "top_k(5)", "banded(5) x10", "top_k(5)+G1")
    for task in (*PAIR, *(each for each in LEARNED if each not in PAIR)):
        yield from compare(_small(task), (*chosen, *others), SIX)


def listops_specs() -> list[RunSpec]:
    """Eight hours with top-k, twenty with full attention."""
    return grid({"task": "listops"}, pattern=["top_k(5)", "full"], seed=PAPER_SEEDS[:1])


def baseline_specs() -> Iterator[RunSpec]:
    """What the controls are held against, which most of them share."""
    for task in causes.TASKS:
        yield from compare(_small(task), ("full", "top_k(5)"), EIGHT)


def landscape_specs() -> Iterator[RunSpec]:
    """Runs of `small`, of which an export has no weights: they are trained again to be measured around."""
    for task in LEARNED:
        yield from compare(_small(task), ("full", "top_k(5)"), PAPER_SEEDS[:3])


STAGES = [
    # S: those first that decide most per core-hour. What moved before learning did (focus by layer) needs
    # both arms of a contrast measured by layer: 53 exported runs of these two are not, half a core-hour; of
    # all controls 2.6
    Stage(
        "baselines",
        baseline_specs,
        question="The two arms that the controls are held against.",
        measure=causes.ALONG,
        needs=["layers"],
    ),
    Stage("factorial", "factorial"),
    Stage("which_keys", "which_keys"),
    Stage(
        "keys",
        "small",
        tasks=FIVE,
        patterns="full x1; top_k(5); top_k(15); top_k(5)+G1",
        seeds=8,
        question="Does a sink help top-k, and is top-k with nearly all keys full attention?",
    ),
    Stage("parity_small", "small", tasks="parity", patterns=RACE, seeds=8, settings=PARITY),
    Stage(
        "generalising",
        "small",
        tasks=", ".join(causes.PAPER_TASKS),
        patterns=RACE,
        seeds=8,
        settings=GENERALISING,
        question="Where held-out data are learned too: does top-k learn them sooner, and as well?",
    ),
    # who learns first is the question, and an epoch of the arms whose entropy is matched takes four times
    # as long: stopped at the target, the stage is a fifth of five core-hours
    Stage("matched", "matched", settings=STOP),
    Stage(
        "sharper",
        "small",
        tasks=FIVE,
        patterns=f"full x1; full x10; {SHARPER}",
        seeds=8,
        question="Which part of sharper scores makes attention faster, and does it help every pattern?",
    ),
    Stage("clipping", "clipping"),
    # both arms learn even_pairs only with 4 blocks: seed 153476998 at epochs 245 and 123 (2 blocks: banded(5) never)
    Stage(
        "global_tokens",
        "small",
        tasks=", ".join(LEARNED),
        patterns="banded(5); banded(5)+G1",
        seeds=8,
        settings={"model.num_blocks": 4, **STOP},
        question="Does a global token help a fixed pattern to learn?",
    ),
    # the claims are about these two arms; sharper full attention would add half as much again
    Stage("adam", "adam_small", patterns=RACE, settings=STOP),
    Stage("activations", "activations_small", patterns=RACE, settings=STOP),
    Stage("decay", "decay_small", patterns=RACE, settings=STOP),
    Stage("heads", "heads_small", patterns=RACE, settings=STOP),
    Stage("learning_rate", "learning_rate_small", patterns=RACE, settings=STOP),
    Stage("depth", "depth_small", patterns=RACE, settings=STOP),
    Stage("when", "when"),
    Stage("k_sweep", k_sweep_specs, question=k_sweep.QUESTION, measure=[Inside()]),  # S
    # published without the share of clipped steps, which may explain two of its arms
    Stage(
        "sharpness",
        sharpness_specs,
        question=sharpness.QUESTION,
        measure=[Inside()],
        needs=["clipped_share"],
    ),  # S
    Stage(
        "controls",
        controls_specs,
        question="Must the kept keys be the highest scoring, or would others do?",
        measure=[Inside()],
    ),  # S
    # weights are needed: half a core-hour of training at most, and half a minute around each of 36 models
    Stage(
        "landscape_small",
        landscape_specs,
        question=landscape.QUESTION,
        measure=landscape.SMALL.MEASURE,
        needs=["landscape"],
    ),
    # 288 of 360 runs are the search, 12 values on two seeds: seven core-hours in all if none stopped before the limit
    Stage("tuned_small", "tuned_small", seeds=6, settings=STOP),
    Stage("tuned_small_adam", "tuned_small_adam", seeds=6, settings=STOP),
    Stage("adam_paper", "adam_short", seeds=6, settings=STOP),  # P, as all that follow
    Stage("learning_rate_paper", "learning_rate_short", seeds=6, settings=STOP),
    Stage("even_pairs", "curves", tasks="even_pairs", seeds=6, measure=[Inside(), Lengths()]),
    Stage("sharpness_even_pairs", "sharpness_paper", tasks="even_pairs", seeds=6, settings=STOP),
    Stage(
        "sharpness_missing_duplicate", "sharpness_paper", tasks="missing_duplicate", seeds=6, settings=STOP
    ),
    Stage("depth_paper", "depth_short", seeds=6, settings=STOP),
    Stage("heads_paper", "heads_short", seeds=6, settings=STOP),
    Stage("decay_paper", "decay_short", seeds=6, settings=STOP),
    Stage(
        "activations_paper",
        "activations",
        tasks="even_pairs",
        patterns=THREE,
        seeds=6,
        settings=STOP,
    ),
    Stage(
        "three_tasks",
        "curves",
        tasks="stack_manipulation, missing_duplicate, modular_arithmetic",
        patterns=f"{THREE}; banded(5)",
        seeds=6,
        measure=[Inside(), Lengths()],
    ),
    Stage("parity", "curves", tasks="parity", patterns="full x1; top_k(5)", seeds=5),
    Stage(
        "listops_short",
        "curves",
        tasks="listops",
        patterns=THREE,
        seeds=6,
        settings={"training.length": [101, 149], **STOP},
        question="Does top-k learn ListOps of 101 to 149 tokens in fewer epochs?",
    ),
    Stage(
        "listops", listops_specs, question="Does top-k learn ListOps in fewer epochs at the paper's setting?"
    ),
    # the controls at the paper's setting: days, up to the epoch limit; runs that stop at the target cost less
    Stage("factorial_paper", "factorial_paper", settings=STOP),
    Stage("matched_paper", "matched_paper", settings=STOP),
    Stage("which_keys_paper", "which_keys_paper", settings=STOP),
    Stage("clipping_paper", "clipping_paper", settings=STOP),
    # on the task that x10 learns in an epoch: looking every ten steps is dear
    Stage("when_paper", "when_paper", tasks="even_pairs", settings=STOP),
]
