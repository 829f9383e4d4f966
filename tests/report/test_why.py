"""The section "Why?": every test has its question, a figure, what it says and what it does not; nothing
hostile gets through.
"""

from typing import Any

import pytest

from semfocus.analysis.overview import arm_groups
from semfocus.analysis.plans import Analysis
from semfocus.measurements.interior import rows_inside, rows_noted_along
from semfocus.report.markdown import plain, report_text
from semfocus.report.pages.study_page import report_page
from semfocus.report.palette import inks
from semfocus.report.why import why_sections
from semfocus.report.why.block import MISSING
from semfocus.runs import Store
from semfocus.runs.directory import DamagedRun
from semfocus.runs.record import read_record
from tests.analysis.why.planted import EPOCHS, NEVER, SEEDS, TASKS, both, record, row
from tests.report import planted_study
from tests.report.pages import Page, numbers
from tests.report.test_hostile import SOME_HOSTILE


def full_rows(patterns: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = [*both("dispersion", 8.0), *both("effective_keys", 30.0), *both("gradient_norm_query_key", 0.1)]
    rows += [
        each
        for name in ("dispersion", "score_norm", "token_norm")
        for each in both(name, 2.0, layer=0, head=None if name == "token_norm" else 0)
    ]
    for pattern in patterns:
        other = {"pattern": pattern, "counterfactual": True}
        rows += both("dispersion", 4.0, **other) + both("dispersion_ratio", 0.5, null=0.4, **other)
        rows += both("separation", 0.1, **other) + both("key_load", 1.2, **other)
    return rows


def study(tasks: tuple[str, ...] = TASKS, fixed: str = "banded(5)") -> list[dict[str, Any]]:
    records = []
    for task in tasks:
        for seed in SEEDS:
            records.append(record(task, "full", seed, 60, full_rows(("top_k(5)", fixed))))
            records.append(
                record(
                    task,
                    "full",
                    seed,
                    20,
                    [*both("dispersion", 40.0), *both("effective_keys", 9.0)],
                    temperature=10.0,
                )
            )
            records.append(
                record(task, fixed, seed, 70, [*both("dispersion", 4.0), *both("effective_keys", 5.0)])
            )
            for k, epochs in ((1, 10), (5, 20), (9, 40)):
                rows = [*both("dispersion", k + 0.5), *both("separation", 1 / k), *both("key_load", 1.5)]
                rows += [*both("mask_agreement_0.01", 0.95), *both("effective_keys", float(k))]
                along = [row("effective_keys", float(k), epoch) for epoch in (0, 50, 100)]
                records.append(record(task, f"top_k({k})", seed, epochs, rows, along=along))
    return records


def sections(records: list[dict[str, Any]]):
    analysis = Analysis.of(records)
    return why_sections(analysis, inks(arm_groups(analysis.summaries)))


def test_every_test_has_its_question_a_figure_and_both_sides() -> None:
    (why,) = sections(study())
    assert why.size == "scaled-down setting"
    assert [block.question.split()[0] for block in why.blocks] == [
        "Does",
        "Does",
        "Sparsity",
        "Do",
        "How",
        "Are",
    ]
    for block in why.blocks:
        assert block.question.endswith("?")
        for part in (block.figures, block.says, block.says_not, block.how, block.tables):
            assert part
        assert all(len(cells) == len(table.columns) for table in block.tables for cells in table.rows)
    assert [len(figure.panels) for figure in why.blocks[2].figures] == [1, 3, 2], (
        "correlations, three quantities, one of them along two tasks"
    )


def test_runs_that_were_not_looked_into_have_no_section() -> None:
    bare = [
        {key: value for key, value in each.items() if key not in ("inside", "probes")} for each in study()
    ]
    assert sections(bare) == []
    assert 'id="why"' not in report_page(bare)
    assert "Why?" not in report_text(bare)


def test_what_does_not_exist_is_a_dash() -> None:
    few = [each for each in study(TASKS[:1]) if each["spec"]["seed"] == SEEDS[0]]
    (why,) = sections(few)
    text = report_text(few)
    assert "no interval: 1 task," in text or "no pair whose order is known" in text
    sharpened = why.blocks[2].tables[1]
    assert any(MISSING in cells for cells in sharpened.rows), "gradients were measured for full alone"
    assert "nan" not in text.lower().replace("nano", "")


def test_the_page_and_the_text_have_the_section() -> None:
    page = report_page(study())
    assert page.count('class="comparison why"') == 6
    assert '<a href="#why">' in page
    text = report_text(study())
    assert "## Why?" in text
    assert "### Does a pattern that shrinks the dispersion more learn faster?" in text


@pytest.fixture(scope="module")
def harmless() -> Page:
    return Page(report_page(study(("harmless", "parity"), "harmless(5)")))


@pytest.mark.parametrize("text", SOME_HOSTILE)
def test_names_never_become_markup(harmless: Page, text: str) -> None:
    page = Page(report_page(study((text, "parity"), text)))
    assert page.problems == []
    assert sorted(page.tags) == sorted(harmless.tags)


def test_measurements_are_read_from_the_store_and_damage_stops_nothing(store: Store, tiny_spec) -> None:
    specs = [tiny_spec(pattern=pattern) for pattern in ("full", "top_k(3)")]
    records = []
    for spec in specs:
        directory = store.directory(spec)
        directory.create(spec.model_dump(mode="json"))
        rows = [row("dispersion", 1.0), row("entropy", 1.0), row("dispersion", 2.0, data="train")]
        rows.append(row("dispersion", 3.0, epoch=5, quantities="along:abc"))
        directory.keep("inside", rows)
        records.append(read_record(directory))
    (store.directory(specs[1]).path / "probes.json").write_text("{")
    whole, damaged = records
    assert [each["mean"] for each in rows_inside(whole)] == [1.0, 1.0, 2.0]
    assert [each["mean"] for each in rows_noted_along(whole)] == [3.0]
    assert rows_inside(damaged) == rows_noted_along(damaged) == []
    with pytest.raises(DamagedRun):
        damaged.measurements["inside"]


def swept(last: float) -> planted_study.Rows:
    """Full attention never arrives; top_k(9) does at the last epoch, so its speedup is at least 1, as is
    every share.
    """
    records = [
        record("parity", "full", seed, NEVER, [row("dispersion", 8.0)]) for seed in planted_study.SEEDS
    ]
    for seed in planted_study.SEEDS:
        for k, reached in ((1, 50), (3, 80), (9, EPOCHS)):
            rows = [row("mask_agreement_0.01", 1.0)] + [row("dispersion", float(k))] * (k > 1)
            records.append(record("parity", f"top_k({k})", seed, reached, rows, last=last))
    return records


def test_only_speedups_can_lie_beyond_their_mark() -> None:
    """A triangle (a path that is closed) stands for `at least`; an accuracy of 1 is a plain dot."""
    sweep = next(block for block in planted_study.blocks(swept(1.0)) if block.question.startswith("How few"))
    triangles = [
        sum(row["bound"] is not None for row in panel.rows.to_dicts()) for panel in sweep.figures[0].panels
    ]
    assert triangles == [3, 0, 0, 0, 0]


def deeper(records: planted_study.Rows) -> planted_study.Rows:
    """The same at another depth, on one seed."""
    return [
        each
        | {
            "run": f"deep-{each['run']}",
            "spec": each["spec"] | {"model": each["spec"]["model"] | {"num_blocks": 2}},
        }
        for each in records
        if each["spec"]["seed"] == planted_study.SEEDS[0]
    ]


def test_comparisons_that_are_not_tested_are_named() -> None:
    records = planted_study.study()
    both = [*records, *deeper(planted_study.study(tuple(planted_study.PLANTED)[:1]))]
    analysis = Analysis.of(both)
    (why,) = why_sections(analysis, inks(arm_groups(analysis.summaries)))
    assert numbers(why.not_tested)[-1] == 6, "runs"
    assert "num_blocks 2" in why.not_tested
    assert plain(why.not_tested) in report_text(both)
    assert why.not_tested in Page(report_page(both)).text.replace("\u00a0", " ")
    analysis = Analysis.of(records)
    (why,) = why_sections(analysis, inks(arm_groups(analysis.summaries)))
    assert why.not_tested == ""
