"""A report of a whole store compares the runs of each study as that study meant them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semfocus.analysis.overview import sweeps
from semfocus.analysis.plans import analyse_planned
from semfocus.cli.app import app
from semfocus.report.pages.study_page import report_page
from semfocus.runs import open_store
from semfocus.runs.plan import Plan, write_plan
from tests.report.made_up import PAPER_SEEDS, record_of, spec_of
from tests.report.pages import Page

Records = list[dict[str, Any]]
OWN = ["training.learning_rate"]


def runs(rates: dict[str, float], seeds: tuple[int, ...]) -> Records:
    return [
        record_of(
            spec_of("even_pairs", pattern, seed, training__learning_rate=rate), middle=2 / rate, noise=0.001
        )
        for pattern, rate in rates.items()
        for seed in seeds
    ]


def planned(name: str, records: Records, own: list[str]) -> Plan:
    return Plan(name, "?", f"semfocus study {name}", [record["run"] for record in records], own)


SEARCH = [
    record for rate in (0.1, 0.2, 0.4) for record in runs({"full": rate, "top_k(5)": rate}, PAPER_SEEDS[8:])
]
TUNED = runs({"full": 0.2, "top_k(5)": 0.4}, PAPER_SEEDS[:6])
PLAIN = runs({"full": 0.2, "top_k(5)": 0.2}, PAPER_SEEDS[:3])
#: full at 0.2 belongs to both studies
STORE = list({record["run"]: record for record in (*SEARCH, *TUNED, *PLAIN)}.values())
PLANS = [
    planned("tuned_search", SEARCH, OWN),
    planned("tuned", [record for record in TUNED if record["spec"]["seed"] in PAPER_SEEDS[:2]], OWN),
    planned("tuned", TUNED, OWN),
    planned("plain", PLAIN, []),
]


def test_arms_with_settings_of_their_own_are_compared_and_the_rest_as_ever() -> None:
    found = analyse_planned(STORE, PLANS)
    own = [each for each in found if each.comparison.arm_settings]
    assert [each.comparison.arm_settings["top_k(5)"] for each in own] == [{OWN[0]: 0.4}]
    assert [arm.total for arm in own[0].arms] == [6, 6]
    others = {each.comparison.setting.get(OWN[0], 0.1): each for each in found if each not in own}
    assert others.keys() == {0.1, 0.2, 0.4}
    assert [arm.total for arm in others[0.2].arms] == [5, 5], "three of `plain` and two of the search"
    assert [arm.total for arm in others[0.4].arms] == [2, 2], "those of `tuned` stand with their own study"


def test_without_plans_it_is_the_ordinary_analysis() -> None:
    assert not any(each.comparison.arm_settings for each in analyse_planned(STORE, []))


def test_a_comparison_without_one_value_is_no_step_of_a_sweep() -> None:
    steps = [value for sweep in sweeps(analyse_planned(STORE, PLANS)) for value, _ in sweep.steps]
    assert steps == [0.1, 0.2, 0.4]


def test_the_page_of_the_store_has_both() -> None:
    page = Page(report_page(STORE, plans=PLANS))
    assert "each arm at its own learning_rate" in page.text
    assert "even_pairs , by training.learning_rate" in page.text


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for record in STORE:
        folder = tmp_path / record["run"]
        folder.mkdir()
        (folder / "spec.json").write_text(json.dumps(record["spec"]))
        (folder / "record.json").write_text(json.dumps(record))
    for plan in PLANS:
        write_plan(open_store(tmp_path), plan)
    return tmp_path


@pytest.mark.parametrize("options", [[], ["--study", "tuned"]], ids=["all", "one study"])
def test_the_commands_look_at_the_plans(store: Path, options: list[str]) -> None:
    page = store.parent / "page.html"
    done = CliRunner().invoke(app, ["report", "--store", str(store), "--output", str(page), *options])
    assert done.exit_code == 0, done.output
    assert "each arm at its own learning_rate" in page.read_text(encoding="utf-8")


def test_claims_look_at_the_plans(store: Path) -> None:
    done = CliRunner().invoke(app, ["claims", "--store", str(store), "--json"])
    judged = next(each for each in json.loads(done.output) if each["name"] == "top_k_trains_faster")
    assert len(judged["numbers"]) == 1
    assert "6 seeds" in judged["numbers"][0]
    assert "each arm at its own learning_rate" in judged["settings"][0]


def test_files_of_one_name_have_different_titles_in_different_studies() -> None:
    groups = [
        [
            record_of(spec_of(f"file:/{folder}/x.csv", pattern, seed, training__learning_rate=rate), middle=9)
            for pattern, rate in (("full", 0.2), ("top_k(5)", 0.4))
            for seed in PAPER_SEEDS[:2]
        ]
        for folder in ("a", "b")
    ]
    plans = [planned(name, own, OWN) for name, own in zip("ab", groups, strict=True)]
    found = analyse_planned([record for own in groups for record in own], plans)
    assert sorted(each.comparison.title for each in found) == ["file:a/x.csv", "file:b/x.csv"]
    assert all(each.sentence.startswith(f"{each.comparison.title}, to ") for each in found)
