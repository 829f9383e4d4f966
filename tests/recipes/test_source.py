from pathlib import Path

import pytest

from semfocus.recipes.source import open_source
from semfocus.studies.selection import with_patterns
from tests.tests_recipe import RECIPE

OWN = """
from semfocus.studies import grid

QUESTION = "Is every other key enough?"

def specs():
    base = {"task": "parity", "training": {"length": 6}}
    return grid(base, pattern=["full", "every_other(2)"], seed=[0, 1])
"""


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_with_a_pattern_of_its_own_marks_the_runs_that_use_it(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "mine.py", RECIPE + OWN))
    specs = source.marked(source.specs())
    assert (source.name, source.question) == ("mine", "Is every other key enough?")
    # `full` is the same run whatever the file says
    assert {(spec.pattern, spec.recipe) for spec in specs} == {
        ("full", None),
        ("every_other(2)", source.digest),
    }


def test_a_file_that_uses_nothing_of_its_own_shares_runs_with_everyone(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "mine.py", OWN.replace("every_other(2)", "top_k(2)")))
    assert {spec.recipe for spec in source.marked(source.specs())} == {None}


def test_a_pattern_from_a_recipe_file_can_join_a_recipe(tmp_path: Path) -> None:
    source = open_source("quick", Path(write(tmp_path / "mine.py", RECIPE)))
    specs = source.marked(with_patterns(source.specs(), ["full", "every_other(2)"]))
    assert {(spec.pattern, spec.recipe) for spec in specs} == {
        ("full", None),
        ("every_other(2)", source.digest),
    }
    assert {spec.recipe for spec in source.marked(source.specs())} == {None}


MISTAKES = {
    "no specs": ("x = 1", "must define specs()"),
    "not a list": ("def specs():\n    return 3", "must be a list of RunSpec, got 3"),
    "wrong items": ("def specs():\n    return [3]", "got a list with 3"),
    "empty": ("def specs():\n    return []", "mine has no runs"),
    "twice": (
        "from semfocus.studies import RunSpec\ndef specs():\n    return 2 * [RunSpec(task='parity')]",
        "1 run is listed more than once, the first is parity full seed 0",
    ),
    "raises": ("def specs():\n    return nothing", "cannot be made: NameError"),
    "misspelt": (
        "from semfocus.studies import grid\ndef specs():\n    return grid({'task': 'parity'}, sead=[1])",
        "did you mean 'seed'",
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_a_file_is_a_value_error_that_says_so(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        open_source(write(tmp_path / "mine.py", text)).specs()
    assert message in str(caught.value)


def test_unknown_names_name_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'temperature'"):
        open_source("temprature")


def test_patterns_of_a_study_file_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    patterns = Path(write(tmp_path / "patterns.py", RECIPE))
    source = open_source(write(tmp_path / "mine.py", OWN), patterns)
    assert {spec.recipe for spec in source.marked(source.specs())} == {None, source.digest}
    assert source.digest == open_source("quick", patterns).digest
    with pytest.raises(ValueError, match="leave --recipe out"):
        open_source(write(tmp_path / "both.py", RECIPE + OWN), patterns)
