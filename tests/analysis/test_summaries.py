"""From records to summaries."""

import copy
import random
from dataclasses import asdict
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semfocus.analysis.statistics import Estimate
from semfocus.analysis.summaries import ArmSummary, TaskSummary, analyse, by_setting
from semfocus.report.tables import detail_table
from tests.analysis.records import arm, record

FULL = [40, 47, 58]
TOP_K = [7, 7, 13]


def only(records: list[dict], **options) -> TaskSummary:
    (summary,) = analyse(records, **options)
    return summary


def arms_of(summary: TaskSummary) -> dict[str, ArmSummary]:
    return {each.label: each for each in summary.arms}


def test_the_numbers_of_an_arm() -> None:
    summary = only([*arm("full", FULL), *arm("top_k(5)", TOP_K, seconds=3.0, held_out=0.8)])
    full, top_k = summary.arms
    assert (full.label, full.group, full.speedup, full.p) == ("full", "baseline", None, None)
    assert top_k.epochs_to_target.value == 7
    assert top_k.seconds_to_target.value == 21.0
    assert top_k.mean_epochs.value == pytest.approx(9)
    assert top_k.epochs_to_held_out.value is None
    assert (top_k.reached, top_k.total, top_k.share_perfect, top_k.seeds) == (3, 3, 1.0, [0, 1, 2])
    assert top_k.last_held_out == [0.8] * 3
    assert top_k.gap == pytest.approx([0.2] * 3)
    assert top_k.loss_gap == pytest.approx([0.5] * 3)
    assert top_k.states == {"done": 3}
    assert top_k.speedup is not None
    assert top_k.seconds_speedup is not None
    assert top_k.speedup.ratio == pytest.approx(40 / 7)
    assert top_k.seconds_speedup.ratio == pytest.approx(40 * 2 / 21)
    assert (top_k.p, top_k.p_holm, top_k.smallest_p) == (0.25, 0.25, 0.25)


def test_the_correction_is_over_the_arms_of_a_comparison() -> None:
    records = [*arm("full", FULL), *arm("top_k(5)", TOP_K), *arm("banded(5)", [50, 40, 60])]
    found = arms_of(only(records))
    assert (found["top_k(5)"].p, found["top_k(5)"].p_holm) == (0.25, 0.5)


def test_a_held_out_target_of_its_own() -> None:
    records = [*arm("full", FULL), *arm("top_k(5)", TOP_K)]
    found = arms_of(only(records, held_out_target=0.85))["top_k(5)"]
    assert found.epochs_to_held_out.value == 7
    assert found.held_out_speedup is not None
    assert found.held_out_speedup.ratio == pytest.approx(40 / 7)
    assert found.held_out_p == 0.25
    for target in (0.0, 1.1, 95):
        with pytest.raises(ValueError, match="accuracy above 0"):
            analyse(records, target=target)


def test_runs_that_went_wrong_are_counted() -> None:
    top_k = [
        record("top_k(5)", 0, 7),
        record("top_k(5)", 1, last=2, state="diverged"),
        record("top_k(5)", 2, last=20, state="failed"),
        {
            "run": "x",
            "spec": record("top_k(5)", 3)["spec"],
            "state": "unfinished",
            "curve": {},
            "summary": {},
        },
    ]
    summary = only([*arm("full", [40, 40, 40, 40]), *top_k])
    found = arms_of(summary)["top_k(5)"]
    assert found.states == {"diverged": 1, "done": 1, "failed": 1, "unfinished": 1}
    assert (found.reached, found.total) == (1, 4)
    assert found.ended_seeds == [0], "the last epoch before a divergence is not the end of training"
    assert len(found.last_held_out) == 1
    assert found.speedup is not None
    assert [(pair.ratio_low, pair.ratio_high) for pair in found.speedup.pairs] == [
        (40 / 7, 40 / 7),
        (0, 40 / 60),  # diverged: not within the longest look
        (0, 2),  # failed at 20: it might have arrived at 21
        (0, float("inf")),
    ]
    assert any("1 of 4 runs diverged" in note and "seed 1" in note for note in summary.notes)
    assert any("failed" in note and "seed 2" in note for note in summary.notes)
    assert any("not ended yet" in note and "seed 3" in note for note in summary.notes)


def test_seeds_that_only_one_arm_has() -> None:
    summary = only([*arm("full", FULL), *arm("top_k(5)", TOP_K)[1:], record("top_k(5)", 9, 5)])
    found = arms_of(summary)["top_k(5)"]
    assert found.speedup is not None
    assert [pair.seed for pair in found.speedup.pairs] == [1, 2]
    assert found.total == 3
    (note,) = summary.notes
    assert "0, 9" in note


def test_without_a_baseline() -> None:
    summary = only(arm("top_k(5)", TOP_K))
    assert summary.arms[0].speedup is None
    assert summary.arms[0].p is None
    assert len(summary.notes) == 1
    other = only([*arm("top_k(5)", TOP_K), *arm("banded(5)", FULL)], baseline="banded(5)")
    assert arms_of(other)["top_k(5)"].p == 0.25


def test_no_common_seed() -> None:
    found = arms_of(only([record("full", 1, 5), record("top_k(5)", 2, 5)]))["top_k(5)"]
    assert found.speedup is not None
    assert found.speedup.pairs == []
    assert (found.p, found.smallest_p) == (None, None)


