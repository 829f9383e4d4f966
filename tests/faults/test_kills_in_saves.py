"""A sample of the kills of `make torture`."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from semfocus.runs.checkpoints import Checkpoint, load_newest
from tests.faults.kills import KINDS, STORIES, tell, undisturbed
from tests.faults.victims import is_saving, start_fork, stop

pytestmark = pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(),
    reason="needs /proc as Linux has it",
)


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    return undisturbed()


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("serial", 3),
        ("two drivers", 4),
        *(pytest.param(name, 10, marks=pytest.mark.slow) for name in STORIES),
    ],
)
def test_a_study_that_is_killed_while_it_saves_ends_as_if_nothing_had_happened(
    kind: str, most: int, expected: dict[str, str]
) -> None:
    reason = KINDS[kind].impossible()
    if reason is not None:
        pytest.skip(reason)
    row = tell(replace(KINDS[kind], most=most), 0, expected)
    assert row["problems"] == []
    assert 1 <= len(row["kills"]) <= most
    deaths = sum(each["target"] != "worker" for each in row["kills"])
    assert row["commands"] == KINDS[kind].commands + deaths


def test_a_story_sees_a_run_that_continued_with_one_wrong_bit(
    expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(parent: Path, kind: str) -> tuple[Checkpoint | None, list[str]]:
        found, problems = load_newest(parent, kind)
        if found is not None:
            next(iter(found.groups["model"].values())).view(torch.int32)[0] ^= 1
        return found, problems

    monkeypatch.setattr("semfocus.training.runner.load_newest", wrong)
    kind = replace(KINDS["serial"], most=4)
    stories = (tell(kind, number, expected) for number in range(8))  # perhaps no kill was between two epochs
    assert any("record.json is other" in each for story in stories for each in story["problems"])


def test_who_is_saving(tmp_path: Path) -> None:
    """A process with a journal open for writing is, one that reads it is not."""

    def hold(flags: int) -> int:
        os.open(tmp_path / "journal.jsonl", flags | os.O_CREAT)
        (tmp_path / "ready").touch()
        while True:
            pass

    for flags, saves in ((os.O_RDWR, True), (os.O_RDONLY, False)):
        victim = start_fork(lambda flags=flags: hold(flags), tmp_path, tmp_path / "said")
        while not (tmp_path / "ready").exists():
            pass
        stop(victim.driver)
        assert is_saving(victim.driver) == saves
        victim.end()
        (tmp_path / "ready").unlink()
