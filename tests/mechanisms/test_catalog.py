"""From text to pattern and back."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import (
    PATTERNS,
    Banded,
    BlockLocal,
    BottomK,
    Full,
    InputAgnostic,
    Random,
    TopK,
    TopP,
    WithGlobals,
    parse_pattern,
    register_pattern,
)
from tests.mechanisms.cases import few_examples

WRITTEN = [
    (Full(), "full"),
    (TopK(5), "top_k(5)"),
    (BottomK(5), "bottom_k(5)"),
    (Random(5), "random(5)"),
    (Random(5, fixed=True), "random(5,fixed)"),
    (TopP(0.9), "top_p(0.9)"),
    (Banded(9), "banded(9)"),
    (BlockLocal(5), "block_local(5)"),
    (WithGlobals(BlockLocal(5), 1), "block_local(5)+G1"),
    (WithGlobals(Full(), 3), "full+G3"),
    (WithGlobals(Random(5, fixed=True), 2), "random(5,fixed)+G2"),
]

any_count = st.integers(1, 10**20)
any_base = st.one_of(
    st.just(Full()),
    *(st.builds(cls, any_count) for cls in (Banded, BlockLocal, TopK, BottomK)),
    st.builds(Random, any_count, st.booleans()),
    st.builds(TopP, st.floats(0.0, 1.0, exclude_min=True)),
)


@pytest.mark.parametrize(("pattern", "text"), WRITTEN)
def test_how_each_pattern_is_written(pattern, text):
    assert str(pattern) == text
    assert parse_pattern(text) == pattern


@given(any_base | st.builds(WithGlobals, any_base, any_count))
@few_examples
def test_any_pattern_survives_the_way_through_text(pattern):
    assert parse_pattern(str(pattern)) == pattern


@pytest.mark.parametrize("pattern", [TopP(5e-324), TopP(1e-05), TopP(1.0), TopP(0.1 + 0.2)], ids=str)
def test_floats_are_written_with_all_their_digits(pattern):
    assert parse_pattern(str(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("  top_k( 5 ) ", TopK(5)),
        ("full()", Full()),
        ("random(5 , fixed)", Random(5, fixed=True)),
        ("banded(3) + G2 ", WithGlobals(Banded(3), 2)),
    ],
)
def test_spaces_and_empty_brackets_do_not_matter(text, pattern):
    assert parse_pattern(text) == pattern


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "top_k(5",
        "top_k 5",
        "top_k(5))",
        "top_k(5)x",
        "top_k(5)+",
        "top_k(5)+G",
        "top_k(5)+G1.5",
        "+G1",
        "(5)",
        "5",
    ],
)
def test_text_that_is_no_pattern_is_answered_with_what_is_known(text):
    with pytest.raises(ValueError, match=r"cannot read the pattern .*; known: full, banded\(width\), "):
        parse_pattern(text)


def test_the_message_names_every_pattern_and_how_it_is_written():
    with pytest.raises(ValueError) as error:
        parse_pattern("?")
    for signature in (
        "full",
        "banded(width)",
        "block_local(size)",
        "top_k(k)",
        "bottom_k(k)",
        "random(k[,fixed])",
        "top_p(p)",
    ):
        assert signature in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topk(5)", r"unknown pattern 'topk' \(did you mean 'top_k'\?\); known: full"),
        ("zebra(5)", r"unknown pattern 'zebra'; known: full"),
        ("topk(5)+G1", r"unknown pattern 'topk' \(did you mean 'top_k'\?\)"),
        ("top_k", r"pattern 'top_k': expected top_k\(k\)"),
        ("top_k()", r"expected top_k\(k\)"),
        ("top_k(5,6)", r"cannot use '6'; expected top_k\(k\)"),
        ("full(5)", "cannot use '5'; expected full"),
        ("top_k(five)", r"'five' is not a number; expected top_k\(k\)"),
        ("top_k(k=5)", r"'k=5' is not a number"),
        ("top_k(5,)", "cannot use ''"),
        ("top_k(5,fixed)", "cannot use 'fixed'"),
        ("random(5,fixed,fixed)", "cannot use 'fixed'"),
        ("random(5,True)", r"cannot use 'True'; expected random\(k\[,fixed\]\)"),
        ("random(fixed)", r"expected random\(k\[,fixed\]\)"),
        ("top_k(0)", "k must be at least 1, got 0"),
        ("top_k(-1)", "k must be at least 1, got -1"),
        ("top_k(5.0)", "k must be an integer, got 5.0"),
        ("top_k(2.5)", "k must be an integer, got 2.5"),
        ("top_k(True)", "'True' is not a number"),
        ("top_p(0.0)", "p must be above 0"),
        ("top_p(1.5)", "at most 1"),
        ("top_p(nan)", "at most 1, got nan"),
        ("banded(3)+G0", "num_globals must be at least 1, got 0"),
        ("banded(3)+G-1", "num_globals must be at least 1, got -1"),
        ("banded(3)+G1+G1", r"cannot be nested, got 'banded\(3\)\+G1' as the base"),
        ("top_k(5)" + "+G1" * 3000, r"cannot be nested, got 'top_k\(5\)\+G1.{49}' as the base"),
    ],
)
def test_wrong_text_is_answered_with_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        parse_pattern(text)


@pytest.mark.parametrize("value", [None, 5, b"full", TopK(5)])
def test_only_text_is_parsed(value):
    with pytest.raises(ValueError, match=r"a pattern is written as text such as 'top_k\(5\)'"):
        parse_pattern(value)


@pytest.fixture
def own_pattern(monkeypatch):
    """A user's pattern; the catalog is put back afterwards."""
    for name, cls in tuple(PATTERNS.items()):
        monkeypatch.setitem(PATTERNS, name, cls)
    monkeypatch.setitem(PATTERNS, "every_other", None)

    @dataclasses.dataclass(frozen=True)
    class EveryOther(InputAgnostic):
        step: int
        name = "every_other"

        def keep_positions(self, allowed, rows):
            kept = allowed.clone()
            kept[..., 1 :: self.step] = False
            return kept

    return EveryOther


def test_a_registered_pattern_is_read_like_ours(own_pattern):
    assert register_pattern(own_pattern) is own_pattern
    assert parse_pattern("every_other(2)") == own_pattern(2)
    assert parse_pattern("every_other(2)+G1") == WithGlobals(own_pattern(2), 1)


def test_the_name_of_a_built_in_pattern_is_taken(own_pattern):
    own_pattern.name = "top_k"
    with pytest.raises(ValueError, match="the pattern name 'top_k' is taken by a built-in pattern"):
        register_pattern(own_pattern)
    assert parse_pattern("top_k(5)") == TopK(5)
