"""Whether each mutant still fits the source; which test catches it: `make mutants`."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import semfocus
from tests.mutants.campaign import MUTANTS, Copy, tried
from tests.mutants.mutant import Mutant
from tests.portable import ROOT

PACKAGE = Path(semfocus.__file__).parent


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_fits_the_source(mutant: Mutant) -> None:
    text = mutant.text(PACKAGE)
    assert text != (PACKAGE / mutant.file).read_text(encoding="utf-8")
    if mutant.file.endswith(".py"):
        ast.parse(text)
    assert all((ROOT / test.split("::")[0]).exists() for test in mutant.tests)


def test_names_are_different_and_there_are_many() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20


def test_one_that_does_not_fit_any_more_fails() -> None:
    for old in ("this is nowhere", "import", MUTANTS[0].new):
        with pytest.raises(ValueError, match="times, not once"):
            replace(MUTANTS[0], old=old).text(PACKAGE)


class Tries(Copy):
    """Without a copy of the project."""

    def __init__(self, folder: Path, caught: str) -> None:
        self.folder, self.caught = folder, caught

    def first_failure(self, tests: object) -> str:
        return self.caught


def test_what_no_test_catches_is_a_problem(tmp_path: Path) -> None:
    mutant = MUTANTS[0]
    place = tmp_path / "src" / "semfocus" / mutant.file
    place.parent.mkdir(parents=True)
    before = (PACKAGE / mutant.file).read_bytes()
    place.write_bytes(before)
    assert tried(mutant, Tries(tmp_path, caught="tests/a.py::b"))["problems"] == []
    assert "survived" in tried(mutant, Tries(tmp_path, caught=""))["problems"][0]
    assert place.read_bytes() == before
    assert "times, not once" in tried(replace(mutant, old="?"), Tries(tmp_path, caught=""))["problems"][0]
