"""Whatever is written, it becomes a question or is refused as one: nothing else is ever raised."""

# ruff: noqa: S608 (texts to be read, not to be run)

import logging

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionError, UnknownName, UnreadableSQL, UnsupportedSQL
from discreet.query import canonical, read
from discreet.query.functions import AGGREGATES, FUNCTIONS, WINDOWS
from discreet.query.sql.privacy_clause import OPTIONS
from discreet.query.sql.tokens import RESERVED, TokenKind, tokens
from tests.query.dialect import ACCEPTED, REFUSED
from tests.query.question_text import drawn

WORDS = sorted(
    {
        *RESERVED,
        *OPTIONS,
        *(name for name in (*FUNCTIONS, *AGGREGATES, *WINDOWS) if name.isidentifier()),
        *("OVER", "FILTER", "NULLS", "FIRST", "LAST", "ROWS", "OPTIONS", "DIFFERENTIAL_PRIVACY"),
        *("DATE", "INT64", "TEXT", "TIMESTAMP", "DAY", "a", "b", "t", "u", "`x y`", "visits"),
        *"()[],.=<>+-*/%;",
        *("<>", "!=", "<=", ">=", "=>", "||", "::"),
        *("1", "2.5", "1e3", "-1", "'text'", "''", "'2025-01-31'", "0", "1e999"),
        *('"', "'", "`", "\\", "@x", "?", "--", "/*", "*/", "#", "\n", "\0", "é", "\ud800"),
    }
)
TEXTS = [entry.sql for entry in (*ACCEPTED, *REFUSED)]


def check(text):
    """Read a text; a question that comes out must be whole."""
    try:
        question = read(text)
    except (UnreadableSQL, UnsupportedSQL, UnknownName):
        return
    assert question == read(text)
    assert canonical(question) == canonical(read(text))
    assert drawn(question)


def pieces(text):
    """Cut a text into its tokens, or into letters where it has none."""
    try:
        return [token.span.words for token in tokens(text) if token.kind is not TokenKind.END]
    except QuestionError:
        return text.split()


soup = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
anything = st.text(max_size=80)


@st.composite
def mutated(draw):
    """Change a known text in a few places: leave out, double, swap, insert, or graft."""
    words = pieces(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 4))):
        drawn = draw(st.integers(0, max(len(words) - 1, 0)))
        match draw(st.integers(0, 4)):
            case 0:
                del words[drawn : drawn + 1]
            case 1:
                words[drawn:drawn] = words[drawn : drawn + draw(st.integers(1, 6))]
            case 2:
                to = draw(st.integers(0, max(len(words) - 1, 0)))
                if words:
                    words[drawn], words[to] = words[to], words[drawn]
            case 3:
                words.insert(drawn, draw(st.sampled_from(WORDS)))
            case _:
                other = pieces(draw(st.sampled_from(TEXTS)))
                begin = draw(st.integers(0, max(len(other) - 1, 0)))
                words[drawn:drawn] = other[begin : begin + draw(st.integers(1, 12))]
    return " ".join(words)


@settings(max_examples=600)
@given(soup)
def test_words_in_any_order(text):
    check(text)
    check(f"SELECT COUNT(*) FROM t WHERE {text}")


@settings(max_examples=1000)
@given(mutated())
def test_known_texts_changed_a_little(text):
    check(text)


@settings(max_examples=400)
@given(anything)
def test_any_text(text):
    check(text)
    check(f"SELECT '{text}' FROM t GROUP BY `{text}`")


@pytest.mark.slow
@settings(max_examples=100_000)
@given(st.one_of(soup, mutated(), anything))
def test_many_texts(text):
    check(text)


DIALECTS = ["bigquery", "duckdb", "snowflake", "spark", "tsql", "oracle", "mysql", "clickhouse"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_as_other_dialects_write_them(dialect):
    logging.disable(logging.CRITICAL)  # sqlglot warns of what a dialect does not have
    read_any = 0
    for text in TEXTS:
        try:
            written = sqlglot.transpile(text, read="bigquery", write=dialect, pretty=True)
        except sqlglot.errors.SqlglotError:
            continue
        read_any += 1
        for statement in written:
            check(statement)
    logging.disable(logging.NOTSET)
    assert read_any > 50


@pytest.mark.parametrize("text", [None, 1, b"SELECT COUNT(*) FROM t", ["SELECT"], 0.5])
def test_what_is_no_text(text):
    check(text)
