"""The page for students: its pictures are what its scripts draw, its numbers what they print, its commands work."""

import contextlib
import importlib
import io
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "examples" / "learn"
IMAGES = ROOT / "docs" / "images" / "learn"
PAGE = (ROOT / "docs" / "learn.md").read_text(encoding="utf-8")
NAMES = runpy.run_path(str(SCRIPTS / "all.py"))["SCRIPTS"]
SECTIONS = {
    found.group(1): section
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)
    if (found := re.search(r"examples/learn/(\w+)\.py", section))
}
#: these run a model, whose sums depend on the processor
MODELS = ("sharpness", "twins")
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"

Run = Callable[[str], tuple[str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """run(name): what the script prints and the picture it draws; every script runs once."""
    folder = tmp_path_factory.mktemp("learn")
    done: dict[str, tuple[str, str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        patch.setattr(importlib.import_module("picture"), "IMAGES", folder)

        def once(name: str) -> tuple[str, str]:
            if name not in done:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="__main__")
                done[name] = printed.getvalue(), (folder / f"{name}.svg").read_text(encoding="utf-8")
            return done[name]

        yield once


def numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(NUMBER, text)]


def fenced(section: str, language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", section, re.DOTALL | re.MULTILINE)


def shape(picture: str) -> list[tuple[str, str, str]]:
    """Tags, classes and words without what is measured."""
    return [
        (each.tag, each.get("class", ""), re.sub(NUMBER, "#", each.text or ""))
        for each in ElementTree.fromstring(picture).iter()
    ]


def coordinates(picture: str) -> list[float]:
    """All numbers of the drawing, also in its compact paths."""
    return [float(each) for each in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", picture)]


def test_every_script_has_its_section_and_the_page_its_order() -> None:
    assert tuple(SECTIONS) == NAMES
    assert {path.stem for path in SCRIPTS.glob("*.py")} == {*NAMES, "all", "drawing", "picture"}
    assert {path.stem for path in IMAGES.glob("*.svg")} == set(NAMES)
    for name, section in SECTIONS.items():
        assert f"](images/learn/{name}.svg)" in section
        assert re.search(r"^\*\*.+\?", section, re.MULTILINE), "a section asks a question"
        assert "**Answer.**" in section


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_in_the_repository_is_what_the_script_draws(name: str, run: Run) -> None:
    kept, drawn = (IMAGES / f"{name}.svg").read_text(encoding="utf-8"), run(name)[1]
    assert shape(drawn) == shape(kept)
    if (
        name not in MODELS
    ):  # a tenth is the last digit of a coordinate, which another processor may round otherwise
        assert coordinates(drawn) == pytest.approx(coordinates(kept), abs=0.21, rel=0)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_what_the_script_prints(name: str, run: Run) -> None:
    (shown,) = fenced(SECTIONS[name], "text")
    printed = run(name)[0]
    if name in MODELS:
        assert re.sub(NUMBER, "#", printed) == re.sub(NUMBER, "#", shown)
        assert numbers(printed) == pytest.approx(numbers(shown), rel=0.05, abs=2e-4)
    else:
        assert printed == shown


@pytest.mark.parametrize("name", NAMES)
def test_numbers_in_the_text_are_printed_ones_or_settings_of_the_script(name: str) -> None:
    section = SECTIONS[name]
    words = re.sub(r"```.*?```", "", section, flags=re.DOTALL)
    (shown,) = fenced(section, "text")
    settings = re.findall(
        r"^[A-Z][A-Z_, ]* = .*", (SCRIPTS / f"{name}.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    known = {*numbers(shown), *numbers(" ".join(settings))}
    assert {float(each) for each in re.findall(r"\d+\.\d+", words)} <= known


@pytest.mark.parametrize("name", NAMES)
def test_the_code_shown_is_in_the_script(name: str) -> None:
    script = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    blocks = fenced(SECTIONS[name], "python")
    assert blocks
    for block in blocks:
        assert f"\n{block}" in script


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_small_and_readable_on_dark_pages(name: str) -> None:
    picture = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
    assert len(picture) < 40_000
    assert "prefers-color-scheme:dark" in picture
    svg = ElementTree.fromstring(picture)
    assert svg.get("aria-label")
    assert "nan" not in picture
    width, height = float(svg.get("width", 0)), float(svg.get("height", 0))
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 <= float(text.get("x", -1)) <= width, text.text
        assert 0 <= float(text.get("y", -1)) <= height, text.text
        if "title" in text.get("class", ""):  # about 9.5 units a character, from 16 on
            assert 16 + 9.5 * len(text.text or "") <= width, text.text


def test_scripts_are_short_enough_to_read() -> None:
    for name in NAMES:
        assert len((SCRIPTS / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 70, name


@pytest.mark.slow
def test_a_script_by_itself_leaves_the_documentation_alone(tmp_path: Path) -> None:
    """It writes into the current folder and says where; only all.py makes the pictures of the page."""
    kept = (IMAGES / "attention.svg").stat().st_mtime_ns
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "attention.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (tmp_path / "attention.svg").exists()
    assert done.stderr == "picture: attention.svg\n"
    assert (IMAGES / "attention.svg").stat().st_mtime_ns == kept
    assert '/ "docs" / "images" / "learn"' in (SCRIPTS / "all.py").read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    assert "\nlearn:" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_exercises_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they stand, but with less of everything."""
    monkeypatch.chdir(tmp_path)
    less = {
        "study": "--dry-run",
        "train": "--epochs 1 -q -s model.d_model=8 -s training.num_train=30 -s training.num_held_out=20",
        "probe": "--samples 8",
        "landscape": "--points 3 --samples 8 --executor serial -q",
        "bounds": "",
        "report": "",
    }
    exercises = PAGE.split("## Exercises")[1]
    commands = [line.strip() for block in fenced(exercises, "bash") for line in block.splitlines()]
    assert {command.split()[1] for command in commands} == set(less)
    runs: list[str] = []
    for command in commands:
        for place, kind in enumerate(("RUN_FULL", "RUN_TOPK")):
            command = command.replace(kind, runs[place] if len(runs) > place else kind)
        _, name, *arguments = shlex.split(command)
        before = set(Path("runs").glob("*"))
        result = CliRunner().invoke(app, [name, *arguments, *less[name].split()])
        assert result.exit_code == 0, (command, result.output)
        if name == "train":
            runs += [path.name for path in Path("runs").iterdir() if path not in before]
    for page in ("probes", "along", "report", "landscape"):
        assert (tmp_path / f"{page}.html").exists()
    assert "Why?" in (tmp_path / "report.html").read_text(encoding="utf-8")
