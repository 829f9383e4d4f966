"""A campaign trains what no store and no export has, and its exports keep what a lost store had."""

import shutil
from collections import Counter
from pathlib import Path

import polars
import pytest

from semfocus.campaign import Campaign, Stage, open_campaign
from semfocus.campaign.account import accounts, total
from semfocus.measurements.interior import rows_inside
from semfocus.recipes import RECIPES
from semfocus.report.export import archive, read_export, read_exported_plans
from semfocus.runs import open_store
from semfocus.runs.plan import read_plans
from semfocus.runs.record import Record, study_digest
from semfocus.studies import run_study
from semfocus.studies.cost import rough_seconds
from tests.campaign.files import SEARCH, campaign_file
from tests.execution.minis import events_of, mini_study


def trained_in(store: Path) -> set[str]:
    return {record.run for record in open_store(store).records()}


def test_stages_are_trained_exported_and_planned_in_order(tmp_path: Path) -> None:
    said: list[str] = []
    opened = open_campaign(campaign_file(tmp_path), tmp_path / "runs", export=tmp_path / "tables")
    assert opened.run(executor="serial", quiet=True, say=said.append) == []
    assert said == [
        "stage 1 of 2: first, 0 of 4 runs known",
        "stage 2 of 2: second, 4 of 6 runs known",
    ]
    assert len(trained_in(tmp_path / "runs")) == 6
    first, second = (read_export(tmp_path / "tables" / name) for name in ("first", "second"))
    assert Counter(record.spec["pattern"] for record in first) == {"full": 2, "top_k(2)": 2}
    assert Counter(record.spec["pattern"] for record in second) == {"top_k(3)": 2}, "each run in one folder"
    plans = {plan.name: plan for plan in read_plans(open_store(tmp_path / "runs"))}
    assert plans["first"].question == "Which is first?"
    assert len(plans["second"].runs) == 6
    assert plans["second"].command == "semfocus campaign campaign.py --stage second", "no machine's paths"
    assert {plan.name for plan in read_exported_plans(tmp_path / "tables")} == {"first", "second"}


def test_a_stage_alone_counts_trains_and_exports_all_of_its_runs(tmp_path: Path) -> None:
    """Those of earlier stages go to the tables of these."""
    opened = open_campaign(campaign_file(tmp_path), tmp_path / "runs", export=tmp_path / "tables")
    (before,) = accounts(opened, "second")
    assert (before.runs, before.left, before.shared) == (6, 6, 0)
    opened.run(only="second", executor="serial", quiet=True)
    (after,) = accounts(opened, "second")
    assert (after.runs, after.done, after.left) == (6, 6, 0)
    found = {name: read_export(tmp_path / "tables" / name) for name in ("first", "second")}
    assert {name: len(records) for name, records in found.items()} == {"first": 4, "second": 2}


def test_what_is_in_an_export_is_not_trained_again_and_stays_there(tmp_path: Path) -> None:
    file, tables = campaign_file(tmp_path), tmp_path / "tables"
    open_campaign(file, tmp_path / "a", export=tables).run(only="first", executor="serial", quiet=True)
    before = {record.run for record in read_export(tables)}
    shutil.rmtree(tmp_path / "a")
    opened = open_campaign(file, tmp_path / "b", export=tables)
    assert [(each.done, each.exported, each.left) for each in accounts(opened)] == [(4, 4, 0), (0, 0, 2)]
    assert opened.run(executor="serial", quiet=True) == []
    assert len(trained_in(tmp_path / "b")) == 2
    found = read_export(tables)
    assert before < {record.run for record in found}
    assert len(found) == 6
    again = open_campaign(file, tmp_path / "c", results=[tables])
    assert again.run(executor="serial", quiet=True) == []
    assert trained_in(tmp_path / "c") == set()


def test_runs_of_a_stage_that_lost_its_store_halfway_are_all_exported(tmp_path: Path) -> None:
    """The tables of one stage hold runs of two stores, of which one is gone."""
    file, tables = campaign_file(tmp_path, seeds=4), tmp_path / "tables"
    opened = open_campaign(file, tmp_path / "a", export=tables)
    half = opened.stage("first").study.specs[:3]
    run_study(half, opened.store, executor="serial")
    opened.export(opened.stage("first"))
    shutil.rmtree(tmp_path / "a")
    open_campaign(file, tmp_path / "b", export=tables).run(only="first", executor="serial", quiet=True)
    assert len(trained_in(tmp_path / "b")) == 5
    assert len(read_export(tables / "first")) == 8


