"""report, export and claims on the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars
import pytest
from typer.testing import CliRunner

from semfocus.analysis.claims import Claim
from semfocus.analysis.claims.claim import Ruling
from semfocus.cli.app import app
from semfocus.cli.claims import _runs_of, needs_of
from semfocus.measurements import Landscape
from semfocus.recipes import RECIPES
from semfocus.recipes.variant import Variant
from semfocus.report.export import export
from semfocus.runs import RunSpec, open_store
from semfocus.runs.paper_settings import PAPER_SEEDS
from semfocus.runs.plan import Plan, read_plans, write_plan
from semfocus.runs.record import Record
from semfocus.studies.cost import rough_seconds
from semfocus.studies.selection import with_seeds
from tests.execution.minis import mini_study
from tests.report.made_up import study
from tests.strict_json import read_json


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store with made-up records of two tasks; a study `first` planned those of one."""
    path = tmp_path / "runs"
    records = study(tasks=2, seeds=2, epochs=12)
    for record in records:
        folder = path / record["run"]
        folder.mkdir(parents=True)
        (folder / "spec.json").write_text(json.dumps(record["spec"]))
        (folder / "record.json").write_text(json.dumps(record))
    own = [record["run"] for record in records if record["spec"]["task"] == "even_pairs"]
    write_plan(open_store(path), Plan("first", "Which is first?", "semfocus study first", own))
    return path


def invoke(*arguments: object):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ([], "report.html"),
        (["--format", "markdown"], "report.md"),
        (["--format", "svg"], "figures/speedup.svg"),
        (["--format", "png"], "figures/curves-1.png"),
    ],
)
def test_report_writes_into_the_store_and_says_where(filled: Path, options: list[str], name: str) -> None:
    result = invoke("report", "--store", filled, *options)
    assert result.exit_code == 0, result.output
    assert str(filled / name) in result.output
    assert (filled / name).stat().st_size > 1000
    assert len(open_store(filled).records()) == 28, "what was written is not taken for a run"


def without_claims(page: str) -> str:
    """Claims name the tasks that they need, whatever the page is about."""
    before, claims, rest = page.partition('<section id="claims">')
    assert claims
    return before + rest.partition("</section>")[2]


