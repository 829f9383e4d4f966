"""causes: groups of arms that separate what sharpness and sparsity change, each a recipe at two settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from semfocus.measurements import Inside, Measurement
from semfocus.recipes.arms import compare
from semfocus.recipes.beyond import small
from semfocus.recipes.variant import Variant
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

#: at the setting of `small`, chosen with full attention alone on seeds 1 and 2, which reached the target at
#: epochs 72 and 126 (even_pairs), 48 and 62 (marked_pair), 119 and 57 (stack_manipulation), 351 and 201
#: (missing_duplicate), 206 and 234 (listops): two look-ups, by position and by content, two tasks of more
#: steps, and one that is learned by heart
TASKS = ("even_pairs", "marked_pair", "stack_manipulation", "missing_duplicate", "listops")
#: of length 40 at the paper's setting
PAPER_TASKS = TASKS[:4]
SEEDS = PAPER_SEEDS[:8]
#: focus mass and effective keys by layer, untrained, along training and at its end: what a cause is thought
#: to work through
ALONG = (Inside(epochs=(), every=20),)

START, RATE = "full q/k start x3.1623", "full q/k rate x10"
BOTH = f"{START} q/k rate x10"
FACTORIAL = ("full", START, RATE, BOTH, "full x10")
CLIPPED = ("full", START, RATE, "full x10", "full gradient x10", "top_k(5)")
#: the runs of the usual clipping are those of `factorial`; the others end at the target, since the question
#: is only how fast
CLIPS: tuple[dict[str, Any], ...] = (
    {},
    {"clip_norm": 5.0, "stop_at": 0.95},
    {"clip_norm": None, "stop_at": 0.95},
    {"clip_per_group": True, "stop_at": 0.95},
)
ENTROPY, DISPERSION = "full entropy of top_k(5)", "top_k(5) dispersion of full"
MATCHED = (
    *("full", "full x4", "top_k(5)", "top_k(5) x4", ENTROPY, f"{ENTROPY} gradient /f"),
    *(DISPERSION, f"{DISPERSION} gradient /f"),
)
ORACLE = "full oracle keys"
WHICH_KEYS = (
    *("full", "top_k(5)", "bottom_k(5)", "random(5)", "random(5,fixed)", ORACLE),
    *("top_k(5) noisy 0.5", "top_k(5) noisy 1", "top_k(5) initial keys"),
)
#: in steps: before even full x10 has learned anything, and after it has learned the two look-ups (seeds 1 and
#: 2: 80 to 140)
EARLY = (50, 200)
#: the same at the paper's setting, where an epoch has 200 steps
PAPER_EARLY = (100, 1000)


def _switched(steps: Sequence[int]) -> tuple[str, ...]:
    arms = ("full x10", "top_k(5)")
    return (
        "full",
        *arms,
        *(f"{arm} {when} {n} steps" for n in steps for arm in arms for when in ("first", "after")),
    )


def _specs(
    tasks: Sequence[str],
    arms: Sequence[str],
    base: Mapping[str, Any],
    settings: Sequence[Mapping[str, Any]] = ({},),
) -> list[RunSpec]:
    """Every task under every one of these training settings; listops cannot say which keys decide."""
    return [
        spec
        for task in tasks
        for own in settings
        for spec in compare(
            {"task": task, **base, "training": {**base.get("training", {}), **own}},
            [arm for arm in arms if (arm, task) != (ORACLE, "listops")],
            SEEDS,
        )
    ]


def _pair(
    question: str,
    arms: Sequence[str],
    contrasts: Sequence[tuple[str, str]],
    measure: Sequence[Measurement] = ALONG,
    tasks: Sequence[str] = TASKS,
    settings: Sequence[Mapping[str, Any]] = ({},),
    paper_arms: Sequence[str] = (),
    paper_contrasts: Sequence[tuple[str, str]] = (),
    paper_settings: Sequence[Mapping[str, Any]] = (),
) -> tuple[Variant, Variant]:
    """The group at the setting of `small`, and at the paper's."""
    return (
        Variant(
            question,
            "ours: causes, scaled down",
            lambda: _specs(tasks, arms, small.SETTING, settings),
            measure,
            contrasts,
        ),
        Variant(
            question,
            "ours: causes",
            lambda: _specs(PAPER_TASKS, paper_arms or arms, {}, paper_settings or settings),
            measure,
            paper_contrasts or contrasts,
        ),
    )


def _contrasts_of_switched(steps: Sequence[int]) -> list[tuple[str, str]]:
    arms = ("full x10", "top_k(5)")
    return [
        (f"{arm} {when} {n} steps", "full")
        for n in steps[::-1]
        for arm in arms
        for when in ("first", "after")
    ]


FACTORIAL_SMALL, FACTORIAL_PAPER = _pair(
    "Sharper scores are a larger start and a faster rate of queries and keys: which of the two is it?",
    FACTORIAL,
    [("full x10", "full"), (START, "full"), (RATE, "full"), (BOTH, "full x10"), ("full x10", RATE)],
)
CLIPPING_SMALL, CLIPPING_PAPER = _pair(
    "Does the joint clipping of gradients decide who learns first?",
    CLIPPED,
    [
        ("full x10", "full"),
        (RATE, "full"),
        (START, "full"),
        ("full gradient x10", "full"),
        ("top_k(5)", "full"),
    ],
    measure=(),
    tasks=PAPER_TASKS,
    settings=CLIPS,
)
MATCHED_SMALL, MATCHED_PAPER = _pair(
    "Sparsity or sharpness: the same sharpness with and without zeros, who learns first?",
    MATCHED,
    [
        (ENTROPY, "full"),
        (ENTROPY, "top_k(5)"),
        (DISPERSION, "top_k(5)"),
        (f"{ENTROPY} gradient /f", "full"),
        (f"{ENTROPY} gradient /f", "top_k(5)"),
        (f"{DISPERSION} gradient /f", "top_k(5)"),
        (DISPERSION, "full"),
    ],
)
WHICH_KEYS_SMALL, WHICH_KEYS_PAPER = _pair(
    "Which keys: would as many others do, or those that decide, or those of the untrained model?",
    WHICH_KEYS,
    [
        ("top_k(5)", "random(5)"),
        ("top_k(5)", "bottom_k(5)"),
        ("top_k(5)", "random(5,fixed)"),
        (ORACLE, "full"),
        ("top_k(5) initial keys", "top_k(5)"),
        ("top_k(5) noisy 0.5", "top_k(5)"),
        ("top_k(5) noisy 1", "top_k(5)"),
        ("random(5,fixed)", "full"),
    ],
)
WHEN_SMALL, WHEN_PAPER = _pair(
    "When: does it matter before anything is learned, or after?",
    _switched(EARLY),
    _contrasts_of_switched(EARLY),
    paper_arms=_switched(PAPER_EARLY),
    paper_contrasts=_contrasts_of_switched(PAPER_EARLY),
    # an epoch of 200 steps is too coarse for an arm that learns in one; that of `small` has 10. Ten steps are
    # 250 samples, a look at the training data 5,000: a run takes five times as long
    paper_settings=({"evaluate_every": 10},),
)
