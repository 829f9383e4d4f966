"""What a mechanism test sees of a run."""

import math

from semfocus.analysis.why.measured_runs import not_tested
from semfocus.runs.record import Record
from tests.analysis.why.planted import EPOCHS, record, row, summaries, tasks_of


def test_runs_that_were_not_looked_into_are_not_there() -> None:
    found = tasks_of(
        [record("parity", "full", 1, 10), record("parity", "full", 2, 10, [row("dispersion", 3.0)])]
    )
    assert [(task.task, [run.seed for run in task.runs]) for task in found] == [("parity", [2])]
    assert tasks_of([record("parity", "full", 1, 10)]) == []


def test_start_is_epoch_0_and_end_the_last_one() -> None:
    rows = [row("dispersion", 1.0, 0), row("dispersion", 2.0, 50), row("dispersion", 3.0, EPOCHS)]
    (run,) = tasks_of([record("parity", "full", 1, 10, rows)])[0].runs
    assert (run.value("dispersion", "start"), run.value("dispersion", "end")) == (1.0, 3.0)
    assert run.value("separation", "end") is None


def test_other_patterns_layers_and_data_are_kept_apart_and_more_sequences_win() -> None:
    rows = [
        row("dispersion", 9.0, samples=64),
        row("dispersion", 1.0),
        row("dispersion", 2.0, pattern="top_k(5)", counterfactual=True),
        row("dispersion", 3.0, layer=1, head=0),
        row("dispersion", 4.0, data="train", samples=1000),
    ]
    (run,) = tasks_of([record("parity", "full", 1, 10, rows)])[0].runs
    assert run.value("dispersion", "end") == 9.0
    assert run.value("dispersion", "end", pattern="top_k(5)") == 2.0
    assert run.value("dispersion", "end", layer=1, head=0) == 3.0


def test_a_separation_where_nothing_is_masked_is_infinite_and_other_holes_are_none() -> None:
    nothing = dict.fromkeys(("50",), None)
    rows = [row("separation", nothing, num=0, num_infinite=10), row("dispersion", nothing, num=0)]  # type: ignore[arg-type]
    (run,) = tasks_of([record("parity", "full", 1, 10, rows)])[0].runs
    assert run.value("separation", "end") == math.inf
    assert run.value("dispersion", "end") is None


def test_rows_along_training_stand_in_for_the_untrained_model() -> None:
    along = [row("dispersion", 1.5, 0, samples=4)]
    (run,) = tasks_of([record("parity", "full", 1, 10, along=along)])[0].runs
    assert run.value("dispersion", "start") == 1.5


def test_tasks_at_different_settings_are_not_tested_together() -> None:
    """Three tasks at one setting, and a fourth with more runs at another, which is named."""
    rows = [row("dispersion", 3.0)]
    alike = [record(task, "full", 1, 10, rows) for task in ("even_pairs", "parity", "cycle_navigation")]
    other = [record("missing_duplicate", "full", seed, 10, rows) for seed in range(5)]
    other = [
        Record(
            each | {"spec": {**each.spec, "training": {**each.spec["training"], "length": 20}}},
            measurements={"inside": rows},
        )
        for each in other
    ]
    assert [task.task for task in tasks_of([*alike, *other])] == ["cycle_navigation", "even_pairs", "parity"]
    (named,) = not_tested(summaries([*alike, *other]))
    assert named.startswith("missing_duplicate at ")
    assert named.endswith("(5 runs)")
