"""Focus mass and effective keys by layer before the target: planted numbers whose answer is known beforehand."""

import pytest

from semfocus.analysis.overview import arm_groups
from semfocus.analysis.plans import Analysis
from semfocus.analysis.why.break_conditions import break_conditions
from semfocus.analysis.why.focus_layers import carried, carrying_layer, is_idle, layers_text
from semfocus.analysis.why.masks import mask_tests
from semfocus.analysis.why.mediators import Mediation, Shift, focus_of_arms, mediations
from semfocus.analysis.why.ratio import dispersion_ratios
from semfocus.analysis.why.sweep import sweeps_over_k
from semfocus.report.figures import FIGURES
from semfocus.report.pages.study_page import report_page, study_pictures
from semfocus.report.palette import inks
from semfocus.report.why import why_sections
from semfocus.runs.plan import Plan
from semfocus.runs.record import Record
from tests.analysis.why.planted import EPOCHS, NEVER, record, row, tasks_of

SIX = (1, 2, 3, 4, 5, 6)
CHANCE = 0.1
LOOKS = (0, 20, 40, 60, 80, EPOCHS)
SHARPER = "full \N{MULTIPLICATION SIGN}10"


def layered(quantity: str, layer: int, values: dict[int, float], heads: int = 1) -> list[dict]:
    """Heads whose mean is the value; of two, one has a half more and the other a half less."""
    null = CHANCE if quantity == "focus_mass" else None
    spread = [1.0] if heads == 1 else [0.5, 1.5]
    return [
        row(quantity, value * factor, epoch, layer=layer, head=head, null=null)
        for epoch, value in values.items()
        for head, factor in enumerate(spread)
    ]


def run(
    seed: int,
    reached: float,
    focus: dict[int, float] | None,
    *,
    task: str = "even_pairs",
    keys: dict[int, float] | None = None,
    idle: bool = True,
    heads: int = 1,
    **more: float,
) -> Record:
    """Layer 1 has this focus; layer 2 never more than a little above chance, if it is idle."""
    keys = keys or dict.fromkeys(LOOKS, 10.0)
    rows = [
        *layered("effective_keys", 0, keys, heads),
        *layered("effective_keys", 1, dict.fromkeys(LOOKS, 39.0), heads),
    ]
    if focus is not None:
        second = dict.fromkeys(LOOKS, 1.4 * CHANCE if idle else 0.7)
        rows += layered("focus_mass", 0, focus, heads) + layered("focus_mass", 1, second, heads)
    return record(task, "full", seed, reached, along=rows, **more)


def rising(at_20: float, at_40: float = 0.9) -> dict[int, float]:
    return {0: CHANCE, 20: at_20, 40: at_40, 60: 0.9, 80: 0.9, EPOCHS: 0.9}


def planted(seeds: tuple[int, ...] = SIX, task: str = "even_pairs", **more: bool) -> list[Record]:
    """Sharper attention has 0.1 more focus at epoch 20, a hundredth more on each seed; one of its runs learns
    at epoch 30.
    """
    records = []
    for seed in seeds:
        records.append(run(seed, 60 + seed, rising(0.2), task=task, **more))
        sharper = rising(0.3 + seed / 100)
        records.append(run(seed, 29 + seed, sharper, task=task, temperature=10.0, **more))
    return records


def shifts(found: Mediation) -> dict[tuple[int, str], Shift | None]:
    return {(each.layer, each.when): each.focus for each in found.layers}


def test_an_arm_is_held_against_its_baseline_before_either_has_learned() -> None:
    (found,) = mediations(tasks_of(planted()))
    assert (found.arm, found.baseline) == (SHARPER, "full")
    assert found.speedup is not None
    assert found.speedup.num_pairs == 6
    early = shifts(found)[0, "early"]
    assert early is not None
    (task,) = early.tasks
    assert (task.epoch, task.chance) == (20, CHANCE), "at 40 the first of its runs had learned"
    assert (early.base, early.arm) == (pytest.approx(0.2), pytest.approx(0.335))
    assert early.difference == pytest.approx(0.135)
    # six differences 0.11 ... 0.16: the only sign pattern as far from 0 is the one with all signs turned
    assert (early.p, early.side, early.num_pairs) == (2 / 2**6, "more", 6)
    assert (early.low, early.high) == (pytest.approx(0.11), pytest.approx(0.16))
    start = shifts(found)[0, "start"]
    assert start is not None
    assert (start.tasks[0].epoch, start.difference, start.side) == (0, 0.0, "unclear")
    assert found.main == (found.layers[1], early)


