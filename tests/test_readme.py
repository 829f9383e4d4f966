"""What the README shows must run."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.recipes.source import open_source

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^semfocus (.*?)(?: +#.*)?$", README, re.MULTILINE)


def test_the_library_snippet_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(BLOCKS[0], {})
    assert "tensor" in capsys.readouterr().out


def test_the_pattern_and_the_task_of_the_readme_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    classes = "".join(block for block in BLOCKS if "\nclass " in block)
    Path("mine.py").write_text(classes, encoding="utf-8")
    command = next(each for each in COMMANDS if "--recipe" in each)
    arguments = [word.strip('"') for word in command.split()]
    tiny = "-q --length 8 --epochs 1 -s model.d_model=8 -s model.num_blocks=1 -s training.num_train=40"
    result = CliRunner().invoke(app, [*arguments, *tiny.split(), "-s", "training.num_held_out=20"])
    assert result.exit_code == 0, result.stderr


def test_the_study_of_the_readme_can_be_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(BLOCKS[1], encoding="utf-8")
    source = open_source("mine.py")
    assert source.question == "Do deeper models need top-k less?"
    assert len(source.specs()) == 18


def test_the_options_of_its_studies_are_understood() -> None:
    for command in (each for each in COMMANDS if each.startswith("study quick --patterns")):
        result = CliRunner().invoke(app, [*shlex.split(command), "--dry-run"])
        assert result.exit_code == 0, result.stderr
        assert "top_p(0.9)" in result.stdout


def test_every_command_of_the_readme_exists() -> None:
    assert len(COMMANDS) >= 14
    for command in COMMANDS:
        result = CliRunner().invoke(app, [command.split()[0], "--help"])
        assert result.exit_code == 0, command


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target


def test_no_placeholder_is_left() -> None:
    assert "STUDY OUTPUT" not in README