@pytest.mark.parametrize(
    ("more", "trained"),
    [("", 2), (', needs=["clipped_share"]', 3), (', needs=["inside"]', 4), (', needs=["layers"]', 4)],
)
def test_an_exported_run_counts_if_it_has_what_every_stage_needs(
    more: str, trained: int, tmp_path: Path
) -> None:
    """Of four exported runs one lost its curve, one what was clipped, one alone was measured inside, and one
    layer by layer.

    Both stages have all four runs; what the first needs counts for the second.
    """
    file, tables = campaign_file(tmp_path, more=more), tmp_path / "tables"
    specs = open_campaign(file, tmp_path / "a").stage("first").study.specs
    records = run_study(specs, tmp_path / "a", executor="serial")
    no_curve = records[0] | {"curve": {}}
    old = records[1] | {"curve": {k: v for k, v in records[1].curve.items() if k != "clipped_share"}}
    row = {"quantity": "dispersion", "data": "held_out", "quantiles": {}, "quantities": "all:1", "epoch": 0}
    along = [{"quantity": "dispersion", "data": "held_out", "quantiles": {}, "epoch": 0, "layer": None}]
    probed = Record(records[2] | {"probes": along}, measurements={"inside": [row]})
    layered = records[3] | {"probes": [*along, {**along[0], "layer": 1}]}
    archive([no_curve, old, probed, layered], tables)
    curves = polars.read_parquet(tables / "curves.parquet")
    curves.filter(polars.col("run") != records[0].run).write_parquet(tables / "curves.parquet")
    opened = open_campaign(file, tmp_path / "b", results=[tables])
    missing = [spec for spec in specs if not opened.is_known(spec)]
    assert len(missing) == trained - 1
    opened.run(only="first", executor="serial", quiet=True)
    assert trained_in(tmp_path / "b") == {spec.digest for spec in missing}


def test_a_stage_measures_what_it_is_told_and_exports_it_by_layer(tmp_path: Path) -> None:
    file = campaign_file(tmp_path, seeds=1, more=", measure=[Inside(samples=8, every=1)]")
    opened = open_campaign(file, tmp_path / "runs", export=tmp_path / "tables")
    assert opened.run(only="first", executor="serial", quiet=True) == []
    for record in read_export(tmp_path / "tables"):
        layers = {row["layer"] for row in rows_inside(record) if row["quantity"] == "focus_mass"}
        assert layers == {None, 0, 1}
        assert {row["epoch"] for row in record["probes"]} == {0, 1, 2}


def test_measuring_may_wait_until_all_is_trained(tmp_path: Path) -> None:
    file = campaign_file(tmp_path, seeds=1, more=", measure=[Inside(epochs=('last',), samples=8)]")
    opened = open_campaign(file, tmp_path / "runs", export=tmp_path / "tables")
    assert opened.run(only="first", executor="serial", quiet=True, measure=False) == []
    trained = trained_in(tmp_path / "runs")
    assert not any(rows_inside(record) for record in read_export(tmp_path / "tables"))
    assert opened.run(only="first", executor="serial", quiet=True) == []
    assert trained_in(tmp_path / "runs") == trained
    assert all(rows_inside(record) for record in read_export(tmp_path / "tables"))


def test_the_second_part_of_a_stage_follows_from_the_first(tmp_path: Path) -> None:
    (tmp_path / "search.py").write_text(SEARCH)
    stages = [Stage("search", str(tmp_path / "search.py"))]
    opened = Campaign(stages, tmp_path / "runs", export=tmp_path / "tables")
    (before,) = accounts(opened)
    assert (before.runs, before.left) == (5, 5), "two, and three that follow"
    assert opened.run(executor="serial", quiet=True) == []
    assert len(trained_in(tmp_path / "runs")) == 5
    shutil.rmtree(tmp_path / "runs")
    (after,) = accounts(Campaign(stages, tmp_path / "runs", export=tmp_path / "tables"))
    assert (after.done, after.exported, after.left) == (5, 5, 0), (
        "what follows is known from the export alone"
    )


def test_runs_that_fail_are_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "breaking.py").write_text(
        "from dataclasses import dataclass\n"
        "from semfocus.campaign import Stage\n"
        "from semfocus.mechanisms import Pattern\n"
        "from semfocus.studies import grid\n"
        f"BASE = {mini_study(2)[0].model_dump(include={'task', 'model', 'training'})!r}\n"
        "@dataclass(frozen=True)\n"
        "class Breaks(Pattern):\n"
        "    name = 'breaks'\n"
        "    family = 'control'\n"
        "    def keep(self, scores, allowed, generator=None):\n"
        "        raise RuntimeError('broken')\n"
        "def first(): return grid(BASE, pattern=['breaks', 'full'])\n"
        "def second(): return grid(BASE, pattern=['top_k(2)'])\n"
        "STAGES = [Stage('first', first), Stage('second', second)]\n"
    )
    opened = open_campaign(tmp_path / "breaking.py", tmp_path / "runs", export=tmp_path / "tables")
    (line,) = opened.run(executor="serial", quiet=True)
    assert line.startswith("first: run ")
    assert line.endswith("failed: broken")
    first, second = accounts(opened)
    assert (first.done, first.failed, first.left, second.done) == (1, 1, 1, 1)
    assert len(read_export(tmp_path / "tables")) == 2


