"""Figures of the page as files of their own: whole, with their style and their legend."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from semfocus.report.overview import arm_groups
from semfocus.report.palette import inks
from semfocus.report.sheet import WIDTH, sheet
from semfocus.report.svg import Drawing
from semfocus.report.why import why_sections
from semfocus.report.why_sheets import write_why_sheets
from semfocus.studies.analysis import analyse
from tests.report.made_up import study as made_up_study
from tests.report.test_hostile import HOSTILE
from tests.report.test_twins import ARMS, twins
from tests.report.test_why import study

SVG = "{http://www.w3.org/2000/svg}"


def figure(title: str = "one") -> Markup:
    drawing = Drawing(200, 100, title, "panel")
    drawing.add("text", title, css_class="panel-title", x=1, y=2)
    return drawing.markup()


def classes(element: ElementTree.Element) -> list[str]:
    return element.get("class", "").split()


def test_every_question_has_a_file_with_all_its_figures(tmp_path: Path) -> None:
    summaries = analyse(study())
    paths = write_why_sheets(summaries, tmp_path / "new")
    (part,) = why_sections(summaries, inks(arm_groups(summaries)))
    assert [path.name for path in paths] == [f"why-{block.name}.svg" for block in part.blocks]
    for path, block in zip(paths, part.blocks, strict=True):
        root = ElementTree.parse(path).getroot()
        assert root.tag == f"{SVG}svg"
        texts = [element.text for element in root.iter(f"{SVG}text")]
        assert texts[0] == block.question
        for label, _ in block.legend:
            assert label in texts
        assert not any("seed" in classes(element) for element in root.iter())  # seen only where one can point
        placed = [element for element in root if "scale(" in element.get("transform", "")]
        assert len(placed) == len(block.figures)


def test_every_class_of_a_sheet_has_its_style(tmp_path: Path) -> None:
    """What the page's style draws must not be lost in a file of its own."""
    for path in write_why_sheets(analyse(study()), tmp_path):
        root = ElementTree.parse(path).getroot()
        style = str(root[0].text)
        kinds = {each for element in root if element.get("transform") for each in classes(element)}
        used = {each for element in root.iter() for each in classes(element)}
        # of its own, not only inside another one
        lost = {each for each in used if not re.search(rf"(?:^|[}},\n\w])\.{each}(?![\w-])", style)}
        assert lost <= {"sheet", "arm", *kinds}


def test_twins_have_a_file_for_each_comparison(tmp_path: Path) -> None:
    records = [
        record | {"twins": [twins(2.0)]} for record in made_up_study(tasks=2, seeds=3, epochs=30, arms=ARMS)
    ]
    paths = write_why_sheets(analyse(records), tmp_path)
    assert [path.name for path in paths] == ["twins-1.svg", "twins-2.svg"]
    assert "one training sample replaced" in paths[0].read_text(encoding="utf-8")


def test_figures_stand_side_by_side_and_none_leaves_the_paper() -> None:
    ink = inks({"full": "baseline"})
    root = ElementTree.fromstring(sheet("t", [figure(str(n)) for n in range(5)], [], ink.values()))
    places = [
        [float(each) for each in re.findall(r"[\d.]+", element.get("transform", ""))]
        for element in root
        if element.get("transform")
    ]
    height = float(root.get("viewBox", "").split()[3])
    assert len({(x, y) for x, y, _ in places}) == 5
    assert all(x + 200 * scale <= WIDTH and y + 100 * scale <= height for x, y, scale in places)
    assert len({y for _, y, _ in places}) == 2


def test_a_long_legend_takes_rows_of_its_own() -> None:
    labels = {f"an arm with a rather long name {number}": "baseline" for number in range(9)}
    chosen = inks(labels)
    root = ElementTree.fromstring(sheet("t", [figure()], list(chosen.items()), chosen.values()))
    rows = {element.get("y") for element in root.iter(f"{SVG}text") if "an arm" in str(element.text)}
    assert len(rows) > 2
    first = float(re.findall(r"translate\([\d.]+ ([\d.]+)", ElementTree.tostring(root, "unicode"))[0])
    assert first > max(float(str(row)) for row in rows)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_stay_names(name: str) -> None:
    chosen = inks({name: "baseline"})
    root = ElementTree.fromstring(sheet(name, [figure(name)], list(chosen.items()), chosen.values()))
    known = {"svg", "style", "rect", "text", "g", "path", "circle"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= known


def test_what_is_no_drawing_of_ours_is_refused() -> None:
    with pytest.raises(ValueError, match="begin with their size"):
        sheet("t", [Markup("<svg></svg>")], [], [])
