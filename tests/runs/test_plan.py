from pathlib import Path

from semfocus.runs.plan import Plan, read_plans, write_plan


def test_plans_are_read_as_written_and_once(store) -> None:
    plan = Plan("quick", "Which learns faster?", "semfocus study quick", ["b", "a"])
    assert read_plans(store) == []
    write_plan(store, plan)
    write_plan(store, plan)
    assert read_plans(store) == [plan]
    other = Plan("quick", "Which learns faster?", "semfocus study quick --seeds 5", ["b", "a", "c"])
    write_plan(store, other)
    assert read_plans(store) == [plan, other]


def test_one_study_in_other_words_is_one_plan_with_the_newest_words(store) -> None:
    write_plan(store, Plan("quick", "Which?", "semfocus study quick --seeds 2", ["a", "b"]))
    newest = Plan(
        "quick", "Which?", "semfocus study quick --seeds 8,9", ["b", "a"], ["training.learning_rate"]
    )
    write_plan(store, newest)
    assert read_plans(store) == [newest]
    old = store.path / "plans" / "quick-0123456789ab.json"  # as once named, after the whole text
    old.write_text((next((store.path / "plans").iterdir())).read_text(encoding="utf-8"))
    assert read_plans(store) == [newest]


def test_a_name_never_becomes_a_path(store) -> None:
    for name in ("../../out", "/etc/x", "..", "", "a" * 300, "<b>\u202e"):
        write_plan(store, Plan(name, "", "", []))
    assert {path.parent for path in store.path.rglob("*.json")} == {store.path / "plans"}
    assert {plan.name for plan in read_plans(store)} == {
        "../../out",
        "/etc/x",
        "..",
        "",
        "a" * 300,
        "<b>\u202e",
    }


def test_what_is_no_plan_is_passed_over(store) -> None:
    folder: Path = store.path / "plans"
    folder.mkdir(parents=True)
    for number, text in enumerate(
        (
            *("{", "[]", '{"name": "x"}', '{"name": "", "question": "", "command": "", "runs": 3}'),
            '{"name": 5, "question": "", "command": "", "runs": []}',
            '{"name": "", "question": null, "command": "", "runs": []}',
            '{"name": "", "question": "", "command": "", "runs": [], "own_settings": 4}',
        )
    ):
        (folder / f"{number}.json").write_text(text)
    assert read_plans(store) == []
    assert store.records() == []
