from pathlib import Path

import pytest

from semfocus.runs import open_store
from tests.cli.test_cli import TINY, invoke
from tests.strict_json import read_json
from tests.tests_recipe import RECIPE


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("store") / "runs"
    for pattern in ("full", "top_k(3)"):
        done = invoke("train", "even_pairs", "--pattern", pattern, *TINY, "--probe-every", "1", store=store)
        assert done.exit_code == 0, done.stderr
    return store


def names(runs: Path) -> list[str]:
    return [
        record["run"]
        for record in sorted(open_store(runs).records(), key=lambda each: each["spec"]["pattern"])
    ]


def test_a_table_of_runs_side_by_side(runs: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    done = invoke("probe", *names(runs), "--samples", 10, "--patterns", "top_k(3); banded(3)", store=runs)
    assert done.exit_code == 0, done.stderr
    header = next(line for line in done.stdout.splitlines() if "quantity" in line)
    assert "full as top_k(3)" in header
    assert "top_k(3) as top_k(3)" not in header
    assert "mean (5..95 %) [the mean of noise, or by chance]" in done.stdout
    assert (
        "dispersion_ratio         Dispersion of the kept over that of all allowed scores (c1)." in done.stdout
    )
    assert "held-out data, 10 sequences" in done.stdout
    assert "along training at 3 epochs, 0 to 2" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("  separation")]
    assert line.split()[2] == "-", "full attention separates nothing"


@pytest.mark.parametrize("columns", ["60", "80", None])
def test_no_number_of_the_table_is_cut(runs: Path, columns: str | None, monkeypatch) -> None:
    """A narrow terminal leaves the spread out; into a pipe (no COLUMNS) everything is written."""
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    others = "top_k(3); banded(3); random(3)"
    words = [*names(runs), "--samples", 10, "--patterns", others]
    done = invoke("probe", *words, store=runs)
    assert done.exit_code == 0, done.stderr
    assert "…" not in done.stdout
    assert ("has no room here" in done.stdout) == (columns is not None)
    assert ("(5..95 %) [" in done.stdout) == (columns is None)


def test_the_table_has_means(runs: Path, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    name = names(runs)[1]
    done = invoke("probe", name, "--samples", 10, store=runs)
    rows = read_json(invoke("probe", name, "--samples", 10, "--json", store=runs).stdout)["runs"][0]["rows"]
    (own,) = [row for row in rows if (row["quantity"], row["layer"]) == ("focus_mass", 0)]
    (line,) = [
        line for line in done.stdout.splitlines() if line.strip().startswith("focus_mass") and "[" in line
    ]
    assert line.split()[2] == f"{own['mean']:.3g}"
    assert line.split()[-1] == f"[{own['null']:.3g}]"


def test_json_has_every_row(runs: Path) -> None:
    name = names(runs)[1]
    done = invoke("probe", name[:8], "--data", "both", "--samples", 10, "--epoch", 0, "--json", store=runs)
    (found,) = read_json(done.stdout)["runs"]
    assert (found["run"], found["epoch"], found["problems"]) == (name, 0, [])
    assert {row["data"] for row in found["rows"]} == {"train", "held_out"}
    assert {row["epoch"] for row in found["along"]} == {0, 1, 2}
    assert {"dispersion", "effective_keys"} <= {row["quantity"] for row in found["rows"]}


def test_a_page_and_the_way_there(runs: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = invoke(
        "probe", *names(runs), "--samples", 10, "--every", 2, "--page", page, "--sequence", 2, store=runs
    )
    assert done.exit_code == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "held-out sequence 2" in text
    assert "semfocus probe" in text
    assert "What comes first" in text


def test_an_old_run_is_trained_again_for_its_way(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    invoke("train", "even_pairs", *TINY, store=store)
    again = invoke("train", "even_pairs", *TINY, "--probe-every", 1, store=store)
    assert "nothing was measured along its training: semfocus probe" in again.stdout
    (name,) = names(store)
    done = invoke("probe", name, "--samples", 5, "--every", 1, "--json", store=store)
    assert {row["epoch"] for row in read_json(done.stdout)["runs"][0]["along"]} == {0, 1, 2}
    exported = invoke("export", "--output", tmp_path / "tables", store=store)
    assert exported.exit_code == 0
    import polars

    frame = polars.read_csv(tmp_path / "tables" / "probes.csv")
    assert set(frame["epoch"]) == {0, 1, 2}
    assert {"q5", "q50", "q95", "quantity", "layer", "along", "arm"} <= set(frame.columns)
    assert set(frame.filter(~frame["along"])["epoch"]) == {2}


BAD = {
    "data": (["--data", "test"], "--data must be one of train, held_out, both, got 'test'"),
    "epoch": (["--epoch", "7"], "has epochs 0 to 2 (done), not 7"),
    "words": (["--epoch", "first"], "epoch must be a number, last, best or reaching:ACCURACY, got 'first'"),
    "accuracy": (["--epoch", "reaching:1.1"], "never reached a training accuracy of 1.1"),
    "pattern": (["--patterns", "topk(5)"], "did you mean 'top_k'"),
    "page": (["--page", "x.png"], "--page must end in .html, got 'x.png'"),
    "sequence": (["--page", "x.html", "--sequence", "20"], "the held_out data has sequences 0 to 19, not 20"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(runs: Path, options: list[str], message: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("probe", names(runs)[0], "--samples", 5, *options, store=runs)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_run_of_another_recipe_is_refused(tmp_path: Path) -> None:
    store, recipe, other = tmp_path / "runs", tmp_path / "mine.py", tmp_path / "other.py"
    recipe.write_text(RECIPE)
    other.write_text(RECIPE + "\n# changed\n")
    trained = invoke(
        "train",
        "first_bit",
        "--pattern",
        "every_other(2)",
        "--recipe",
        recipe,
        *TINY,
        "-s",
        "training.learning_rate=0.1",
        "-s",
        "training.learning_rate_decay=1.0",
        store=store,
    )
    assert trained.exit_code == 0, trained.stderr
    (name,) = (directory.name for directory in open_store(store).directories())
    for given in ([], ["--recipe", other]):
        done = invoke("probe", name, *given, store=store)
        assert done.exit_code == 2
        assert "with the recipe file of digest" in done.stderr
    assert invoke("probe", name, "--recipe", recipe, "--samples", 5, store=store).exit_code == 0
