"""A study as a value: from a name, a file or a list of specs to records, findings, a table, figures and a page."""

import warnings
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import polars
import pytest

from semfocus import Study
from semfocus.analysis.summaries import analyse
from semfocus.analysis.why.measured_runs import measured_tasks
from semfocus.analysis.why.mediators import mediations
from semfocus.execution.executor import Conditions
from semfocus.execution.measurement_parts import measure_runs
from semfocus.measurements import MEASUREMENTS, Lengths, Measurement, Twins
from semfocus.report.export import export, read_export
from semfocus.report.pages import vega
from semfocus.runs import RunSpec, Store, load_recipe
from tests.execution.minis import mini_study

SERIAL: dict[str, Any] = {"executor": "serial", "quiet": True}

STUDY_FILE = """
from semfocus.studies import grid
{head}
QUESTION = "Does it learn?"
{more}

def specs():
    base = {{
        "task": "even_pairs",
        "model": {{"d_model": 8, "d_mlp": 8, "num_blocks": 1}},
        "training": {{"length": 6, "num_train": 20, "num_held_out": 10, "epochs": 2}},
    }}
    return grid(base, pattern=["full", "top_k(2)"], seed=[1])
"""

MEASURED = """
from dataclasses import dataclass
from typing import ClassVar
from semfocus.measurements import Measurement

@dataclass(frozen=True)
class Mine(Measurement):
    name: ClassVar[str] = "{name}"

    def missing(self, directory, device, threads):
        return [] if directory.kept(self.name) else [0]

    def compute(self, directory, part, *, device, threads, notify):
        return {value}

    def keep(self, directory, part, found):
        with directory.owned(10.0):
            directory.keep(self.name, [{{"found": found}}])
"""