def test_heads_of_a_layer_count_by_their_mean() -> None:
    (one,), (two,) = (mediations(tasks_of(planted(heads=heads))) for heads in (1, 2))
    first, second = shifts(one)[0, "early"], shifts(two)[0, "early"]
    assert first is not None
    assert second is not None
    assert second.difference == pytest.approx(first.difference)
    assert second.tasks[0].chance == CHANCE


def test_an_idle_layer_dilutes_nothing_and_is_named() -> None:
    (found,) = mediations(tasks_of(planted()))
    assert {each.layer: each.idle for each in found.layers} == {0: [], 1: ["even_pairs"]}
    assert shifts(found)[1, "start"] is None
    mixed = [*planted(), *planted(task="missing_duplicate", idle=False)]
    (both,) = mediations(tasks_of(mixed))
    second = shifts(both)[1, "early"]
    assert second is not None
    assert [each.task for each in second.tasks] == ["missing_duplicate"], "where it works it counts"
    first = shifts(both)[0, "early"]
    assert first is not None
    assert (len(first.tasks), first.num_pairs) == (2, 12)


def test_tasks_count_the_same_however_many_seeds_they_have() -> None:
    (found,) = mediations(tasks_of([*planted((1, 2, 3, 4)), *planted((6,), task="missing_duplicate")]))
    early = shifts(found)[0, "early"]
    assert early is not None
    assert early.difference == pytest.approx(((0.11 + 0.12 + 0.13 + 0.14) / 4 + 0.16) / 2)
    assert early.low is None, "five pairs have no limits"
    assert early.side == "unclear"


def test_contrasts_that_are_asked_for_and_arms_that_were_not_measured() -> None:
    records = planted()
    tasks = tasks_of(records)
    assert [each.arm for each in mediations(tasks, [("full", SHARPER), ("top_k(5)", "full")])] == ["full"]
    bare = [Record({**each, "probes": []}) for each in records]
    without = [one if one["spec"]["seed"] > 2 else each for one, each in zip(bare, records, strict=True)]
    (found,) = mediations(tasks_of(without))
    early = shifts(found)[0, "early"]
    assert early is not None
    assert list(early.tasks[0].arm) == [1, 2]
    assert found.speedup is not None
    assert found.speedup.num_pairs == 6, "of all runs"


def test_arms_are_held_against_full_in_the_layers_that_carry_focus() -> None:
    """Layer 2 of full attention and layer 1 of top-k: layer by layer one has eight times the focus of the other."""
    tasks = tasks_of(carried_by_different_layers())
    found = {each.arm: each for each in focus_of_arms(tasks)}
    assert list(found) == ["top_k(1)", "top_k(5)", "top_k(9)"]
    for each in found.values():
        start = each.focus("start")
        assert start is not None
        assert (start.base, start.arm, start.num_pairs) == (pytest.approx(0.8), pytest.approx(0.8), 6)
        assert each.focus("early") is None, "they were measured before and after training alone"
        ((task, ratio, race),) = each.points("start")
        assert (task, ratio) == ("even_pairs", pytest.approx(1.0))
        assert race.ratio is not None
        assert race.ratio > 2
    assert focus_of_arms(tasks_of([run(seed, 60, None, task="listops") for seed in SIX])) == []
    frame = FIGURES["focus-and-speedup"].of(list(found.values())).frame
    assert frame["panel"].unique().to_list() == ["focus and speedup, untrained"]
    assert frame["x"].to_list() == pytest.approx([1.0] * 3)


