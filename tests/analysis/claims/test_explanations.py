"""The claims about why, on planted measurements: what supports each, what contradicts it, what leaves it open."""

from typing import Any

import pytest

from semfocus.analysis.claims import judge_all
from semfocus.analysis.summaries import analyse
from semfocus.runs.record import Record
from tests.analysis.why.planted import EPOCHS, NEVER, SEEDS, TASKS, both, record, row

Records = list[dict[str, Any]]
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.45)


def over_tasks(
    speedups: tuple[float, ...], ratios: tuple[float, ...] = RATIOS, sharper: float | None = None
) -> Records:
    """top_k(5) with these speedups over full and ratios of dispersions; `sharper`: the epochs of full x10."""
    records = []
    for task, speedup, ratio in zip(TASKS, speedups, ratios, strict=True):
        for seed in SEEDS:
            records.append(record(task, "full", seed, 80, both("dispersion", 10.0)))
            records.append(record(task, "top_k(5)", seed, 80 / speedup, both("dispersion", 10.0 * ratio)))
            if sharper is not None:
                rows = both("dispersion", 50.0)
                records.append(record(task, "full", seed, sharper, rows, temperature=10.0))
    return records


def with_fixed(ratio: float) -> Records:
    other = {"pattern": "banded(5)", "counterfactual": True, "null": 0.6}
    return [
        each
        for task in TASKS
        for seed in SEEDS
        for each in (
            record(task, "full", seed, 40, [row("dispersion_ratio", ratio, **other)]),
            record(task, "banded(5)", seed, 40, [row("dispersion", 1.0)]),
        )
    ]


def with_landscapes(full: float, topk: float, gap: float = 0.0) -> Records:
    def around(value: float) -> dict[str, list[dict[str, Any]]]:
        trained = {"epoch": EPOCHS, "grid": "5 x 5", "steepness": value, "grids": 1}
        return {"landscape": [trained, {"epoch": 0, "grid": "5 x 5", "steepness": 99.0}]}

    return [
        each
        for task in TASKS
        for seed in SEEDS
        for each in (
            Record(record(task, "full", seed, 40), measurements=around(full)),
            Record(record(task, "top_k(5)", seed, 40, held_out=1 - gap), measurements=around(topk)),
        )
    ]


def broken(ratio: float, train: float, stays: float) -> Records:
    return [
        each
        for task in TASKS
        for seed in SEEDS
        for each in (
            record(task, "full", seed, 40, [row("dispersion", 10.0)]),
            record(
                task,
                "top_k(5)",
                seed,
                40,
                [row("dispersion", 10 * ratio), row("mask_agreement_0.01", stays)],
                last=train,
            ),
        )
    ]


def ordered(
    keys: tuple[float, ...], tasks: tuple[str, ...] = TASKS, seeds: tuple[int, ...] = SEEDS
) -> Records:
    """Four arms that need 80, 40, 20 and 10 epochs, with these numbers of effective keys."""
    arms = (("full", 1.0), ("full", 4.0), ("full", 10.0), ("top_k(5)", 1.0))
    return [
        record(task, pattern, seed, epochs, both("effective_keys", own), temperature=temperature)
        for task in tasks
        for (pattern, temperature), epochs, own in zip(arms, (80, 40, 20, 10), keys, strict=True)
        for seed in seeds
    ]


FALLING = (16.0, 8.0, 4.0, 2.0, 1.6)
#: claim -> runs that support it, runs that contradict it
CASES: dict[str, tuple[Records, Records]] = {
    "smaller_dispersion_faster": (over_tasks(FALLING), over_tasks(FALLING, (1.1, 1.2, 1.3, 1.4, 1.5))),
    "stability_generalises": (with_landscapes(2.0, 1.0), with_landscapes(1.0, 2.0)),
    "agnostic_does_not_shrink_dispersion": (with_fixed(0.58), with_fixed(0.4)),
    "dispersion_not_broken": (broken(0.4, 1.0, 1.0), broken(0.9, 1.0, 1.0)),
    "expressivity_not_broken": (broken(0.4, 1.0, 1.0), broken(0.4, 0.9, 1.0)),
    "separation_not_broken": (broken(0.4, 1.0, 1.0), broken(0.4, 1.0, 0.5)),
    "larger_dispersion_yet_faster": (over_tasks(FALLING, sharper=10), over_tasks(FALLING, sharper=90)),
    "effective_keys_order_arms": (ordered((16, 8, 4, 2)), ordered((2, 4, 8, 16))),
}


