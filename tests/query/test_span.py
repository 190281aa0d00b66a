"""Pointing at a text: the right line, the right carets, and no letter that acts on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.query import Span, pointed, underlined


def caret_words(text):
    shown, carets = text.split("\n")
    start = carets.index("^")
    return shown[start : start + carets.count("^")]


def test_one_line():
    assert underlined(Span("SELECT a", 7, 8)) == "1 | SELECT a\n  |        ^"


def test_the_line_is_counted():
    text = "\n".join(["SELECT a"] * 12)
    shown = underlined(Span(text, text.rindex("a"), len(text)))
    assert shown.startswith("12 | SELECT a\n   | ")
    assert caret_words(shown) == "a"


def test_a_stretch_over_lines_shows_the_first():
    assert caret_words(underlined(Span("SELECT a\nFROM b", 0, 15))) == "SELECT a"


def test_the_end_of_a_text():
    assert underlined(Span("SELECT", 6, 7)) == "1 | SELECT\n  |       ^"


def test_no_text():
    assert underlined(Span("", 0, 1)) == "1 | \n  | ^"


@pytest.mark.parametrize("start", [0, 50, 99, 100, 150, 500, 990])
def test_long_lines_are_cut_around_the_words(start):
    text = "x" * start + "WORD" + "y" * (1000 - start)
    shown = underlined(Span(text, start, start + 4))
    assert caret_words(shown) == "WORD"
    assert max(map(len, shown.split("\n"))) < 120


@given(st.text(max_size=300), st.integers(0, 300), st.integers(1, 300))
def test_any_stretch_can_be_shown(text, start, length):
    start = min(start, len(text))
    shown = underlined(Span(text, start, start + length))
    lines = shown.split("\n")
    assert len(lines) == 2
    assert lines[0].isprintable()
    assert set(lines[1].lstrip(" |")) == {"^"}
    assert all(len(line) < 130 for line in lines)


def test_pointing_without_a_text():
    assert pointed("this is wrong.", None) == "this is wrong."


def test_stretches_join():
    text = "a + b"
    assert Span(text, 4, 5).to(Span(text, 0, 1)).words == text