def test_a_run_that_stopped_at_its_target_keeps_its_last_value_in_the_median() -> None:
    """Two of three runs stop at epochs 30 and 50, between two looks: their last looks are no places for a median."""
    records = []
    for seed, end in ((1, 30), (2, 50), (3, EPOCHS)):
        looks = [*(epoch for epoch in LOOKS if epoch < end), end]
        focus = {epoch: 0.2 + seed / 10 if epoch == end else 0.1 + epoch / 1000 for epoch in looks}
        whole = run(seed, end, focus, keys=dict.fromkeys(looks, 10.0))
        curve = {name: values[: end + 1] for name, values in whole["curve"].items()}
        records.append(Record({**whole, "curve": curve}, measurements=whole.measurements))
    records += [run(seed, 60, rising(0.2), temperature=10.0) for seed in (1, 2, 3)]
    stopped = [
        Record(
            {**each, "spec": {**each.spec, "training": {**each.spec["training"], "stop_at": 0.95}}},
            measurements=each.measurements,
        )
        for each in records
    ]
    frame = study_pictures(Analysis.of(stopped))["why-focus-along"].frame
    own = frame.filter((frame["arm"] == "full") & (frame["panel"] == "focus mass, layer 1"))
    medians = own.filter(own["member"].is_null())
    by_epoch = dict(zip(medians["x"], medians["value"], strict=True))
    # at 40 the runs have 0.3 (kept), 0.14 and 0.14; from 60 on 0.3, 0.4 and their own
    assert by_epoch == pytest.approx({0: 0.1, 20: 0.12, 40: 0.14, 60: 0.3, 80: 0.3, EPOCHS: 0.4})
    first = own.filter(own["member"] == "1")
    assert first["x"].to_list() == [0, 20, 30], "its own line ends where it ended"
    assert first["value"].to_list() == pytest.approx([0.1, 0.12, 0.3])


def test_without_tokens_that_decide_there_are_keys() -> None:
    fewer = dict.fromkeys(LOOKS, 10.0) | {20: 4.0}
    records = [run(seed, 60, None, task="listops") for seed in SIX]
    records += [run(seed, 30, None, task="listops", keys=fewer, temperature=10.0) for seed in SIX]
    (found,) = mediations(tasks_of(records))
    assert found.main is not None
    layer, shift = found.main
    assert (layer.focus, shift, layer.layer) == (None, layer.keys, 0)
    assert (shift.difference, shift.side) == (-6.0, "less")
    assert [each.idle for each in found.layers if each.layer == 1] == [["listops"]], "its keys never change"


def test_a_run_that_learns_before_the_second_look_has_numbers_of_the_untrained_model_alone() -> None:
    records = planted()
    records[1] = run(1, 10, rising(0.9), temperature=10.0)
    (found,) = mediations(tasks_of(records))
    assert {each.when for each in found.layers} == {"start"}


def test_nothing_is_said_where_nothing_was_measured_by_layer() -> None:
    pooled = [record("even_pairs", "full", seed, 60, [row("effective_keys", 9.0, 0)]) for seed in SIX]
    assert mediations(tasks_of(pooled)) == []
    assert mediations([]) == []
    only_full = [each for each in planted() if each["spec"]["model"]["inverse_temperature"] == 1]
    assert mediations(tasks_of(only_full)) == []
    for records in (pooled, only_full):
        analysis = Analysis.of(records)
        sections = why_sections(analysis, inks(arm_groups(analysis.summaries)))
        blocks = [each for why in sections for each in why.blocks]
        assert "focus" not in [each.name for each in blocks]


def test_the_layer_that_carries_focus() -> None:
    (task,) = tasks_of(planted())
    runs = list(task.of("full").values())
    assert {carrying_layer(each) for each in runs} == {0}
    assert layers_text(runs) == "layer 1"
    assert is_idle(runs, 1)
    assert not is_idle(runs, 0)
    assert not is_idle([], 0), "nothing is known"
    (never,) = tasks_of([run(1, NEVER, rising(0.2, 0.9)), run(2, NEVER, dict.fromkeys(LOOKS, 0.05))])
    first, second = never.of("full").values()
    assert (carrying_layer(first), carrying_layer(second)) == (0, 1)
    assert layers_text([first, second, first]) == "layer 1 (2 of 3 seeds), layer 2 (1 of 3 seeds)"
    assert carried(first, "effective_keys", "end", "mean") == 10.0
    assert carried(second, "effective_keys", "end", "mean") == 39.0


def turned_round() -> tuple[list[Record], Plan]:
    """The planted runs, and a plan that holds full attention against sharper."""
    records = planted()
    names = [each.run for each in records]
    return records, Plan("mine", "", "semfocus study mine", names, contrasts=[["full", SHARPER]])