def test_report_of_one_study_has_its_question_and_its_runs_only(filled: Path, tmp_path: Path) -> None:
    page = tmp_path / "elsewhere" / "page.html"
    assert invoke("report", "--store", filled, "--study", "first", "--output", page).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "Which is first?" in text
    assert "even_pairs" in text
    assert "missing_duplicate" not in without_claims(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "--study", "frist"], "did you mean 'first'"),
        (["report", "--format", "docx"], "got 'docx'"),
        (["export", "--format", "xlsx"], "got 'xlsx'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(filled: Path, arguments: list[str], message: str) -> None:
    result = invoke(*arguments, "--store", filled)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize("command", ["report", "export", "claims", "status"])
def test_a_store_that_is_not_there_is_an_error_and_is_not_made(command: str, tmp_path: Path) -> None:
    result = invoke(command, "--store", tmp_path / "nothing")
    assert result.exit_code == 2
    assert "there is no store" in result.output
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("command", ["report", "export", "claims"])
def test_a_folder_without_runs_is_refused_and_left_alone(command: str, tmp_path: Path) -> None:
    result = invoke(command, "--store", tmp_path)
    assert result.exit_code == 2
    assert f"there are no runs in {tmp_path}" in result.output.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named_and_another_suggested(filled: Path, tmp_path: Path) -> None:
    result = invoke("report", "--store", filled, "--output", tmp_path)
    assert result.exit_code == 2
    assert "is a directory" in result.output
    assert "partial" not in result.output
    (tmp_path / "file").touch()
    result = invoke("report", "--store", filled, "--output", tmp_path / "file" / "page.html")
    assert result.exit_code == 2
    assert "cannot write" in result.output
    assert "choose another --output PATH" in result.output
    (filled / "report.md").mkdir()
    result = invoke("report", "--store", filled, "--format", "markdown")
    assert result.exit_code == 2
    assert f"cannot write {filled / 'report.md'}" in result.output
    assert "--output PATH" in result.output


def test_claims_begin_with_a_count_and_leave_a_line_between_two(filled: Path) -> None:
    lines = invoke("claims", "--store", filled).output.splitlines()
    assert "claims: 0 supported, 0 contradicted" in lines[0]
    first = next(place for place, line in enumerate(lines) if line.startswith("undecided"))
    assert lines[first - 1] == ""
    assert sum("d_model" in line for line in lines) == 1, "the setting is said once"


def test_nothing_is_said_when_nobody_reads_any_more(filled: Path) -> None:
    """As in `semfocus status | head -1`."""
    words = [sys.executable, "-m", "semfocus", "status", "--json", "--store", str(filled)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=120) == 1
    process.stderr.close()


def test_where_text_is_not_unicode_pages_are_and_commands_print(filled: Path) -> None:
    """In a locale whose encoding is ASCII, which has none of the characters of our pages and help texts."""
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for words in (["report", "--store", str(filled)], ["bounds", "--help"]):
        command = [sys.executable, "-m", "semfocus", *words]
        done = subprocess.run(command, env=os.environ | locale, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.isascii()
    assert "\N{MULTIPLICATION SIGN}" in (filled / "report.html").read_text(encoding="utf-8")


def test_export_writes_all_tables(filled: Path, tmp_path: Path) -> None:
    result = invoke("export", "--store", filled, "--format", "parquet", "--output", tmp_path / "tables")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "runs.parquet",
        "curves.parquet",
        "lengths.parquet",
        "probes.parquet",
        "twins.parquet",
        "landscapes.parquet",
        "plans",
    }


def test_claims_as_text_and_as_json(filled: Path) -> None:
    text = invoke("claims", "--store", filled, "--rules")
    assert text.exit_code == 0, text.output
    assert "undecided" in text.output
    assert "contradicted if" in text.output
    judged = read_json(invoke("claims", "--store", filled, "--json").output)
    assert {claim["verdict"] for claim in judged} == {"undecided"}
    assert any("top_k(5) against full" in line for claim in judged for line in claim["numbers"])


@pytest.mark.parametrize(
    "arguments",
    [["report", "--help"], ["export", "--help"], ["claims", "--help"], ["report"], ["export"]],
    ids=" ".join,
)
def test_none_of_them_waits_for_torch(filled: Path, arguments: list[str]) -> None:
    where = [] if "--help" in arguments else ["--store", str(filled)]
    code = (
        "import sys; from typer.testing import CliRunner; from semfocus.cli.app import app; "
        f"result = CliRunner().invoke(app, {[*arguments, *where]!r}); "
        "assert result.exit_code == 0, result.output; assert 'torch' not in sys.modules, 'torch was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def tables(filled: Path, tmp_path: Path) -> Path:
    """The same runs as exported tables, in two folders below one."""
    records = open_store(filled).records()
    tasks = {record.spec["task"] for record in records}
    for task in sorted(tasks):
        own = [record for record in records if record.spec["task"] == task]
        export(own, tmp_path / "results" / task, "parquet", read_plans(open_store(filled)))
    (tmp_path / "results" / "README.md").write_text("beside them")
    return tmp_path / "results"


def test_claims_from_exported_tables_are_those_of_the_store(filled: Path, tables: Path) -> None:
    wanted = read_json(invoke("claims", "--store", filled, "--json").output)
    assert read_json(invoke("claims", "--results", tables, "--json").output) == wanted
    expanded = sorted(tables.iterdir())  # as the shell writes results/*
    assert read_json(invoke("claims", "--results", *expanded, "--json").output) == wanted
    text = invoke("claims", "--results", *expanded)
    assert text.output == invoke("claims", "--store", filled).output


def test_a_report_of_exported_tables_knows_their_studies(tables: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = invoke("report", "--results", tables, "--study", "first", "--output", page)
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert "Which is first?" in text
    assert "missing_duplicate" not in without_claims(text)


def test_a_recipe_finds_its_runs_in_the_exports_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up = study(tasks=2, seeds=2, epochs=12)
    specs = [RunSpec.model_validate(record["spec"]) for record in made_up]
    named = [{**record, "run": spec.digest} for record, spec in zip(made_up, specs, strict=True)]
    export([Record(each) for each in named], tmp_path / "results", "parquet")
    own = [spec for spec in specs if spec.task == "even_pairs"]
    recipe = Variant("Whose runs?", "ours", lambda: own, CONTRASTS=[("top_k(5)", "full")])
    monkeypatch.setitem(RECIPES, "mini", recipe)
    text = tmp_path / "text.md"
    wanted = ["report", "--results", tmp_path / "results", "--format", "markdown", "--output", text]
    done = invoke(*wanted, "--study", "mini")
    assert done.exit_code == 0, done.output
    written = text.read_text(encoding="utf-8")
    assert written.startswith("# Whose runs?")
    assert "top\\_k(5) against full" in written
    assert "missing\\_duplicate" not in written
    missing = invoke(*wanted, "--study", "factorial")
    assert (missing.exit_code, missing.output) == (2, "error: no run of 'factorial' in the exports\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["claims", "--results", "nowhere"], "there is no folder nowhere"),
        (["claims", "results"], "unexpected argument results"),
        (["report", "--results", ".", "--store", "runs"], "give --store or --results, not both"),
        (["report", "--results", "."], "no exported runs"),
    ],
)
def test_mistakes_about_results_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_runs_without_a_curve_are_counted_and_left_out_of_reports(tables: Path, tmp_path: Path) -> None:
    curves = tables / "even_pairs" / "curves.parquet"
    frame = polars.read_parquet(curves)
    lost = frame["run"][0]
    frame.filter(polars.col("run") != lost).write_parquet(curves)
    few = "note: 1 of 28 exported runs"
    assert invoke("claims", "--results", tables).output.startswith(few)
    result = invoke("report", "--results", tables, "--output", tmp_path / "page.html")
    assert result.output.startswith(few)
    assert lost not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_open_claim_names_what_it_needs_and_what_that_costs(filled: Path) -> None:
    """A run that is there costs nothing any more; one that was not measured does."""
    measured = Variant("Which?", "ours", lambda: mini_study(4), [Landscape()])
    judged = [judged_claim("open", "undecided"), judged_claim("settled", "supported")]
    small = (
        'mini --seeds 1, --stop-at 0.9 -s training.num_train=99 -s training.epochs=7 --patterns "top_k(3)"'
    )
    specs = mini_study(4)
    here = {spec.digest: Record({"run": spec.digest}) for spec in specs}
    one = {specs[0].digest: here[specs[0].digest]}
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(RECIPES, "mini", Variant("Which?", "ours", lambda: mini_study(4)))
        patched.setitem(RECIPES, "surfaces", measured)
        found = needs_of(judged, one)
        (few, all_of_it) = needs_of([judged_claim("open", "undecided", small=small)], one)["open"]
        (none,) = needs_of(judged, here)["open"]
        all_of_them = {each.digest: Record({"run": each.digest}) for each in with_seeds(specs, PAPER_SEEDS)}
        (nothing,) = needs_of(judged, here | all_of_them)["open"]
        (surfaces,) = needs_of([judged_claim("open", "undecided", "surfaces")], here)["open"]
        (changed,), _ = _runs_of(small)
    (needs,) = found.pop("open")
    assert not found
    assert (needs.command, needs.runs) == ("semfocus study mini", 3)
    assert needs.core_hours == pytest.approx(sum(map(rough_seconds, specs[1:])) / 3600)
    assert "3 runs, about 0.10" in str(needs)
    assert all_of_it == needs, "the one in minutes comes first"
    assert (few.command, few.runs, few.at_most) == (f"semfocus study {small}", 1, True)
    assert (changed.pattern, changed.seed, changed.training.stop_at) == ("top_k(3)", 1, 0.9)
    assert (changed.training.num_train, changed.training.epochs) == (99, 7)
    assert (none.command, none.runs) == ("semfocus study mini --seeds 10", 20)
    assert (nothing.command, nothing.runs) == ("semfocus study mini", 0)
    assert str(nothing).startswith("more than ")
    assert surfaces.runs == 4, "their landscapes are not"


def test_every_claim_that_is_open_has_a_price(filled: Path) -> None:
    judged = read_json(invoke("claims", "--store", filled, "--json").output)
    undecided = [claim for claim in judged if claim["verdict"] == "undecided"]
    assert undecided
    for claim in undecided:
        for needs in claim["needs"]:
            assert needs["command"].startswith("semfocus study ")
            assert needs["core_hours"] > 0
        assert len(claim["needs"]) == 1 + bool(claim["small_recipe"])
        if claim["small_recipe"]:
            small, paper = claim["needs"]
            assert small["core_hours"] < paper["core_hours"] / 5, claim["name"]
    printed = invoke("claims", "--store", filled).output
    assert 'curves --tasks "parity" --patterns "full x1; top_k(5)" --seeds 6 (12 runs' in printed
    assert 'depth_small --patterns "full x1; top_k(5)" --stop-at 0.95 (128 runs' in printed


def judged_claim(name: str, verdict: str, recipe: str = "mini", small: str = "") -> Claim:
    return Claim(
        name,
        "text",
        None,
        "source",
        recipe,
        "if",
        "if not",
        lambda summaries: Ruling("undecided"),
        small,
        verdict,  # type: ignore[arg-type]
    )
