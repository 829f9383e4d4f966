"""Nothing a user names becomes markup: the tags of the page are the same whatever the names are."""

from typing import Any

import pytest

from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from semfocus.runs.plan import Plan
from tests.report.made_up import PAPER_SEEDS, record_of, spec_of
from tests.report.pages import Page, charts_of

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "closing": "</script></style></svg></title><img src=x onerror=alert(1)>",
    "double quote": 'a" onload="alert(1)" b="',
    "single quote": "a' onload='alert(1)",
    "comment": "<!-- --> ]]> <![CDATA[ &amp; &#60;b&#62;",
    "template": "{{ 7 * 7 }} {% raw %} ${1+1}",
    "long": "x" * 300,
    "right to left": "abc\u202e\u2066def\u200f",
    "control": "a\x00b\x1bc\u2028d\ud800e\nf",
    "bars": "a | b \\| c `d` ``e | f",
    "greek": "ῥυθμός ‏עברית",
}

SOME_HOSTILE = [
    pytest.param(
        text, id=name, marks=[] if name in {"closing", "template", "control"} else [pytest.mark.slow]
    )
    for name, text in HOSTILE.items()
]
"""For pages other than the study's: three by default, all with `-m slow`."""


def records_named(task: str, pattern: str, text: str) -> tuple[list[dict[str, Any]], Plan]:
    """Runs whose task, pattern, reason, environment and settings a user chose."""
    records = [
        record_of(spec_of(task, each, seed, training__length=16), middle=middle)
        for each, middle in (("full", 30), (pattern, 10))
        for seed in PAPER_SEEDS[:3]
    ]
    for record in records:
        record["spec"]["recipe"] = text
        record["environment"]["host platform"] = text
        record["environment"] = {"host platform": text, "numerics": {"torch": text}}
    records[-1] |= {"state": "failed", "reason": text}
    records.append({"run": "c0ffee", "spec": {}, "state": "corrupt", "reason": text})
    plan = Plan(text, text, f"semfocus study {text}", [record["run"] for record in records])
    return records, plan


def page_with(text: str) -> Page:
    records, plan = records_named(text, text, text)
    return Page(report_page(records, plans=[plan], title=text))


@pytest.fixture(scope="module")
def harmless() -> Page:
    return page_with("harmless")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_tags_of_the_page_do_not_depend_on_names(harmless: Page, text: str) -> None:
    page = page_with(text)
    assert page.problems == []
    assert page.tags == harmless.tags


def test_what_the_user_wrote_can_still_be_read() -> None:
    page = page_with("<b>&amp;</b>")
    assert "<b>&amp;</b>" in page.text
    assert page.text.count("<b>&amp;</b>") > 10


def test_no_character_turns_the_words_around_it() -> None:
    for text in (HOSTILE["right to left"], HOSTILE["control"]):
        records, plan = records_named(text, text, text)
        written = report_page(records, plans=[plan], title=text)
        written.encode()
        assert not set(written) & set("\u202e\u2066\u200f\x00\x1b\u2028\ud800")


def test_only_the_script_we_wrote_may_run(harmless: Page) -> None:
    """The policy names the digests of the script and of Vega, so that a script from anywhere else would not run."""
    policy = next(value for tag, name, value in harmless.values if tag == "meta" and "script-src" in value)
    assert policy.count("'sha256-") == 2
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy
    scripts = [names for kind, tag, names in harmless.tags if (kind, tag) == ("start", "script")]
    assert scripts == [("type", "id"), (), ()], "numbers, our script, Vega"


def test_no_name_ends_the_block_of_numbers() -> None:
    records, plan = records_named(*[HOSTILE["closing"]] * 3)
    arms = {row["arm"] for chart in charts_of(report_page(records, plans=[plan])) for row in chart.rows}
    assert arms == {"full", HOSTILE["closing"]}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_markdown_keeps_its_tables(text: str) -> None:
    def shape(name: str) -> list[tuple[int, str]]:
        records, plan = records_named(name, name, name)
        lines = report_text(records, plans=[plan]).splitlines()
        return [
            (_bars(line) if line.startswith("|") else 0, line[:2] if line.startswith(("#", "|")) else "")
            for line in lines
        ]

    assert shape(text) == shape("harmless")


def _bars(line: str) -> int:
    """Bars that divide cells: those without a backslash before them."""
    return line.replace("\\\\", "").replace("\\|", "").count("|")


def test_markdown_has_no_tags() -> None:
    records, plan = records_named(*[HOSTILE["script"]] * 3)
    text = report_text(records, plans=[plan])
    outside_code = "".join(part for place, part in enumerate(text.split("`")) if place % 2 == 0)
    assert "<script>" not in outside_code