def test_page_and_figure_show_it_with_the_contrasts_of_the_plan() -> None:
    """The text is in tests/golden/why_by_layer.txt."""
    records, plan = turned_round()
    (found,) = (each for own in Analysis.of(records, [plan]).mediations.values() for each in own)
    assert (found.arm, found.baseline) == ("full", SHARPER)
    early = shifts(found)[0, "early"]
    assert early is not None
    assert (early.arm, early.base) == (pytest.approx(0.2), pytest.approx(0.335))
    assert (early.side, early.num_pairs, len(early.tasks)) == ("less", 6, 1)
    assert f"full vs {SHARPER}" in report_page(records, plans=[plan])
    picture = study_pictures(Analysis.of(records))["why-focus-along"]
    assert picture.frame["panel"].unique().to_list() == ["focus mass, layer 1"], "the idle layer is not drawn"
    medians = picture.frame.filter(picture.frame["member"].is_null())
    assert medians.filter(medians["arm"] == "full")["value"].to_list() == [0.1, 0.2, 0.9, 0.9, 0.9, 0.9]
    assert set(medians["null"].drop_nulls()) == {CHANCE}
    assert sorted(medians["moment"].drop_nulls()) == [32.5, 63.5]


def two_layers(
    seed: int, pattern: str, busy: int, dispersion: float, agreement: float, reached: float
) -> Record:
    """One layer carries focus; in the other, which is idle, everything is far off, and so it is in both together."""
    rows = []
    for epoch in (0, EPOCHS):
        for layer in (0, 1):
            own = layer == busy
            place = {"layer": layer, "head": 0, "epoch": epoch}
            rows.append(row("focus_mass", 0.8 if own else CHANCE, null=CHANCE, **place))
            rows.append(row("effective_keys", 3.0 if own else 39.0, **place))
            rows.append(row("dispersion", dispersion if own else 100.0, **place))
            rows.append(row("separation", 2.0 if own else 1e-3, **place))
            rows.append(row("mask_agreement_0.01", agreement if own else 0.1, **place))
        pooled = (
            ("dispersion", 50.0),
            ("separation", 0.5),
            ("mask_agreement_0.01", 0.5),
            ("effective_keys", 20.0),
        )
        rows += [row(quantity, value, epoch) for quantity, value in pooled]
    return record("even_pairs", pattern, seed, reached, rows)


def carried_by_different_layers() -> list[Record]:
    """Layer 2 of full attention carries focus, layer 1 of top-k at three sizes."""
    records = [two_layers(seed, "full", 1, 10.0, 1.0, 60) for seed in SIX]
    for k, dispersion, agreement in ((1, 2.0, 0.97), (5, 4.0, 0.95), (9, 8.0, 0.93)):
        records += [two_layers(seed, f"top_k({k})", 0, dispersion, agreement, 20 + k) for seed in SIX]
    return records


def test_mechanism_tests_are_about_the_layer_that_carries_focus_and_name_it() -> None:
    """The sentences that name it are in tests/golden/why_by_layer.txt."""
    records = carried_by_different_layers()
    tasks = tasks_of(records)
    assert set(dispersion_ratios(tasks[0], "top_k(5)", "end", False).values()) == {0.4}
    by_name = {each.name: each.tasks[0] for each in break_conditions(tasks)}
    assert by_name["dispersion"].verdict == by_name["separation"].verdict == "not met"
    assert by_name["dispersion"].numbers.endswith("; layer 2 of full, layer 1 of top_k(5)")
    assert by_name["separation"].numbers.endswith("95.0%; layer 1 of top_k(5)")
    (sweep,) = sweeps_over_k(tasks)
    assert [(step.dispersion, step.mask_agreement) for step in sweep.steps] == [
        (2.0, 0.97),
        (4.0, 0.95),
        (8.0, 0.93),
    ]
    stays = next(
        test for test in mask_tests(tasks) if (test.quantity, test.when) == ("mask_agreement_0.01", "end")
    )
    assert {value for _, value in stays.points} == {0.97, 0.95, 0.93}


def test_another_pattern_on_the_same_scores_is_taken_in_the_same_layer() -> None:
    other = {"pattern": "top_k(5)", "counterfactual": True}
    extra = [
        row("dispersion", 1.0, layer=0, head=0, **other),
        row("dispersion", 6.0, layer=1, head=0, **other),
    ]
    records = [two_layers(seed, "full", 1, 10.0, 1.0, 60) for seed in SIX]
    records = [
        Record(
            {**each},
            measurements={"inside": [*each.measured("inside"), *extra, row("dispersion", 99.0, **other)]},
        )
        for each in records
    ]
    (task,) = tasks_of(records)
    assert set(dispersion_ratios(task, "top_k(5)", "end", True).values()) == {0.6}
