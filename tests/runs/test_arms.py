"""Which runs are compared with which."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

import random

import pytest

from semfocus.analysis.comparisons import comparisons
from semfocus.runs.arms import GROUPS, arm_of
from tests.analysis.records import arm, record


@pytest.mark.parametrize(
    ("pattern", "temperature", "label", "group"),
    [
        ("full", 1.0, "full", "baseline"),
        ("full", 4.0, "full ×4", "sharper full attention"),
        ("full", 0.5, "full ×0.5", "control"),
        ("full+G1", 1.0, "full+G1", "control"),
        ("top_k(5)", 1.0, "top_k(5)", "input-dependent"),
        ("top_k(5)", 10.0, "top_k(5) ×10", "input-dependent"),
        ("top_p(0.9)", 1.0, "top_p(0.9)", "input-dependent"),
        ("banded(5)+G1", 1.0, "banded(5)+G1", "input-agnostic"),
        ("block_local(5)", 10.0, "block_local(5) ×10", "input-agnostic"),
        ("bottom_k(5)", 1.0, "bottom_k(5)", "control"),
        ("random(5,fixed)", 1.0, "random(5,fixed)", "control"),
        ("nearest(3)", 1.0, "nearest(3)", "user-defined"),
    ],
)
def test_label_and_group(pattern: str, temperature: float, label: str, group: str) -> None:
    found = arm_of({"pattern": pattern, "model": {"inverse_temperature": temperature}})
    assert (found.label, found.group) == (label, group)
    assert group in GROUPS


@pytest.mark.parametrize(
    ("model", "training", "label"),
    [
        ({"inverse_temperature": 10.0, "score_gradient": 0.1}, {}, "full ×10 gradient ÷10"),
        ({"score_gradient": 2.0, "score_clip": None}, {}, "full gradient ×2"),
        ({"score_clip": 0.5}, {}, "full clipped at 0.5"),
        ({"match_entropy": "top_k(5)"}, {}, "full entropy of top_k(5)"),
        ({"initial_scale": {"query_key": 3.1623, "mlp": 1.0}}, {}, "full q/k start ×3.1623"),
        ({"score_clip": 1.0}, {"learning_rate_scale": {"query_key": 10.0}}, "full clipped at 1 q/k rate ×10"),
    ],
)
def test_controls_are_in_the_label_and_in_a_group_of_their_own(
    model: dict[str, object], training: dict[str, object], label: str
) -> None:
    found = arm_of({"pattern": "full", "model": model, "training": training})
    assert (found.label, found.group) == (label, "control")
    assert arm_of({"pattern": "top_k(5)", "model": model, "training": training}).group == "control"


def test_arms_with_controls_are_compared_with_the_baseline() -> None:
    records = [
        *arm("full", [9, 9]),
        *arm("full", [9, 9], model={"score_clip": 1.0}),
        *arm("full", [9, 9], model={"score_gradient": 1.0}),  # as older and newer records may say it
    ]
    (found,) = comparisons(records)
    assert {label: len(own) for label, own in found.arms.items()} == {"full": 2, "full clipped at 1": 2}


def test_groups_are_the_families_of_the_patterns() -> None:
    from semfocus.mechanisms.catalog import BUILT_IN, PATTERNS

    for name in BUILT_IN - {"full"}:
        assert arm_of({"pattern": f"{name}(5)"}).group == PATTERNS[name].family


def test_runs_that_differ_in_anything_else_are_not_compared() -> None:
    records = [
        *arm("full", [1, 2]),
        *arm("top_k(5)", [1, 2]),
        *arm("full", [3], training={"learning_rate": 0.3}),
        *arm("full", [3], task="parity"),
        *arm("full", [3], results_version=1),
    ]
    found = comparisons(records)
    assert [(each.task, list(each.arms), len(each.arms["full"])) for each in found] == [
        ("even_pairs", ["full", "top_k(5)"], 2),
        ("even_pairs", ["full"], 1),
        ("even_pairs", ["full"], 1),
        ("parity", ["full"], 1),
    ]
    assert {each.setting.get("training.learning_rate") for each in found} == {None, 0.3}


def test_arms_come_by_group_and_number() -> None:
    records = [
        record("random(5)"),
        record("top_k(15)"),
        record("top_k(5)"),
        record("full", inverse_temperature=10.0),
        record("full", inverse_temperature=4.0),
        record("banded(5)"),
        record("full"),
    ]
    (found,) = comparisons(records)
    assert list(found.arms) == [
        "full",
        "top_k(5)",
        "top_k(15)",
        "banded(5)",
        "full ×4",
        "full ×10",
        "random(5)",
    ]
    assert list(found.groups) == list(found.arms)


def test_the_order_of_records_changes_nothing() -> None:
    records = [
        *arm("full", [4, 5, 6]),
        *arm("top_k(5)", [1, 2, 3]),
        *arm("full", [7], task="parity"),
        *arm("banded(5)", [1], training={"epochs": 9}),
    ]
    expected = comparisons(records)
    for number in range(5):
        random.Random(number).shuffle(records)
        assert comparisons(records) == expected
    assert [each["spec"]["seed"] for each in expected[0].arms["full"]] == [0, 1, 2]


def test_a_run_that_is_given_twice_counts_once() -> None:
    """From two stores, say, one of which has only its beginning."""
    beginning = record("full", 3, last=5, state="unfinished")
    whole = record("full", 3, 40)
    for records in ([beginning, whole], [whole, beginning]):
        assert comparisons(records)[0].arms == {"full": [whole]}


def test_what_cannot_be_read_belongs_nowhere() -> None:
    assert comparisons([{"run": "x", "spec": {}, "state": "corrupt", "reason": "damaged"}]) == []
    assert comparisons([]) == []


def test_arms_may_have_settings_of_their_own_where_the_caller_says_so() -> None:
    own = "training.learning_rate"
    records = [
        *arm("full", [4, 5], training={"learning_rate": 0.1}),
        *arm("top_k(5)", [4, 5], training={"learning_rate": 0.3}),
    ]
    assert len(comparisons(records)) == 2
    (found,) = comparisons(records, apart_from=[own])
    assert found.arm_settings == {"full": {own: 0.1}, "top_k(5)": {own: 0.3}}
    assert own not in found.setting
    with pytest.raises(ValueError, match=r"even_pairs, full: runs with .*0\.1.* and with .*0\.9"):
        comparisons([*records, record("full", 9, training={"learning_rate": 0.9})], apart_from=[own])


def test_a_pattern_from_a_file_is_compared_with_plain_runs_and_each_text_of_the_file_is_an_arm() -> None:
    own = [record("mine(5)", seed, 5, recipe=digest) for digest in ("a" * 64, "b" * 64) for seed in (1, 2)]
    (found,) = comparisons([*(record("full", seed, 9, recipe=None) for seed in (1, 2)), *own])
    assert {label: len(runs) for label, runs in found.arms.items()} == {
        "full": 2,
        "mine(5) [aaaaaa]": 2,
        "mine(5) [bbbbbb]": 2,
    }
    assert "recipe" not in found.setting
    (one,) = comparisons([record("full", 1, 9, recipe=None), own[0]])
    assert list(one.arms) == ["full", "mine(5)"]


def test_a_task_from_a_file_is_another_task_under_another_text() -> None:
    records = [
        record(pattern, 1, 9, recipe=digest)
        for digest in ("a" * 64, "b" * 64)
        for pattern in ("full", "mine(5)")
    ]
    found = comparisons(records)
    assert [list(each.arms) for each in found] == [["full", "mine(5)"]] * 2
    assert [each.setting["recipe"] for each in found] == ["a" * 64, "b" * 64]
