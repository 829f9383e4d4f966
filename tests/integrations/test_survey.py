"""The tables of families in the docs are what a survey of the installed transformers finds."""

from pathlib import Path

import pytest

from tests.integrations.survey import OUTCOMES, families, look_at, page, table

pytestmark = pytest.mark.hf
PAGE = Path(__file__).parents[2] / "docs" / "hugging_face.md"
FAMILIES = PAGE.with_name("hugging_face_families.md")


@pytest.mark.parametrize(
    ("family", "outcome"),
    [
        ("llama", "equal"),
        ("clip", "equal"),
        ("deepseek_v4", "equal"),
        ("siglip2", "not run"),
        ("paligemma", "eager"),
        ("bloom", "refused"),
        ("mamba", "no attention"),
    ],
)
def test_a_few_families(family, outcome):
    row = look_at(family)
    assert row.outcome == outcome, row


def test_every_outcome_has_its_line_in_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| {words} | " in text for words in OUTCOMES.values())


def test_the_pages_agree():
    text, counts = FAMILIES.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    listed = 0
    for outcome, words in OUTCOMES.items():
        _, title, rest = text.partition(f"\n## {words[0].upper()}{words[1:]} (")
        section = rest.partition("\n## ")[0].splitlines()
        number = sum(line.startswith("| ") for line in section) - bool(title)  # without the head of the table
        assert f"| {words} | {number} |" in text, outcome
        assert f"| {words} | {number} |" in counts, outcome
        listed += number
    assert f"| all | {listed} |" in counts


@pytest.mark.slow
def test_all_families():
    """Ten minutes and more; `python -m tests.integrations.survey --page docs/hugging_face_families.md` writes it."""
    rows = [look_at(family) for family in families()]
    wrong = [row for row in rows if row.outcome in ("differs", "stopped")]
    assert not wrong
    assert table(rows) in PAGE.read_text(encoding="utf-8")
    assert page(rows) == FAMILIES.read_text(encoding="utf-8")