def verdict(name: str, records: Records) -> str:
    return next(claim.verdict for claim in judge_all(analyse(records)) if claim.name == name)


@pytest.mark.parametrize("name", CASES)
def test_a_claim_can_be_supported_and_contradicted(name: str) -> None:
    supporting, contradicting = CASES[name]
    assert verdict(name, supporting) == "supported"
    assert verdict(name, contradicting) == "contradicted"


@pytest.mark.parametrize("name", CASES)
def test_one_seed_decides_nothing(name: str) -> None:
    for records in CASES[name]:
        few = [each for each in records if each["spec"]["seed"] == SEEDS[0]]
        assert verdict(name, few) == "undecided"


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"larger_dispersion_yet_faster"}))
def test_three_tasks_decide_nothing_about_tasks(name: str) -> None:
    for records in CASES[name]:
        few = [each for each in records if each["spec"]["task"] in TASKS[:3]]
        assert verdict(name, few) == "undecided"


def test_sharper_full_attention_that_beats_top_k_speaks_against_small_dispersion() -> None:
    """A planted contradiction flips the verdict: the same runs of top-k, and one arm more."""
    assert verdict("smaller_dispersion_faster", over_tasks(FALLING, sharper=2)) == "undecided", (
        "both sides hold"
    )
    flat = over_tasks(FALLING[::-1], sharper=2)
    assert verdict("smaller_dispersion_faster", flat) == "contradicted"
    assert verdict("smaller_dispersion_faster", over_tasks(FALLING[::-1])) == "undecided"


def test_a_few_tasks_of_larger_dispersion_do_not_contradict_what_many_others_say() -> None:
    """Gains wherever the ratio is not below 1, but on too few tasks: 1, then 3 of 5."""
    for ratios in ((1.001, 0.3, 0.3, 0.3, 0.3), (1.1, 1.2, 1.3, 0.3, 0.3)):
        assert verdict("smaller_dispersion_faster", over_tasks((4.0,) * 5, ratios)) == "undecided"
    many = over_tasks((4.0,) * 5, (1.1, 1.2, 1.3, 1.4, 0.3))
    assert verdict("smaller_dispersion_faster", many) == "contradicted"


def test_tasks_with_a_larger_gap_do_not_count_for_stability() -> None:
    assert verdict("stability_generalises", with_landscapes(2.0, 1.0, gap=0.3)) == "undecided"


def test_only_grids_of_one_kind_are_compared() -> None:
    records = with_landscapes(2.0, 1.0)
    # a median over unlike grids would call full the flatter one
    small = {"epoch": EPOCHS, "grid": "3 x 3", "steepness": 0.01, "grids": 1}
    records = [
        Record(each, measurements={"landscape": [*each.measurements["landscape"], small]})
        if each.spec["pattern"] == "full"
        else each
        for each in records
    ]
    assert verdict("stability_generalises", records) == "supported"
    records = [
        Record(
            each,
            measurements={
                "landscape": [
                    {**one, "grid": one["grid"] + each.spec["pattern"]}
                    for one in each.measurements["landscape"]
                ]
            },
        )
        for each in records
    ]
    assert verdict("stability_generalises", records) == "undecided"


def test_arms_that_never_arrive_still_speak() -> None:
    records = ordered((16, 8, 4, 2))
    never = [
        record(task, "banded(5)", seed, NEVER, both("effective_keys", 1.0))
        for task in TASKS
        for seed in SEEDS
    ]
    (claim,) = [
        each for each in judge_all(analyse([*records, *never])) if each.name == "effective_keys_order_arms"
    ]
    assert claim.verdict != "supported"
    assert any("without fixed patterns +1.00" in each for each in claim.numbers)


def test_a_task_with_one_seed_does_not_undo_what_the_others_decide() -> None:
    begun = ordered((2, 4, 8, 16), tasks=("listops",), seeds=SEEDS[:1])
    assert verdict("effective_keys_order_arms", [*ordered((2, 4, 8, 16)), *begun]) == "contradicted"


def test_a_task_that_nobody_learned_counts_in_no_correlation() -> None:
    never = [
        record("listops", pattern, seed, NEVER, both("dispersion", value))
        for pattern, value in (("full", 10.0), ("top_k(5)", 1.0))
        for seed in SEEDS
    ]
    records = [*over_tasks((5, 4, 3, 2, 1.5)), *never]
    (found,) = [each for each in judge_all(analyse(records)) if each.name == "smaller_dispersion_faster"]
    assert any("over 5 tasks" in str(each) for each in found.numbers)
