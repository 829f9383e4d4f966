"""The Markdown text says what the page says."""

from pathlib import Path

import pytest

from semfocus.analysis.plans import Analysis
from semfocus.analysis.summaries import analyse
from semfocus.analysis.tables import summary_rows
from semfocus.report import write_markdown
from semfocus.report.markdown import plain, report_text
from semfocus.report.pages.study_page import write_figures
from tests.report.made_up import study


def test_sentences_and_numbers_are_those_of_the_analysis(tmp_path: Path) -> None:
    records = study(tasks=2, seeds=4, epochs=60)
    text = write_markdown(records, tmp_path / "deep" / "report.md").read_text(encoding="utf-8")
    for summary in analyse(records):
        assert plain(summary.sentence) in text
        for row in summary_rows(summary):
            assert plain(row["epochs"]) in text
            assert plain(row["speedup"]) in text


def test_the_text_says_how_many_runs_have_not_ended_when_it_was_made_and_what_was_asked() -> None:
    records = study(tasks=1, seeds=2, epochs=20)
    records[0] |= {"state": "unfinished"}
    text = report_text(records, title="Is <b>mine</b> faster?")
    assert text.startswith("# Is \\<b\\>mine\\</b\\> faster?\n\n14 runs on 1 task, 1 unfinished. Made 20")


def test_losses_that_nobody_kept_are_unknown() -> None:
    """Small exports have none."""
    records = study(tasks=1, seeds=2, epochs=20)
    assert "nan" not in report_text(records)
    for record in records:
        record["curve"]["train_loss"][:] = [float("nan")] * 20
    assert "+nan" not in report_text(records)


def test_an_empty_store_has_a_text_too() -> None:
    assert "0 runs." in report_text([])


@pytest.mark.parametrize("kind", ["pdf", "png", "svg"])
def test_figures_are_written(kind: str, tmp_path: Path) -> None:
    paths = write_figures(Analysis.of(study(tasks=2, seeds=3, epochs=30)), tmp_path, kind)
    names = ["speedup", "curves-1", "survival-1", "curves-2", "survival-2"]
    assert [path.name for path in paths] == [f"{name}.{kind}" for name in names]
    begins = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<svg"}[kind]
    for path in paths:
        assert path.read_bytes().startswith(begins)
        assert path.stat().st_size > 2000


def test_a_figure_is_whole_on_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "speedup.svg").write_text("old")

    def no_room(descriptor: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.fsync", no_room)
    with pytest.raises(OSError, match="no room"):
        write_figures(Analysis.of(study(tasks=1, seeds=2, epochs=10)), tmp_path, "svg")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of pdf, png, svg, got 'gif'"):
        write_figures(Analysis([]), tmp_path, "gif")