def test_core_hours_come_from_equal_epochs_then_from_a_formula(tmp_path: Path) -> None:
    """One run ended with known seconds; epochs of its kind take as long, those of others what a formula says."""
    specs = mini_study(4)
    longer = mini_study(2, epochs=5)[:1]
    foreign = mini_study(2, batch_size=5)[:1]
    (record,) = run_study(specs[:1], tmp_path / "a", executor="serial")
    seconds = {"train_seconds": [0.0, 1000.0, 1000.0], "evaluation_seconds": [200.0, 200.0, 200.0]}
    archive([record | {"curve": {**record.curve, **seconds}}], tmp_path / "tables")
    stages = [Stage("one", lambda: [*specs, *longer, *foreign])]
    (found,) = accounts(Campaign(stages, tmp_path / "b", results=[tmp_path / "tables"]))
    assert (found.runs, found.done, found.left) == (6, 1, 5)
    assert found.hours_done == pytest.approx(2600 / 3600)
    equal = (2 + 5) * 1200.0  # full on the other seed, and for five epochs
    others = [spec for spec in (*specs[2:], *foreign) if spec.pattern != "full" or spec in foreign]
    formula = sum(map(rough_seconds, others))
    assert [spec.pattern for spec in specs] == ["full", "full", "top_k(2)", "top_k(2)"]
    assert found.hours_left == pytest.approx((equal + formula) / 3600)


def test_epochs_of_a_run_that_was_stopped_are_not_left_to_do(tmp_path: Path) -> None:
    (spec,) = mini_study(2, epochs=3)[:1]
    (record,) = run_study([spec], tmp_path, executor="serial")
    (tmp_path / spec.digest / "record.json").unlink()
    campaign = Campaign([Stage("one", lambda: [spec])], tmp_path)
    (found,) = accounts(campaign)
    assert (found.done, found.running, found.left) == (0, 0, 1)
    assert found.hours_done > 0
    assert found.hours_left == 0, "all its epochs are in the journal"
    assert record.state == "done"


def test_all_stages_together_are_their_sum(tmp_path: Path) -> None:
    found = accounts(open_campaign(campaign_file(tmp_path), tmp_path / "runs"))
    whole = total(found)
    assert (whole.runs, whole.left, whole.done) == (6, 6, 0)
    assert [(each.shared, each.shared_left) for each in found] == [(0, 0), (4, 4)]
    assert whole.hours_left == sum(each.hours_left for each in found) > 0


def test_a_campaign_gives_the_results_of_the_same_runs_alone(tmp_path: Path) -> None:
    opened = open_campaign(campaign_file(tmp_path), tmp_path / "runs")
    opened.run(executor="serial", quiet=True)
    alone = run_study(opened.stage("second").study.specs, tmp_path / "alone", executor="serial")
    assert study_digest(open_store(tmp_path / "runs").records()) == study_digest(alone)
    for spec in opened.stage("second").study.specs:
        assert events_of(opened.store, spec)["attempt"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"must define STAGES, a list of semfocus.campaign.Stage"),
        ("STAGES = {'a': 1}", r"must define STAGES, a list of semfocus.campaign.Stage"),
        ("STAGES = []", "a campaign needs at least one stage"),
        ("STAGES = [Stage('a', 'quick'), Stage('a', 'small')]", "stages need different names"),
        ("STAGES = [Stage('../a', 'quick')]", "stages need different names that can be folders"),
        ("STAGES = [Stage('a', 'quikc')]", r"stage 'a': unknown recipe 'quikc' \(did you mean 'quick'"),
        ("STAGES = [Stage('a', 'quick', tasks='parrity')]", "stage 'a': unknown task 'parrity'"),
        ("STAGES = [Stage('a', lambda: 3)]", "stage 'a': the specs of a cannot be made"),
        ("STAGES = [Stage('a', lambda: [1])]", "stage 'a': "),
        ("STAGES = [Stage('a', lambda: [])]", "stage 'a': a has no runs"),
        (
            "STAGES = [Stage('a', 'quick', settings={'training.epocs': 3})]",
            r"stage 'a': training: unknown key 'epocs'",
        ),
        ("1 / 0", "does not load: ZeroDivisionError"),
    ],
)
def test_a_bad_file_is_one_error_that_names_the_stage(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(f"from semfocus.campaign import Stage\n{text}\n")
    with pytest.raises(ValueError, match=message):
        open_campaign(path, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_folder_of_results_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    opened = Campaign([Stage("quick", "quick")], tmp_path / "runs", results=[tmp_path / "reslts"])
    with pytest.raises(ValueError, match=r"there is no folder .*reslts"):
        opened.run()


def test_recipes_are_chosen_among_as_by_the_options_of_a_study(tmp_path: Path) -> None:
    stage = Stage("few", "quick", seeds=2, patterns="full x1; top_k(5)", settings={"training.stop_at": 0.9})
    (opened,) = Campaign([stage], tmp_path).stages
    assert len(opened.study.specs) == 4 < len(RECIPES["quick"].specs())
    assert {spec.training.stop_at for spec in opened.study.specs} == {0.9}