def study_file(folder: Path, head: str = "", more: str = "", name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(STUDY_FILE.format(head=head, more=more), encoding="utf-8")
    return path


def measured_file(folder: Path, value: str, name: str = "mine.py", measured: str = "found") -> Path:
    head = MEASURED.format(value=value, name=measured)
    return study_file(folder, head, "MEASURE = [Mine()]", name)


def two_settings() -> list[RunSpec]:
    return [
        RunSpec(
            **spec.model_dump(mode="json")
            | {"training": spec.training.model_dump() | {"learning_rate": rate}}
        )
        for spec in mini_study(2)
        for rate in (0.2, 0.3)
    ]


def test_specs_become_records_findings_a_table_figures_and_a_page(store: Store, tmp_path: Path) -> None:
    result = Study(mini_study(), store).run(**SERIAL)
    assert [record.state for record in result.records] == ["done"] * len(result.specs)
    assert {finding.contrast.baseline for finding in result.findings} == {"full"}
    assert all(finding.verdict == "undecided" for finding in result.findings), "two epochs show nothing"
    table = result.table()
    assert table.schema["ratio"] == polars.Float64, "whatever the values are"
    assert set(table["arm"]) == {record.spec["pattern"] for record in result.records}
    assert result.figure("speedup").save(tmp_path / "speedup.svg").read_text().startswith("<svg")
    assert "<svg" in result._repr_html_()
    assert "<table" in result._repr_html_()
    assert result.report(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with pytest.raises(ValueError, match=r"unknown figure 'speedups' .did you mean 'speedup'"):
        result.figure("speedups")


def test_each_setting_of_a_task_has_its_own_rows_and_panels(store: Store) -> None:
    result = Study(two_settings(), store).run(**SERIAL)
    assert len(result.summaries) == 2
    table = result.table()
    assert table.n_unique(["task", "setting", "arm"]) == table.height == 2 * 2
    for summary in result.summaries:
        for arm in summary.arms:
            (row,) = table.filter(
                polars.col("setting").str.contains(
                    f"learning_rate {summary.comparison.setting['training.learning_rate']:g}"
                ),
                polars.col("arm") == arm.label,
            ).to_dicts()
            assert row["epochs"] == arm.epochs_to_target.value
    assert len({(finding.task, finding.setting, finding.contrast.arm) for finding in result.findings}) == 2
    for name, panels in (("curves", 2), ("survival", 1)):
        assert len(result.figure(name).panels) == 2 * panels, "not both settings on one line"


def test_a_study_file_is_run_measured_and_read_back(store: Store, tmp_path: Path) -> None:
    study = Study(measured_file(tmp_path, "0.5"), store)
    assert study.question == "Does it learn?"
    result = study.run(executor="pool", workers=1, quiet=True)
    assert result.errors == []
    for record in result.records:
        assert record.measurements["found"] == [{"found": 0.5}]
        assert "found" in record.measurements


def test_what_moved_before_learning_is_told_by_layer_for_each_contrast(store: Store, tmp_path: Path) -> None:
    """From the training itself to the numbers, and back from exported tables."""
    head = "from semfocus.measurements import Inside"
    more = 'MEASURE = [Inside(samples=8, every=1)]\nCONTRASTS = [("full", "top_k(2)")]'
    result = Study(study_file(tmp_path, head, more), store).run(**SERIAL)
    (found,) = result.mediations
    assert (found.arm, found.baseline) == ("full", "top_k(2)")
    assert {each.layer for each in found.layers} == {0}
    focus, keys = found.layers[0].focus, found.layers[0].keys
    assert focus is not None
    assert keys is not None
    assert focus.tasks[0].chance == pytest.approx(2 / 6)
    assert keys.base <= 2 < keys.arm <= 6
    export(result.records, tmp_path / "tables")
    again = measured_tasks(analyse(read_export(tmp_path / "tables")))
    (read,) = mediations(again, result.study.contrasts)
    assert read.layers[0].focus is not None
    assert read.layers[0].focus.difference == pytest.approx(focus.difference, abs=1e-5)
    assert not Study(mini_study(), store).run(**SERIAL).mediations


def test_page_markdown_claims_and_values_are_of_one_analysis(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()
    for module, name in (
        ("semfocus.analysis.plans", "analyse_planned"),
        ("semfocus.analysis.plans", "planned_findings"),
        ("semfocus.analysis.claims", "judge_all"),
        ("semfocus.analysis.why.mediators", "mediations"),
    ):
        true = getattr(import_module(module), name)

        def counted(*given: Any, true: Any = true, name: str = name) -> Any:
            calls[name] += 1
            return true(*given)

        monkeypatch.setattr(f"{module}.{name}", counted)
    head = "from semfocus.measurements import Inside"
    more = 'MEASURE = [Inside(samples=8, every=1)]\nCONTRASTS = [("full", "top_k(2)")]'
    result = Study(study_file(tmp_path, head, more), store).run(**SERIAL)
    page, text = (result.report(tmp_path / name).read_text(encoding="utf-8") for name in ("a.html", "a.md"))
    assert page.startswith("<!DOCTYPE html>")
    assert text.startswith("# Does it learn?")
    assert "Did attention move before learning did" in text
    assert result.findings
    assert result.mediations
    assert result.analysis.judged
    at_both_sizes = 2
    assert calls == {
        **{"analyse_planned": 1, "planned_findings": 1, "judge_all": 1},
        **{"mediations": at_both_sizes},
    }


@pytest.mark.parametrize(("value", "words"), [("float('inf')", "JSON"), ("{1, 2}", "JSON serializable")])
def test_an_answer_that_cannot_be_kept_fails_its_run_and_no_worker(
    store: Store, tmp_path: Path, value: str, words: str
) -> None:
    result = Study(measured_file(tmp_path, value), store).run(**SERIAL)
    assert len(result.errors) == 2
    assert all(words in line for line in result.errors)


def test_two_measurements_of_one_kind_are_both_made(store: Store) -> None:
    spec = mini_study(2)[0]
    Study([spec], store).run(**SERIAL)
    assert measure_runs([Twins(), Twins(replaced=3)], [spec], store, Conditions("serial")) == {}
    assert [each["replaced"] for each in store.directory(spec).kept("twins")] == [0, 3]


def test_what_another_process_has_measured_meanwhile_is_not_measured_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = mini_study(2)[0]
    Study([spec], store).run(**SERIAL)
    monkeypatch.setattr(Twins, "is_known", lambda self, directory, part: True)
    assert measure_runs([Twins()], [spec], store, Conditions("serial")) == {}
    assert store.directory(spec).kept("twins") == []


@pytest.mark.parametrize("name", ["record", "spec", "env", "probes", "evaluations", "twins", "no word", ""])
def test_a_measurement_cannot_take_the_name_of_another_file(name: str) -> None:
    before = dict(MEASUREMENTS)
    with pytest.raises(ValueError, match=r"name"):
        type("Taken", (Measurement,), {"name": name, "__module__": "somebody"})
    assert before == MEASUREMENTS


def test_files_with_measurements_of_one_name_keep_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = Study(measured_file(tmp_path / "a", "1.0"), tmp_path / "a" / "runs")
    second = Study(measured_file(tmp_path / "b", "2.0"), tmp_path / "b" / "runs")
    values = [
        [record.measurements["found"][0]["found"] for record in study.run(**SERIAL).records]
        for study in (first, second)
    ]
    assert values == [[1.0, 1.0], [2.0, 2.0]]


OLD = """
from semfocus.studies.landscape.options import LandscapeOptions
from semfocus.studies.probe_plan import Probing

PROBES = Probing(epochs=("last",), samples=4)
TWINS = True
EVALUATE_LENGTHS = True
LANDSCAPES = LandscapeOptions(points=3)
"""


@pytest.mark.slow
def test_a_study_file_of_version_0_1_is_read_with_a_warning(store: Store, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study = Study(study_file(tmp_path, OLD), store)
        names = [measurement.name for measurement in study.measurements]
    assert names == ["lengths", "twins", "inside", "landscape"]
    said = " ".join(str(each.message) for each in caught if each.category is DeprecationWarning)
    for old in ("PROBES", "TWINS", "EVALUATE_LENGTHS", "LANDSCAPES", "Probing", "LandscapeOptions"):
        assert old in said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        result = study.run(executor="pool", workers=1, quiet=True)
        load_recipe(study_file(tmp_path, OLD, name="again.py"))  # as probe, landscape and train do
    assert result.errors == []
    assert {"lengths", "twins", "inside"} <= set(result.records[0].measurements)
    assert len(result.pages(tmp_path / "page.html")) == 2


def test_the_command_runs_the_same_again(store: Store) -> None:
    study = Study(
        "quick",
        store,
        seeds=[7],
        patterns="full; top_k(5)",
        settings={"training.epochs": 3, "model.norm": "post"},
    )
    assert study.command.startswith(
        "semfocus study quick -s training.epochs=3 -s model.norm=post --seeds 7, --patterns 'full; top_k(5)' --store"
    )
    assert {spec.seed for spec in study.specs} == {7}
    assert len({spec.seed for spec in Study("quick", store, seeds=2).specs}) == 2


def test_what_is_not_a_measurement_is_refused(store: Store, tmp_path: Path) -> None:
    for number, wrong in enumerate(("['twins']", "3", "[Plain()]")):
        plain = "from semfocus.measurements import Twins\nclass Plain: pass\n"
        path = study_file(tmp_path, plain, f"MEASURE = {wrong}", f"wrong{number}.py")
        with pytest.raises(ValueError, match="must list measurements"):
            Study(path, store).measurements  # noqa: B018
    single = study_file(tmp_path, "from semfocus.measurements import Twins", "MEASURE = Twins()", "single.py")
    assert Study(single, store).measurements == [Twins()]


def test_lengths_of_a_model_that_blew_up_are_kept_as_null(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Blown:
        loss: float = float("inf")
        accuracy: float = 0.5

    class Trained:
        epoch: ClassVar[int] = 2

        def at_length(self, length: int, num: int) -> Blown:
            return Blown()

    spec = mini_study(2)[0]
    Study([spec], store).run(**SERIAL)
    monkeypatch.setattr("semfocus.training.trained_run.load_run", lambda *arguments: Trained())
    assert measure_runs([Lengths((8,), 10)], [spec], store, Conditions("serial")) == {}
    (row,) = store.directory(spec).kept("lengths")
    assert (row["loss"], row["accuracy"]) == (None, 0.5)


def test_nothing_but_the_library_itself_is_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    real = vega.vega_bundle()
    (place,) = tmp_path.glob("semfocus/vega-*.js")
    place.write_text("alert(1)", encoding="utf-8")
    assert vega.vega_bundle() == real
    place.write_text(real, encoding="utf-8")
    monkeypatch.setattr("vl_convert.javascript_bundle", None)
    assert vega.vega_bundle() == real, "read, not made again"
