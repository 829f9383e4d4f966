from pathlib import Path

import pytest

from semfocus.runs.directory import epoch_rows
from semfocus.runs.journal import CorruptJournal, append, read_journal


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    for number in range(3):
        append(path, {"event": "epoch", "epoch": number, "loss": 0.1 + number})
    return path


def test_what_is_appended_is_read_back(journal: Path) -> None:
    assert [event["epoch"] for event in read_journal(journal)] == [0, 1, 2]
    assert read_journal(journal)[1] == {"event": "epoch", "epoch": 1, "loss": 1.1}


@pytest.mark.parametrize("cut", [1, 2, 10, 30])
def test_an_incomplete_last_line_is_left_out_and_cut_before_the_next_append(journal: Path, cut: int) -> None:
    content = journal.read_bytes()
    journal.write_bytes(content[:-cut])
    assert [event["epoch"] for event in read_journal(journal)] == [0, 1]
    append(journal, {"event": "epoch", "epoch": 2, "loss": 2.1})
    assert journal.read_bytes() == content


@pytest.mark.parametrize(("first", "last"), [(0, 20), (10, 11), (5, None), (0, None)])
def test_a_last_line_with_sectors_that_were_not_written_is_cut(
    journal: Path, first: int, last: int | None
) -> None:
    """After a loss of power: its end may be there, and zeros in its middle."""
    content = journal.read_bytes()
    start = content.rindex(b"\n", 0, -1) + 1
    torn = bytearray(content)
    stop = len(torn) if last is None else start + last
    torn[start + first : stop] = bytes(stop - start - first)
    journal.write_bytes(torn)
    assert [event["epoch"] for event in read_journal(journal)] == [0, 1]
    append(journal, {"event": "epoch", "epoch": 2, "loss": 2.1})
    assert journal.read_bytes() == content


def test_a_cut_longer_than_a_block_is_found(journal: Path) -> None:
    content = journal.read_bytes()
    journal.write_bytes(content + b"x" * 10_000)
    append(journal, {"event": "end"})
    assert [event["event"] for event in read_journal(journal)] == ["epoch", "epoch", "epoch", "end"]


def test_a_changed_bit_in_a_complete_line_is_corruption(journal: Path) -> None:
    content = bytearray(journal.read_bytes())
    position = content.index(b"1.1")
    content[position] ^= 1
    journal.write_bytes(bytes(content))
    with pytest.raises(CorruptJournal, match="line 2"):
        read_journal(journal)


def test_an_attempt_replaces_what_earlier_ones_said_of_later_epochs() -> None:
    events = [
        {"event": "attempt", "resumed_after": -1},
        {"event": "epoch", "epoch": 0, "loss": 1.0},
        {"event": "epoch", "epoch": 1, "loss": 0.5},
        {"event": "epoch", "epoch": 2, "loss": 0.3},
        {"event": "interrupted"},
        {"event": "attempt", "resumed_after": 1},
        {"event": "epoch", "epoch": 2, "loss": 0.3},
        {"event": "epoch", "epoch": 3, "loss": 0.2},
    ]
    assert [row["epoch"] for row in epoch_rows(events)] == [0, 1, 2, 3]
