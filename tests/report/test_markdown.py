"""The Markdown text says what the page says."""

from pathlib import Path

import pytest

from semfocus.report import write_markdown
from semfocus.report.markdown import plain, report_text
from semfocus.report.paper_figures import write_figures
from semfocus.studies.analysis import analyse
from semfocus.studies.tables import summary_rows
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


def test_an_empty_store_has_a_text_too() -> None:
    assert "0 runs." in report_text([])


@pytest.mark.parametrize("kind", ["pdf", "svg"])
def test_paper_figures_are_written(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    paths = write_figures(analyse(study(tasks=2, seeds=3, epochs=30)), tmp_path, kind)
    assert [path.name for path in paths] == [f"speedups.{kind}", f"curves-1.{kind}", f"curves-2.{kind}"]
    assert all(path.stat().st_size > 2000 for path in paths)


def test_a_figure_is_whole_on_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    (tmp_path / "speedups.svg").write_text("old")

    def no_room(descriptor: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.fsync", no_room)
    with pytest.raises(OSError, match="no room"):
        write_figures(analyse(study(tasks=1, seeds=2, epochs=10)), tmp_path, "svg")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]


def test_a_name_with_dollars_is_not_read_as_mathematics(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    records = study(tasks=1, seeds=2, epochs=10)
    for record in records:
        record["spec"]["task"] = r"$\undefined{$"
    assert write_figures(analyse(records), tmp_path, "svg")


def test_without_matplotlib_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ValueError, match="need matplotlib"):
        write_figures([], tmp_path, "pdf")
