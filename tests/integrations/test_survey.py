"""The table of families in docs/hugging_face.md is what a survey of the installed transformers finds."""

from pathlib import Path

import pytest

from tests.integrations.survey import OUTCOMES, families, look_at, table

pytestmark = pytest.mark.hf
PAGE = Path(__file__).parents[2] / "docs" / "hugging_face.md"


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


@pytest.mark.slow
def test_all_families():
    """Ten minutes and more; `python -m tests.integrations.survey` prints the reasons."""
    rows = [look_at(family) for family in families()]
    wrong = [row for row in rows if row.outcome in ("differs", "stopped")]
    assert not wrong
    assert table(rows) in PAGE.read_text(encoding="utf-8")
