"""The style of the pages: a class means one thing."""

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

import semfocus.report
from semfocus.report.landscape_page import landscape_page
from semfocus.report.page import report_page
from semfocus.report.probe_page import probe_page
from tests.report.pages import Page
from tests.report.test_landscape_page import made_up
from tests.report.test_probe_page import probed
from tests.report.test_why import study

DRAWN = {"svg", "g", "path", "line", "rect", "circle", "text", "title"}

PAGES: dict[str, Callable[[], str]] = {
    "report": lambda: report_page(study()),
    "probes": lambda: probe_page(probed()),
    "landscape": lambda: landscape_page([made_up("full"), made_up("top_k(5)")]),
}
#: what drawings may hold that these pages happen not to show
NAMED = {
    each
    for path in Path(semfocus.report.__file__).parent.rglob("*.py")
    if path.stem != "regions_figure"  # a file of its own, with a style of its own
    for words in re.findall(r'css_class=f?"([^"]*)"', path.read_text(encoding="utf-8"))
    for each in re.sub(r"\{[^}]*\}", "", words).split()
}


@pytest.mark.parametrize("name", PAGES)
def test_no_class_is_both_of_a_drawing_and_of_the_text_around_it(name: str) -> None:
    """Only inks are: they are colours. A dotted line and a box once had one name, and the box faded."""
    used: dict[str, set[bool]] = defaultdict(set, {each: {True} for each in NAMED})
    for tag, attribute, value in Page(PAGES[name]()).values:
        if attribute == "class":
            for each in value.split():
                used[each].add(tag in DRAWN)
    both = {each for each, where in used.items() if len(where) == 2}
    assert both == {each for each in both if each.removeprefix("arm").isdigit()}
    assert {"alone", "median"} <= NAMED
