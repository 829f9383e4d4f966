"""One task, one seed, seeds that agree: sentences stay right where there is only one of something."""

import html
import re

import pytest

from semfocus.measurements import Inside, Landscape
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from tests.report.pages import numbers
from tests.report.planted_study import PLANTED, Rows, blocks, study

NOUNS = "runs|tasks|seeds|samples|pairs|keys|epochs|sequences|points|quantities|comparisons|eigenvalues"
PLURAL_OF_ONE = re.compile(rf"(?<![\d.,])1 (?:{NOUNS})\b.{{0,30}}")
#: `2.06 to 2.06`
RANGE_OF_ONE = re.compile(r"(?<![\w.+-])([+-]?\d[\d.]*%?x?) to \1(?![\w.%])")


def smallest(num_seeds: int) -> Rows:
    return [each for each in study(tuple(PLANTED)[:1]) if each["spec"]["seed"] <= num_seeds]


def wrong(text: str) -> list[str]:
    return [
        found[0]
        for pattern in (PLURAL_OF_ONE, RANGE_OF_ONE)
        for found in pattern.finditer(html.unescape(text))
    ]


@pytest.mark.parametrize("num_seeds", [1, 3])
def test_reports_of_one_task(num_seeds: int) -> None:
    records = smallest(num_seeds)
    assert wrong(report_text(records)) == []
    assert wrong(re.sub(r"<[^>]+>", "", report_page(records))) == []


def test_why_of_one_task_says_that_it_is_one() -> None:
    assert numbers(blocks(smallest(3))[1].says_not)[0] == 1
    assert numbers(blocks(study())[1].says_not)[0] == 4


def test_plans_of_one() -> None:
    assert wrong(str(Inside(samples=1, every=1))) == wrong(str(Landscape(hessian=1))) == []
    assert wrong(str(Inside(samples=1, every=1)).replace("sequence", "sequences")), "there is one"
