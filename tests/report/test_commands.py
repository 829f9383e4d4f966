"""The commands of a report make the same runs again."""

import shlex
from typing import Any

import pytest

from semfocus.cli.options import parse_setting
from semfocus.report.commands import report_command, reruns, study_commands, train_command
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from semfocus.runs import RunSpec
from semfocus.runs.plan import Plan
from semfocus.studies import put
from tests.report.made_up import record_of
from tests.report.pages import Page

RATE = ["training.learning_rate"]


def parsed_back(command: str) -> RunSpec:
    """The spec that `semfocus train` would make of these words."""
    program, action, task, *options = shlex.split(command)
    assert (program, action) == ("semfocus", "train")
    values: dict[str, Any] = {"task": task}
    for option, value in zip(options[::2], options[1::2], strict=True):
        if option == "-s":
            put(values, *parse_setting(value))
        else:
            values[option.removeprefix("--")] = int(value) if option == "--seed" else value
    return RunSpec(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"task": "even_pairs"},
        {"task": "parity", "pattern": "top_k(5)+G1", "model": {"inverse_temperature": 10.0}},
        {"task": "listops", "training": {"length": [20, 30], "stop_at": 0.95, "learning_rate": 1e-5}},
        {
            "task": "missing_duplicate",
            "model": {"activation": "gelu", "first_norm_eps": 1e-3, "padding_takes_part": True},
            "training": {"learning_rate_scale": {"query_key": 3.1622776601683795}, "clip_norm": None},
        },
        {"task": "text:stdlib", "training": {"length": 20, "tokenizer": "bpe:400"}},
        {
            "task": "parity",
            "pretraining": {"task": "text:stdlib", "pattern": "top_k(5)", "training": {"epochs": 3}},
        },
    ],
    ids=["the paper's", "sharper", "lengths", "nested", "text", "pre-trained"],
)
def test_the_command_of_a_run_names_that_run(values: dict[str, Any]) -> None:
    spec = RunSpec(seed=7, **values)
    assert parsed_back(train_command({"spec": spec.model_dump(mode="json")})).digest == spec.digest


def tuned() -> list[dict[str, Any]]:
    """Each arm at a learning rate of its own."""
    specs = [
        RunSpec(task="even_pairs", pattern=pattern, seed=seed, training={"learning_rate": rate, "epochs": 20})
        for pattern, rate in (("full", 0.4), ("top_k(5)", 0.05))
        for seed in (1, 2)
    ]
    return [record_of(spec.model_dump(mode="json"), middle=9) | {"run": spec.digest} for spec in specs]


def test_arms_with_settings_of_their_own_say_them_and_repeat_them() -> None:
    records = tuned()
    page = Page(report_page(records, apart_from=RATE))
    commands = [text for text in page.texts if text.startswith("semfocus train")]
    assert {parsed_back(command).digest for command in commands} == {record["run"] for record in records}
    assert "learning_rate 0.4" in page.text
    assert "learning_rate 0.05" in page.text
    assert r"top\_k(5) (learning\_rate 0.05)" in report_text(records, apart_from=RATE)


def planned(*commands: str) -> list[Plan]:
    return [Plan("small", "Which?", command, [f"run{place}"]) for place, command in enumerate(commands)]


def test_one_command_for_a_study_that_was_run_seed_by_seed() -> None:
    """The store is a folder of whoever ran it."""
    plans = planned(
        "semfocus study small --seeds 235510766, --store /somewhere/else",
        "semfocus study small --seeds 153476998, --store=/somewhere/else",
    )
    (found,) = reruns(plans)
    assert found.command == "semfocus study small --seeds 2"
    assert found.runs == {"run0", "run1"}
    other = reruns(planned("semfocus study small --seeds 7, -s a=1", "semfocus study small --seeds 2 -s a=1"))
    assert [each.command for each in other] == ["semfocus study small -s a=1 --seeds 7,153476998,235510766"]
    apart = reruns(
        planned(
            "semfocus study small", "semfocus study small --seeds 7,", "semfocus study 'a b.py' --seeds 1,2"
        )
    )
    assert [each.command for each in apart] == [
        "semfocus study small",
        "semfocus study small --seeds 7,",
        "semfocus study 'a b.py' --seeds 1,2",
    ]


def test_a_command_that_cannot_be_read_stays_as_it_is() -> None:
    assert [each.command for each in reruns(planned("semfocus study 'never closed"))] == [
        "semfocus study 'never closed"
    ]


def test_the_command_of_a_task_is_the_studys_for_that_task_alone() -> None:
    plans = planned("semfocus study small --seeds 2 --store x", "semfocus study other --tasks parity")
    assert study_commands(plans, ["run0"], "marked_majority(3)") == [
        "semfocus study small --seeds 2 --tasks 'marked_majority(3)'"
    ]
    assert study_commands(plans, ["run1"], "parity") == ["semfocus study other --tasks parity"]
    assert study_commands(plans, ["run0"]) == ["semfocus study small --seeds 2"]


def test_the_command_of_the_report_names_the_study_if_there_is_one() -> None:
    plans = planned("semfocus study small", "semfocus study small --seeds 3")
    assert report_command([{"run": "run0"}], plans) == "semfocus report --study small"
    assert report_command([{"run": "run0"}, {"run": "unplanned"}], plans) == "semfocus report"
    assert report_command([], []) == "semfocus report"