def test_nothing_gives_nothing() -> None:
    assert analyse([]) == []
    assert analyse([{"run": "x", "spec": {}, "state": "corrupt", "reason": "damaged"}]) == []


def test_a_run_before_its_first_epoch() -> None:
    summary = only([{"run": "x", "spec": record()["spec"], "state": "running"}])
    assert summary.arms[0].epochs_to_target == Estimate(None, 0.0, None, beyond=0.0)
    assert summary.arms[0].mean_epochs == Estimate(None, None, None)


def test_early_stops_and_several_machines_are_noted() -> None:
    records = arm("full", FULL, training={"stop_at": 0.95})
    records[0]["environment"] = {"host": "a"}
    records[1]["environment"] = {"host": "b"}
    stopped, machines = only(records).notes
    assert "95 %" in stopped
    assert "2 machines" in machines


epochs = st.one_of(st.none(), st.integers(0, 30))


@given(st.lists(st.tuples(epochs, epochs, epochs), min_size=1, max_size=7), st.integers(0, 2**32))
@settings(deadline=None, max_examples=40)
def test_neither_names_of_seeds_nor_the_order_of_records_matter(reached: list[tuple], number: int) -> None:
    full, top_k, sharp = map(list, zip(*reached, strict=True))
    records = [
        *arm("full", full, last=30),
        *arm("top_k(5)", top_k, last=30),
        *arm("full", sharp, last=30, inverse_temperature=4.0),
    ]
    draw = random.Random(number)
    names = draw.sample(range(10**6), len(full))
    renamed = copy.deepcopy(records)
    for each in renamed:
        each["spec"]["seed"] = names[each["spec"]["seed"]]
    draw.shuffle(renamed)
    one, other = only(records), only(renamed)
    assert one.sentence == other.sentence
    for before, after in zip(one.arms, other.arms, strict=True):
        assert without_seeds(before) == without_seeds(after)


def without_seeds(summary: ArmSummary) -> dict:
    """A summary's numbers, rounded; what lists seeds is sorted by value."""
    values = asdict(summary)
    del values["seeds"], values["ended_seeds"]
    for name in ("times", "seconds", "held_out_times"):
        values[name] = sorted(map(str, values[name].values()))
    for name in ("speedup", "seconds_speedup", "held_out_speedup"):
        for pair in (values[name] or {}).get("pairs", []):
            del pair["seed"]
        if values[name]:
            values[name]["pairs"] = sorted(map(str, values[name]["pairs"]))
    return rounded(values)


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((rounded(each) for each in value), key=str)
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_groups_of_one_setting_hold_no_two_settings_and_no_task_twice() -> None:
    """listops at the paper's setting is set like even_pairs at the paper's, and like even_pairs at the values
    of listops.

    The two of even_pairs are not set alike, so the relation is no equivalence.
    """
    from semfocus.runs.arms import paper_setting

    def at(task: str, values_of: str) -> list[dict]:
        spec: dict = {"model": {}, "training": {}}
        for key, value in paper_setting(values_of).items():
            part, _, name = key.partition(".")
            spec[part][name] = value
        return [*arm("full", FULL, task=task, **spec), *arm("top_k(5)", TOP_K, task=task, **spec)]

    records = [*at("even_pairs", "even_pairs"), *at("listops", "listops"), *at("even_pairs", "listops")]
    summaries = analyse(records)
    one, two, three = sorted(summaries, key=lambda each: (each.comparison.task, len(each.comparison.setting)))
    assert three.is_poolable(one)
    assert three.is_poolable(two)
    assert not one.is_poolable(two)
    for order in permutations(summaries):
        groups = by_setting(order)
        assert sorted(map(len, groups)) == [1, 2]
        for group in groups:
            assert len({each.comparison.task for each in group}) == len(group)


def test_a_file_that_changed_is_not_pooled_with_itself() -> None:
    records = [
        each
        for digest in ("a" * 64, "b" * 64)
        for each in (
            *arm("full", FULL, task="file:x.csv", data=digest),
            *arm("top_k(5)", TOP_K, task="file:x.csv", data=digest),
        )
    ]
    assert [len(group) for group in by_setting(analyse(records))] == [1, 1]


def test_steps_clipped_before_the_target_are_those_of_the_epochs_up_to_it() -> None:
    """Target at epoch 3: (1 + 0.5 + 0) / 3; a run that never got there counts whole, one without the column
    not at all.
    """
    reached, never, old = (record("full", seed, when, last=5) for seed, when in ((0, 3), (1, None), (2, 3)))
    for one in (reached, never):
        one["curve"] |= {
            "clipped_share": [None, 1.0, 0.5, 0.0, 0.9, 0.9],
            "gradient_norm": [None, 4.0, 2.0, 0.0, 9.0, 9.0],
        }
    (arm,) = analyse([reached, never, old])[0].arms
    assert arm.clipped == {0: pytest.approx(0.5), 1: pytest.approx(0.66)}
    assert arm.gradient_norms == {0: pytest.approx(2.0), 1: pytest.approx(4.8)}
    table = detail_table(analyse([reached, never, old])[0])
    assert table.columns[-2:] == ["steps clipped before the target", "gradient norm before clipping"]
    assert [cell.text for cell in table.rows[0].cells[-2:]] == ["58 % (50 % to 66 %)", "3.4 (2 to 4.8)"]
    assert "clipped" not in " ".join(detail_table(analyse([old])[0]).columns)
