"""A sample of what `make torture` tries with the kernels' numbers, and whether it would see a defect."""

import os
from dataclasses import replace

import pytest
import torch

from semfocus.kernels.cpu.library import load_library
from semfocus.mechanisms import BottomK, Full, TopK
from tests.faults.planting import Outcome, in_child
from tests.kernels.numerics import errors, steady
from tests.kernels.numerics.blocks import judged_block
from tests.kernels.numerics.campaign import LIMITS, WITHIN, tried
from tests.kernels.numerics.inputs import FAMILIES, hard_case
from tests.kernels.numerics.memory import growth, growth_of, training_step

pytestmark = [
    pytest.mark.skipif(load_library() is None, reason="the kernels were not compiled (no C++ compiler)"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
SAMPLE = range(3 * len(FAMILIES))


def test_cases_are_functions_of_their_number_and_cover_what_they_name() -> None:
    cases = [hard_case(number, longest=64) for number in SAMPLE]
    assert {case.family for case in cases} == set(FAMILIES)
    assert {type(case.pattern) for case in cases} >= {Full, TopK, BottomK}
    assert {True, False} == {case.causal for case in cases} == {case.mask is None for case in cases}
    again = hard_case(SAMPLE[-1], longest=64)
    assert torch.equal(again.query, cases[-1].query)
    assert str(again) == str(cases[-1])


def test_errors_are_those_of_pytorch_on_the_keys_that_were_kept() -> None:
    rows = [tried("attention", number, longest=64) for number in SAMPLE]
    assert [problem for row in rows for problem in row["problems"]] == []
    ratios = [mean for row in rows for name, (mean, _) in row["ratios"].items() if name.endswith("rows")]
    assert len(ratios) > 150
    assert sum(ratio <= WITHIN for ratio in ratios) > 0.9 * len(ratios)


def test_errors_of_blocks() -> None:
    rows = [tried("block", number, 0) for number in range(8)]
    assert [problem for row in rows for problem in row["problems"]] == []


@pytest.mark.parametrize("off", [1e-3, torch.nan])
def test_a_wrong_number_is_seen(monkeypatch: pytest.MonkeyPatch, off: float) -> None:
    right = errors.by_the_kernels

    def wrong(case):
        (output, *gradients), kept = right(case)
        output[..., :1, :1] += off * output.abs().max()
        return [output, *gradients], kept

    monkeypatch.setattr(errors, "by_the_kernels", wrong)
    seen = errors.judged(hard_case(0, longest=64))
    assert not seen.ratios["output"].mean <= LIMITS["attention"]
    assert seen.ratios["value gradient"].mean <= LIMITS["attention"]


def test_a_wrong_selection_is_seen() -> None:
    case = replace(
        hard_case(0, longest=64), pattern=TopK(3), mask=None, causal=False, softcap=None, bias=None
    )
    keys = torch.randn(1, 1, 9, case.key.shape[3], generator=torch.Generator().manual_seed(0))
    case = replace(case, query=case.query[:1, :1, :7], key=keys, value=keys)
    scores = errors.changed_scores(case, case.query, case.key, None)
    kept = TopK(3).keep(scores, torch.ones_like(scores, dtype=torch.bool))
    assert errors.wrong_selection(case, kept)[0] == ""
    worst = BottomK(3).keep(scores, torch.ones_like(scores, dtype=torch.bool))
    assert "beats a kept one" in errors.wrong_selection(case, worst)[0]
    assert "not min" in errors.wrong_selection(case, kept & (scores < scores.amax(-1, keepdim=True)))[0]
    masked = replace(case, mask=~kept)
    assert "not allowed" in errors.wrong_selection(masked, kept)[0]


def test_a_block_is_judged_by_its_worst_part() -> None:
    assert set(judged_block(0)) == {
        "block output",
        "block input gradient",
        "block weight gradients",
        "norm output",
        "norm gradient",
    }


@pytest.mark.parametrize(("threads", "at_once"), [(1, 1), (2, 1), (1, 2)])
def test_repeats_beside_other_work_give_the_same_bits(threads: int, at_once: int) -> None:
    assert steady.repeated(2 * len(steady.CALLS), threads, at_once) == []


def test_other_bits_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right, number = steady.Call.results, iter(range(10**6))

    def wrong(call):
        output, *gradients = right(call)
        return [output * (1 + (2e-7 if next(number) == len(steady.CALLS) + 3 else 0)), *gradients]

    monkeypatch.setattr(steady.Call, "results", wrong)
    (problem,) = steady.repeated(len(steady.CALLS), 1)
    assert "other bits" in problem


def test_the_number_of_threads_changes_only_sums_over_queries() -> None:
    assert steady.by_threads((1, 2)) == []


def test_forked_processes_give_the_same_bits() -> None:
    assert steady.after_forks(6) == []


def test_interrupts_leave_nothing_behind() -> None:
    def interrupted() -> int:
        problems, _ = steady.after_interrupts(10)
        return len(problems)

    assert in_child(interrupted) == Outcome(0, "")


@pytest.mark.parametrize("captured", [False, True])
def test_training_keeps_no_memory(captured: bool) -> None:
    """2,000 steps of it: `make torture`; 10,000: `make torture-long`."""
    grown = growth(training_step(captured), 40, warm=40)
    assert (
        replace(grown, resident=0).problems(40) == []
    )  # other tests have used memory, which is there for more


def test_memory_that_is_kept_is_seen() -> None:
    kept: list[object] = []
    tensors = growth(lambda: kept.append(torch.ones(1000)), 100, warm=10)
    assert any("used" in problem for problem in tensors.problems(100)) or not tensors.used
    objects = growth(lambda: kept.append([object() for _ in range(9)]), 100, warm=10)
    assert any("objects" in problem for problem in objects.problems(100))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "captured"])
def test_a_process_that_trains_does_not_grow(name: str) -> None:
    assert growth_of(name, 1_000).problems(1_000) == []
