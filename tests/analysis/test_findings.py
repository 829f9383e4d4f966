"""Findings over tasks and on each: contrasts, the order of tests, other targets."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

import pytest

from semfocus.analysis.findings import Contrast, Finding, findings_of
from semfocus.analysis.sentences import fragile_sentence, pooled_sentence
from semfocus.analysis.statistics.sequential import IntervalLevel
from semfocus.analysis.summaries import TaskSummary, analyse
from tests.analysis.records import CASES, arm, record

FULL = [40, 47, 58, 44, 50, 42]
TASKS = ("even_pairs", "parity", "cycle_navigation")
PRIMARY = ("top_k(5)", "full")


def study(tasks: tuple[str, ...] = TASKS, num: int = 6, **arms: list[int | None]) -> list[dict]:
    """The arms `full`, `top_k`, `sharp`, `banded` on every task."""
    names = {
        "full": ("full", 1.0),
        "top_k": ("top_k(5)", 1.0),
        "sharp": ("full", 4.0),
        "banded": ("banded(5)", 1.0),
    }
    return [
        each
        for task in tasks
        for name, epochs in arms.items()
        for each in arm(names[name][0], epochs[:num], task=task, inverse_temperature=names[name][1])
    ]


def over_tasks(records: list[dict], *contrasts: tuple[str, str]) -> dict[Contrast, Finding]:
    found = findings_of(analyse(records), contrasts)
    return {each.contrast: each for each in found if each.task is None}


def test_every_arm_against_full_over_tasks_and_on_each() -> None:
    found = findings_of(analyse(study(full=FULL, top_k=[7, 7, 13, 8, 9, 8], banded=[None] * 6)))
    assert [(each.contrast.arm, each.task is None) for each in found[:2]] == [
        ("top_k(5)", True),
        ("banded(5)", True),
    ]
    assert len(found) == 2 + 2 * len(TASKS)
    pooled = found[0]
    assert (pooled.verdict, pooled.num_pairs, pooled.num_tasks, pooled.is_primary) == ("faster", 18, 3, False)
    assert pooled.p_adjusted == pytest.approx(2 * pooled.p)
    assert found[1].verdict == "slower"
    assert found[1].bound == "at most"
    assert pooled.on_average is not None
    assert pooled.new_task is not None


def test_one_task_has_no_finding_over_tasks() -> None:
    found = findings_of(analyse(study(("parity",), full=FULL, top_k=[7] * 6)), [PRIMARY])
    assert [(each.task, each.is_primary, each.verdict) for each in found] == [("parity", True, "faster")]
    assert (found[0].on_average, found[0].new_task) == (None, None)


def test_a_contrast_between_two_arms_that_are_not_the_baseline() -> None:
    records = study(full=FULL, top_k=[20] * 6, sharp=[10, 11, 9, 10, 12, 10])
    contrast = Contrast("full ×4", "top_k(5)")
    found = findings_of(analyse(records), [PRIMARY, contrast])
    assert [each.contrast for each in found if each.task is None] == [PRIMARY, contrast]
    assert [each.verdict for each in found if each.contrast == contrast] == ["faster"] * 4


def test_the_others_wait_until_the_primary_contrast_is_decided() -> None:
    """Sharper full attention is far ahead of full; top-k scatters around it."""
    unclear = [20, 90, 30, 80, 45, 44]
    records = study(full=FULL, top_k=unclear, sharp=[4] * 6)
    sharp = ("full ×4", "full")
    assert over_tasks(records, PRIMARY, sharp)[Contrast(*sharp)].verdict == "undecided"
    first = over_tasks(records, sharp, PRIMARY)
    assert first[Contrast(*sharp)].verdict == "faster"
    assert first[Contrast(*sharp)].p_adjusted is None
    assert first[Contrast(*PRIMARY)].p_adjusted == first[Contrast(*PRIMARY)].p


def test_tasks_that_neither_arm_learned_are_left_out_and_settings_are_not_pooled() -> None:
    learned = study(full=FULL, top_k=[7] * 6)
    nobody = study(("stack_manipulation",), full=[None] * 6, top_k=[None] * 6)
    assert over_tasks([*learned, *nobody], PRIMARY)[Contrast(*PRIMARY)].num_tasks == 3
    wider = study(("parity", "listops"), full=FULL, top_k=[40] * 6)
    for each in wider:
        each["spec"]["model"]["d_model"] = 128
    found = [each for each in findings_of(analyse([*learned, *wider]), [PRIMARY]) if each.task is None]
    assert sorted(each.num_tasks for each in found) == [2, 3]


def test_no_difference_is_a_result() -> None:
    found = over_tasks(study(full=FULL, top_k=[41, 46, 58, 45, 49, 42]), PRIMARY)[Contrast(*PRIMARY)]
    assert found.verdict == "equivalent"
    assert "within a factor of 1.25" in pooled_sentence(found)


def test_a_verdict_that_hangs_on_the_target_says_so() -> None:
    """Both reach 90 % together; at 95 % top-k is ahead, at 99 % behind."""
    records = []
    for seed in range(8):
        for pattern, at_95, at_99 in (("full", 40, 42), ("top_k(5)", 20 + seed % 2, 58)):
            run = record(pattern, seed)
            run["curve"]["train_accuracy"] = [
                1.0 if epoch >= at_99 else 0.96 if epoch >= at_95 else 0.91 if epoch >= 10 else 0.5
                for epoch in range(61)
            ]
            records.append(run)
    (found,) = findings_of(analyse(records), [PRIMARY])
    assert found.verdict == "faster"
    verdicts = {each.target: each.verdict for each in found.targets}
    assert verdicts == {
        "80 %": "equivalent",
        "90 %": "equivalent",
        "99 %": "slower",
        "95 % sustained for 5 evaluations": "faster",
    }
    assert found.changes == ["equivalent at 80 %", "equivalent at 90 %", "slower at 99 %"]
    assert "slower at 99 %" in fragile_sentence(found)


def test_a_sustained_target_is_the_first_of_five_looks() -> None:
    """Above 95 % at epoch 5 for three looks, and from epoch 20 on."""
    records = [*arm("full", [30] * 6)]
    for seed in range(6):
        run = record("top_k(5)", seed, 20)
        run["curve"]["train_accuracy"][5:8] = [0.97] * 3
        records.append(run)
    (found,) = findings_of(analyse(records))
    sustained = next(each for each in found.targets if "sustained" in each.target)
    assert found.ratio == pytest.approx(6)
    assert sustained.ratio == pytest.approx(1.5)


def test_targets_that_stopped_runs_cannot_show() -> None:
    records = [
        *arm("full", [30] * 6, training={"stop_at": 0.95}),
        *arm("top_k(5)", [10] * 6, training={"stop_at": 0.95}),
    ]
    (found,) = findings_of(analyse(records))
    why = {each.target: each.why for each in found.targets}
    assert why["99 %"] == why["95 % sustained for 5 evaluations"] == "not measured (stopped at 95 %)"
    assert why["90 %"] == ""
    assert found.changes == []


def test_a_stricter_level_widens_the_intervals() -> None:
    records = study(full=FULL, top_k=[30, 40, 41, 33, 41, 37])
    usual, strict = (
        next(
            each
            for each in findings_of(
                analyse(records, level=lambda _, alpha=alpha: IntervalLevel(alpha)), [PRIMARY]
            )
            if each.task is None
        )
        for alpha in (0.05, 1 / 32)
    )
    assert strict.low < usual.low
    assert strict.high > usual.high


#: case -> arm -> verdict, ratio, pairs of seeds
SHOWN: dict[str, dict[str, tuple[str, float | None, int]]] = {
    "five seeds": {"top_k(5)": ("faster", 5.56, 5)},
    "three seeds": {"top_k(5)": ("undecided", 5.71, 3), "banded(5)": ("undecided", 0.78, 3)},
    # ratios that happen to agree make a narrow interval, and are no verdict
    "two seeds that agree": {"banded(5)": ("undecided", 1.12, 2), "full ×4": ("undecided", 1.74, 2)},
    "one seed": {"top_k(5)": ("undecided", 5.71, 1)},
    "an arm with too few seeds": {
        "top_k(5)": ("faster", 8.0, 5),
        "top_k(9)": ("undecided", 20.25, 2),
        "banded(5)": ("slower", 0.71, 5),
    },
    "the largest estimate is unsure": {"full ×4": ("faster", 2.08, 5), "full ×10": ("undecided", 16.67, 5)},
    "full never arrives": {"top_k(5)": ("faster", 8.57, 5)},
    "nothing but a slower arm": {"banded(5)": ("slower", 0.26, 5)},
    "full alone arrives": {"top_k(5)": ("slower", 0.18, 5)},
    "full alone arrives, one seed": {"top_k(5)": ("undecided", 0.17, 1)},
    "nobody arrives": {"top_k(5)": ("undecided", None, 3)},
    "no baseline": {},
    "nothing but the baseline": {},
    "no seed in common": {},
    "runs that diverged": {"top_k(5)": ("undecided", 8.57, 3)},
    # looked at for 10 epochs, full needs at least 0.25 times the 40 of top_k: that may be 0.3 or 30
    "ended too early": {"top_k(5)": ("undecided", 0.24, 3)},
}


def summary_of(*arms: list[dict]) -> TaskSummary:
    (summary,) = analyse([each for records in arms for each in records])
    return summary


@pytest.mark.parametrize("case", SHOWN)
def test_who_was_faster_by_how_much_and_on_how_many_seeds(case: str) -> None:
    found = findings_of([summary_of(*CASES[case])])
    assert {each.contrast.arm: (each.verdict, each.num_pairs) for each in found} == {
        label: (verdict, num) for label, (verdict, _, num) in SHOWN[case].items()
    }
    for each in found:
        expected = SHOWN[case][each.contrast.arm][1]
        assert each.ratio == (None if expected is None else pytest.approx(expected, abs=0.006))


def test_an_only_task_has_an_order_of_tests_too() -> None:
    """The primary contrast is undecided: what lies behind it is not tested."""
    records = study(("parity",), full=FULL, top_k=[20, 90, 30, 80, 45, 44], sharp=[4] * 6)
    sharp = Contrast("full ×4", "top_k(5)")
    found = {each.contrast: each for each in findings_of(analyse(records), [PRIMARY, sharp])}
    assert found[Contrast(*PRIMARY)].verdict == "undecided"
    assert found[sharp].verdict == "undecided"
    assert found[sharp].p_adjusted == found[sharp].p
    assert found[Contrast("full ×4", "full")].verdict == "faster"  # nobody asked in advance


def test_a_primary_contrast_that_was_not_run_opens_nothing() -> None:
    records = study(full=FULL, sharp=[4] * 6)
    sharp = Contrast("full ×4", "full")
    assert over_tasks(records, PRIMARY, sharp)[sharp].verdict == "undecided"


def test_equivalence_of_the_primary_contrast_opens_nothing() -> None:
    """It is no rejection: under "no difference anywhere" the others would otherwise err in another 5 %."""
    records = study(full=FULL, top_k=[41, 46, 58, 45, 49, 42], sharp=[4] * 6)
    sharp = Contrast("full ×4", "full")
    found = over_tasks(records, PRIMARY, sharp)
    assert (found[Contrast(*PRIMARY)].verdict, found[sharp].verdict) == ("equivalent", "undecided")
    assert found[sharp].changes == []  # the same at every target, before any correction


def test_no_verdict_while_runs_go_on() -> None:
    records = study(full=FULL, top_k=[4] * 6)
    records[-1]["state"] = "running"
    found = findings_of(analyse(records), [PRIMARY])
    assert {each.verdict for each in found if each.task in (None, "cycle_navigation")} == {"undecided"}
    assert {each.verdict for each in found if each.task in ("even_pairs", "parity")} == {"faster"}


def test_a_run_that_was_there_at_its_last_looks_may_have_stayed() -> None:
    """Above 95 % from epoch 58 of 60 on: not sustained for five looks, and later than 57 is all that is known."""
    records = [*arm("full", [58] * 6), *arm("top_k(5)", [20] * 6)]
    (found,) = findings_of(analyse(records))
    sustained = next(each for each in found.targets if "sustained" in each.target)
    assert sustained.ratio == pytest.approx(57 / 20)
    assert sustained.bound == "at least"
