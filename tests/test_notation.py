"""Strict values written as text, with values of the tests' own."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semfocus.notation import Notation, describe, did_you_mean, read, signature


@dataclass(frozen=True)
class Plain(Notation):
    name = "plain"


@dataclass(frozen=True)
class Box(Notation):
    width: int
    height: float = 1.5
    open: bool = False
    painted: bool = False

    name = "box"

    def validate(self) -> None:
        self.require_at_least("width", 2)


@dataclass(frozen=True)
class Lid(Notation):
    open: bool = False

    name = "lid"


KNOWN = {cls.name: cls for cls in (Plain, Box, Lid)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Plain(), "plain"),
        (Lid(), "lid"),
        (Lid(open=True), "lid(open)"),
        (Box(3), "box(3,1.5)"),
        (Box(3, 0.1), "box(3,0.1)"),
        (Box(3, -2.0, open=True), "box(3,-2.0,open)"),
        (Box(3, 1e100, painted=True), "box(3,1e+100,painted)"),
        (Box(3, 1.5, open=True, painted=True), "box(3,1.5,open,painted)"),
    ],
)
def test_values_are_written_and_read_back(value, text):
    assert str(value) == text
    assert read(text, KNOWN, "thing") == value


@given(st.builds(Box, st.integers(min_value=2), st.floats(allow_nan=False), st.booleans(), st.booleans()))
def test_any_value_survives_the_way_through_text(value):
    assert read(str(value), KNOWN, "thing") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" box ( 3 , 2.5 , open ) ", Box(3, 2.5, open=True)),
        ("box(3)", Box(3)),
        ("box(+3)", Box(3)),
        ("plain()", Plain()),
        ("plain( )", Plain()),
    ],
)
def test_spaces_signs_and_defaults_are_understood(text, value):
    assert read(text, KNOWN, "thing") == value


@pytest.mark.parametrize("width", [True, 5.0, 2.5, "5", None])
def test_an_int_field_takes_an_int_and_nothing_else(width):
    with pytest.raises(ValueError, match=f"box: width must be an integer, got {width!r}"):
        Box(width)


@pytest.mark.parametrize("height", [True, 1, "1.5", None])
def test_a_float_field_takes_a_float_and_nothing_else(height):
    with pytest.raises(ValueError, match=f"box: height must be a float, got {height!r}"):
        Box(3, height)


@pytest.mark.parametrize("is_open", [1, 0, "open", None])
def test_a_bool_field_takes_a_bool_and_nothing_else(is_open):
    with pytest.raises(ValueError, match=f"box: open must be True or False, got {is_open!r}"):
        Box(3, 1.5, is_open)


def test_validate_runs_after_the_types_are_known():
    with pytest.raises(ValueError, match="box: width must be at least 2, got 1"):
        Box(1)


def test_the_smallest_allowed_value_is_allowed():
    assert Box(2).width == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"cannot read the thing ''; known: plain, box\("),
        ("box(3", r"cannot read the thing 'box\(3'"),
        ("box(3)(4)", "cannot read the thing"),
        ("box(lid(3))", "cannot read the thing"),
        ("bax(3)", r"unknown thing 'bax' \(did you mean 'box'\?\); known: plain"),
        ("zzz", "unknown thing 'zzz'; known: plain"),
        ("box", r"thing 'box': expected box\(width\[,height\]\[,open\]\[,painted\]\)"),
        ("box(wide)", r"thing 'box\(wide\)': 'wide' is not a number; expected box"),
        ("box(3,1.5,9)", "cannot use '9'; expected box"),
        ("box(3,1.5,closed)", "cannot use 'closed'; expected box"),
        ("box(3,1.5,open,open)", "cannot use 'open'; expected box"),
        ("box(3.0)", "box: width must be an integer, got 3.0"),
        ("box(3,1)", "box: height must be a float, got 1"),
        ("box(1)", "box: width must be at least 2"),
        ("lid(True)", "cannot use 'True'; expected lid"),
    ],
)
def test_wrong_text_is_answered_with_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        read(text, KNOWN, "thing")


def test_a_signature_shows_what_may_be_left_out():
    assert signature(Plain) == "plain"
    assert signature(Lid) == "lid([open])"
    assert signature(Box) == "box(width[,height][,open][,painted])"


def test_a_description_lists_all_that_is_known():
    assert describe({"plain": Plain, "lid": Lid}) == "plain, lid([open])"


def test_only_a_close_word_is_suggested():
    assert did_you_mean("plan", KNOWN) == " (did you mean 'plain'?)"
    assert did_you_mean("zzz", KNOWN) == ""
