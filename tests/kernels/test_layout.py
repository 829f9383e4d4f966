"""What Python and the compiled kernels agree about is compared field by field, and a difference is refused in words."""

import ctypes
import ctypes.util
from pathlib import Path

import pytest

from semfocus.kernels.cpu import layout
from semfocus.kernels.cpu.layout import STRUCTS, WORDS, Pass, Problem, differences, read_table
from semfocus.kernels.cpu.library import Library, load_library
from tests.mechanisms.cases import needs_kernels

pytestmark = needs_kernels


def built() -> Path:
    library = load_library()
    assert library is not None
    return library.path


def table():
    return read_table(ctypes.CDLL(str(built())))


def changed(struct, change):
    """The struct with other fields: what a slip of the hand would make of it."""
    fields = [*struct._fields_]
    change(fields)
    return type(struct.__name__, (ctypes.Structure,), {"_fields_": tuple(fields)})


def swap(first, second):
    def change(fields):
        names = [name for name, _ in fields]
        here, there = names.index(first), names.index(second)
        fields[here], fields[there] = fields[there], fields[here]

    return change


def test_the_library_and_the_structs_agree():
    assert differences(table()) == []


def test_every_field_of_every_struct_is_compared():
    found = table()
    assert {name: [*found[name]] for name in STRUCTS} == {
        name: ["", *(field for field, _ in struct._fields_)] for name, struct in STRUCTS.items()
    }


def test_two_fields_of_one_size_that_changed_places_are_found():
    """The size of the struct is the same: comparing sizes alone saw nothing."""
    wrong = changed(Pass, swap("rows", "width"))
    assert ctypes.sizeof(wrong) == ctypes.sizeof(Pass)
    assert differences(table(), STRUCTS | {"Pass": wrong}) == [
        "Pass.rows is 8 bytes at 80 there, 8 bytes at 88 here",
        "Pass.width is 8 bytes at 88 there, 8 bytes at 80 here",
    ]


def test_a_field_that_is_missing_here_or_there_is_found():
    shorter = changed(Problem, lambda fields: fields.pop())
    longer = changed(Problem, lambda fields: fields.append(("more", ctypes.c_int64)))
    assert "Problem.threads is 4 bytes at 468 there, missing here" in differences(
        table(), STRUCTS | {"Problem": shorter}
    )
    assert "Problem.more is missing there, 8 bytes at 472 here" in differences(
        table(), STRUCTS | {"Problem": longer}
    )


def test_a_library_with_another_layout_is_refused(monkeypatch):
    monkeypatch.setitem(STRUCTS, "Pass", changed(Pass, swap("epsilon", "dropout")))
    with pytest.raises(ImportError, match=r"Pass\.epsilon is 8 bytes at 96 there, 8 bytes at 104 here"):
        Library(built())


def test_a_library_with_other_words_is_refused(monkeypatch):
    monkeypatch.setitem(layout.WORDS, "Mode", (*WORDS["Mode"], "newest"))
    with pytest.raises(ImportError, match=r"Mode is top, .*, all there, top, .*, all, newest here"):
        Library(built())


def test_a_library_without_a_table_is_refused():
    other = ctypes.util.find_library("c")
    if other is None:
        pytest.skip("no C library is found by name here")
    with pytest.raises(ImportError, match="other sources"):
        Library(Path(other))
