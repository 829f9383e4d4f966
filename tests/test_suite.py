"""The scripts around the tests: portable.py, quick.py, and the campaign of results."""

from pathlib import Path

import pytest

from tests import portable, quick

ROOT = Path(__file__).parents[1]
REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="one"/>
<testcase classname="tests.a" name="two"><skipped/></testcase>{more}
</testsuite></testsuites>"""


def outcome(folder: Path, exit_code: int, more: str = "") -> portable.Outcome:
    (folder / "junit.xml").write_text(REPORT.format(more=more))
    return portable.read_outcome(folder / "junit.xml", 1.0, exit_code)


def test_a_configuration_is_green_only_if_pytest_ended_well(tmp_path: Path) -> None:
    assert outcome(tmp_path, 0).is_green
    assert (outcome(tmp_path, 0).passed, outcome(tmp_path, 0).skipped) == (1, 1)
    interrupted = outcome(tmp_path, 2)
    assert not interrupted.is_green
    assert "ended with 2" in interrupted.failures[0]
    failed = outcome(tmp_path, 1, '<testcase classname="tests.a" name="three"><failure/></testcase>')
    assert (failed.is_green, failed.failures) == (False, ("tests/a.py::three",))
    assert not portable.read_outcome(tmp_path / "none.xml", 1.0, 4).is_green


def test_outcomes_belong_to_one_state_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "FOLDER", tmp_path)
    portable.place_of("as is").mkdir()
    portable.keep("as is", "now", portable.Outcome(3, 0, 0, 1.0, ()))
    assert portable.is_green("as is", "now")
    assert not portable.is_green("as is", "later")
    portable.keep("as is", "now", portable.Outcome(3, 1, 0, 1.0, ("tests/a.py::three",)))
    assert not portable.is_green("as is", "now"), "what failed is run again"


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/semfocus/runs/checkpoints.py", "tests/training/test_resume.py"),
        ("src/semfocus/kernels/cpu/source/vectors.inc", "tests/kernels/test_native.py"),
        ("tests/execution/minis.py", "tests/studies/test_execution.py"),
        ("tests/test_notation.py", "tests/test_notation.py"),
        ("README.md", "tests/test_readme.py"),
    ],
)
def test_a_change_chooses_the_tests_that_name_it(changed: str, tests: str) -> None:
    chosen = quick.chosen({ROOT / changed})
    assert tests in chosen
    assert len(chosen) < quick.MOST + len(quick.CORE)
    assert set(quick.CORE) <= set(chosen)


def test_every_path_of_the_quick_tests_exists() -> None:
    assert all((ROOT / path).exists() for path in (*quick.CORE, *quick.BESIDE.values()))
