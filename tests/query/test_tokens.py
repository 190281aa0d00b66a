"""Tokens: every character is part of one, of space or of a comment, or is refused."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionError, UnreadableSQL
from discreet.query.functions import moment
from discreet.query.sql.tokens import TokenKind, number, tokens
from discreet.query.types import Type
from tests.query.dialect import underlined


def kinds(text):
    return [(token.kind, token.text) for token in tokens(text)[:-1]]


def test_kinds():
    assert kinds("a `b c` 'd''e' 1.5 <>") == [
        (TokenKind.NAME, "a"),
        (TokenKind.QUOTED, "b c"),
        (TokenKind.TEXT, "d'e"),
        (TokenKind.NUMBER, "1.5"),
        (TokenKind.SIGN, "<>"),
    ]


def test_signs_are_as_long_as_they_can_be():
    text = "=><>>=<=!=||::"
    assert [token.text for token in tokens(text)[:-1]] == ["=>", "<>", ">=", "<=", "!=", "||", "::"]


@pytest.mark.parametrize("text", ["-- x", "# x", "/* x */", "/* -- */", "/* a\n\n b */", " \t\n"])
def test_what_is_skipped(text):
    assert kinds(f"a {text}\n b") == [(TokenKind.NAME, "a"), (TokenKind.NAME, "b")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("007", 7),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("0.1", Fraction(1, 10)),
        ("1e3", 1000),
        ("1E-3", Fraction(1, 1000)),
        ("1.5e+2", 150),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_numbers_are_exact(text, value):
    assert number(tokens(text)[0]) == value


@pytest.mark.parametrize("text", ["1e", "1e+", "1x", "1_000", "0x1f", "1.2.3", "1e5e5", "٣", "1.a"])
def test_what_is_no_number(text):
    with pytest.raises(UnreadableSQL):
        tokens(f"a = {text}")


@pytest.mark.parametrize("text", ["'\0'", "'\ud800'", "'a\udfffb'"])
def test_what_is_no_character(text):
    with pytest.raises(UnreadableSQL) as caught:
        tokens(f"a = {text}")
    assert "Unicode" in caught.value.do


@pytest.mark.parametrize("text", ["ſelect", "SELECT", "SELECTI"])  # the first has a long s
def test_words_of_sql_are_in_ascii(text):
    assert (tokens(text)[0].word == "SELECT") == (text == "SELECT")


def test_quoted_words_are_no_words_of_sql():
    assert tokens("`SELECT`")[0].word == ""
    assert tokens("'SELECT'")[0].word == ""


def test_adjacent_texts_stay_apart():
    assert kinds("'a' 'b'") == [(TokenKind.TEXT, "a"), (TokenKind.TEXT, "b")]
    assert kinds("'' ''") == [(TokenKind.TEXT, ""), (TokenKind.TEXT, "")]


@settings(max_examples=500)
@given(st.text(max_size=60))
def test_nothing_is_skipped_but_space_and_comments(text):
    try:
        parts = tokens(text)
    except QuestionError:
        return
    at = 0
    for token in parts[:-1]:
        between = text[at : token.span.start]
        assert not between.strip() or between.lstrip()[0] in "-#/"
        assert token.span.words
        at = token.span.end
    rest = text[at:]
    assert not rest.strip() or rest.lstrip()[0] in "-#/"


def test_the_place_of_a_refusal():
    with pytest.raises(UnreadableSQL) as caught:
        tokens("SELECT\n  a ! b")
    assert underlined(caught.value) == "!"
    assert "2 |   a ! b" in caught.value.what


@pytest.mark.parametrize(
    ("text", "kind", "day"),
    [
        ("2025-01-31", Type.DATE, "2025-01-31"),
        ("2025-02-29", Type.DATE, None),
        ("2024-02-29", Type.DATE, "2024-02-29"),
        ("0000-01-01", Type.DATE, None),
        ("20250131", Type.DATE, None),
        ("2025-1-31", Type.DATE, None),
        ("2025-01-31 ", Type.DATE, None),
        ("2025-01-31 10:00:00", Type.DATE, None),
        ("2025-01-31 10:00:00", Type.TIMESTAMP, "2025-01-31 10:00:00"),
        ("2025-01-31T10:00:00", Type.TIMESTAMP, "2025-01-31 10:00:00"),
        ("2025-01-31", Type.TIMESTAMP, "2025-01-31 00:00:00"),
        ("2025-01-31 10:00:00.5", Type.TIMESTAMP, "2025-01-31 10:00:00.500000"),
        ("2025-01-31 10:00:00.000001", Type.TIMESTAMP, "2025-01-31 10:00:00.000001"),
        ("2025-01-31 10:00:00.0000001", Type.TIMESTAMP, None),
        ("2025-01-31 24:00:00", Type.TIMESTAMP, None),
        ("2025-01-31 10:00:60", Type.TIMESTAMP, None),
        ("2025-01-31 10:00", Type.TIMESTAMP, None),
        ("2025-01-31 10:00:00Z", Type.TIMESTAMP, None),
        ("２０25-01-31", Type.DATE, None),
    ],
)
def test_days_and_moments(text, kind, day):
    parsed = moment(text, kind)
    assert (None if parsed is None else str(parsed)) == day
