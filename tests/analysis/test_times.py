"""From curves to times."""

import pytest

from semfocus.analysis.statistics import Time
from semfocus.analysis.summaries import analyse
from semfocus.analysis.times import Goal, longest_look, time_to
from semfocus.runs.outcome import summarise
from tests.analysis.records import record


def to_target(run: dict, clock: str = "epochs", horizon: float = 60.0, target: float = 0.95) -> Time:
    return time_to(run, Goal("train_accuracy", target, ""), clock, horizon)  # type: ignore[arg-type]


def test_the_first_epoch_at_the_target() -> None:
    run = record(reached_at=7)
    run["curve"]["train_accuracy"][9] = 0.2  # falling back later changes nothing
    assert to_target(run) == Time(7, True, 1)
    run["curve"]["train_accuracy"][7] = 0.95  # exactly the target counts
    assert to_target(run) == Time(7, True, 1)
    assert to_target(run, target=0.96) == Time(8, True, 1)


def looked_between(reached_at: int, steps: dict[int, float], pattern: str = "full", seed: int = 0) -> dict:
    """Ten steps per epoch, of which these were looked at."""
    run = record(
        pattern, seed, reached_at, training={"num_train": 250, "batch_size": 25, "evaluate_every": 4}
    )
    return {**run, "steps": {"step": list(steps), "train_accuracy": list(steps.values())}}


def test_looks_between_epochs_make_times_finer() -> None:
    """At step 4, 8, 12, ... of epochs of ten steps; the end of each epoch is a look as well."""
    run = looked_between(2, {4: 0.5, 8: 0.6, 12: 0.7, 16: 0.97, 20: 1.0})
    assert to_target(run) == Time(1.6, True, pytest.approx(0.4))
    assert to_target(run, target=0.99) == Time(2, True, pytest.approx(0.4)), "there at the end of epoch 2"
    early = looked_between(1, {4: 0.96, 8: 1.0})
    assert to_target(early) == Time(0.4, True, pytest.approx(0.4))
    assert to_target(early, "seconds") == Time(2.0, True, 2.0), "seconds are known of whole epochs alone"
    sustained = Goal("train_accuracy", 0.95, "", sustained=5)
    assert time_to(run, sustained, "epochs", 60.0) == Time(2, True, 1), "five evaluations are five epochs"  # type: ignore[arg-type]
    fewer = {**run, "num_train": 240, "spec": {**run["spec"]}}
    assert to_target(fewer).value == 1.6, "a last short batch is a step too"
    unknown = {**run, "spec": {**run["spec"], "training": {"epochs": 60}}}
    assert to_target(unknown) == Time(2, True, 1), "without sizes nobody knows where the steps were"


def test_an_arm_that_learns_within_an_epoch_has_a_speedup_of_its_own() -> None:
    """By whole epochs both take one; by steps one takes 0.4 and the other 0.8 of it."""
    records = []
    for seed in range(6):
        records.append(looked_between(1, {4: 0.5, 8: 1.0}, seed=seed))
        records.append(looked_between(1, {4: 1.0, 8: 1.0}, "top_k(5)", seed))
    (summary,) = analyse(records)
    full, top_k = summary.arms
    assert (full.epochs_to_target.value, top_k.epochs_to_target.value) == (0.8, 0.4)
    assert top_k.speedup is not None
    assert top_k.speedup.ratio == pytest.approx(2.0)
    assert any("every 4 steps" in note for note in summary.notes)
    (coarse,) = analyse([{**each, "steps": {}} for each in records])
    assert coarse.arms[1].speedup is not None
    assert coarse.arms[1].speedup.ratio == 1.0


def test_what_was_clipped_in_the_epoch_of_the_target_counts() -> None:
    run = looked_between(1, {4: 0.96})
    run["curve"]["clipped_share"] = [None, 0.5, *[0.0] * 59]
    (summary,) = analyse([run])
    assert summary.arms[0].clipped == {0: 0.5}


def test_seconds_are_those_of_training() -> None:
    run = record(reached_at=3)
    run["curve"]["train_seconds"] = [0.001, 1.0, 2.0, 4.0, *[9.0] * 57]
    assert to_target(run, "seconds") == Time(7.0, True, 4.0)
    rows = [dict(zip(run["curve"], row, strict=True)) for row in zip(*run["curve"].values(), strict=True)]
    assert abs(summarise(rows)["seconds_to_target"] - 7.0) < 0.01


def test_a_run_that_never_gets_there_is_censored_at_its_last_epoch() -> None:
    assert to_target(record(last=25)) == Time(25, False)
    assert to_target(record(last=25), "seconds", 500.0) == Time(50.0, False)
    for state in ("failed", "interrupted", "unfinished"):
        assert to_target(record(last=25, state=state)) == Time(25, False)


def test_a_run_without_its_curve_has_the_time_of_its_summary() -> None:
    """Old exports hold no curves; the summary knows the training target alone, and no seconds."""
    known = {"target_accuracy": 0.95, "epochs_to_target": 7, "epochs": 60}
    run = {**record(reached_at=7), "curve": {}, "summary": known}
    never = {**run, "summary": {**known, "epochs_to_target": None}}
    assert to_target(run) == to_target(record(reached_at=7))
    assert to_target(never) == to_target(record()) == Time(60, False)
    nothing = Time(0, False)
    assert to_target(run, target=0.9) == nothing
    assert to_target(run, "seconds", 0.0) == nothing
    assert to_target({**never, "state": "unfinished"}) == nothing
    assert to_target({**run, "summary": {}}) == nothing
    for goal in (
        Goal("held_out_accuracy", 0.95, ""),
        Goal("train_accuracy", 0.95, "", at_most=True),
        Goal("train_accuracy", 0.95, "", sustained=5),
    ):
        assert time_to(run, goal, "epochs", 60.0) == nothing  # type: ignore[arg-type]


def test_a_diverged_run_would_not_arrive_however_long_one_looks() -> None:
    assert to_target(record(last=2, state="diverged")) == Time(60, False)
    assert to_target(record(reached_at=1, last=2, state="diverged")) == Time(1, True, 1)


def test_at_the_target_untrained() -> None:
    assert to_target(record(reached_at=0)) == Time(0, True, 1)
    assert to_target(record(reached_at=0, seconds=3.0), "seconds") == Time(0, True, 3.0)
    assert to_target(record(reached_at=0, last=0), "seconds") == Time(0, True, 0)


def test_a_run_without_an_epoch_says_nothing() -> None:
    for run in ({"spec": {}, "state": "failed"}, {"spec": {}, "state": "unfinished", "curve": {}}):
        assert to_target(run) == Time(0, False)
        assert longest_look([run], "epochs") == 0
    assert longest_look([record(last=5), record(last=9)], "seconds") == 18.0
