"""Long, deep and wide texts are refused in good time, and never exhaust the stack."""

# ruff: noqa: S608 (texts to be read, not to be run)

import time

import pytest

from discreet.errors import QuestionError, UnsupportedSQL
from discreet.query import canonical, read
from discreet.query.nodes import DEEPEST_NESTING, LONGEST_QUESTION, TALLEST_TREE
from tests.query.question_text import drawn

COUNT = "SELECT COUNT(*) FROM t WHERE "


def nested(before, inside, after, times):
    return before * times + inside + after * times


TOO_DEEP = {
    "parentheses": COUNT + nested("(", "a", ")", 1000),
    "tables in parentheses": "SELECT COUNT(*) FROM " + nested("(", "t", ")", 1000),
    "subqueries": nested("SELECT COUNT(*) FROM (", "SELECT a FROM t", ")", 1000),
    "subqueries that are named": "SELECT COUNT(*) FROM "
    + nested("(SELECT * FROM ", "t", ") AS x", 1000),
    "unions": "SELECT COUNT(*) FROM (" + nested("(", "SELECT a FROM t", ")", 1000) + ")",
    "NOT": COUNT + "NOT " * 1000 + "a",
    "signs": COUNT + "- " * 1000 + "a > 1",
    "CASE": COUNT + nested("CASE WHEN a THEN ", "b", " END", 1000),
    "functions": COUNT + nested("ABS(", "a", ")", 1000) + " = 1",
    "casts": COUNT + nested("CAST(", "a", " AS INT64)", 1000) + " = 1",
    "casts behind": COUNT + "a" + "::INT64" * 1000 + " = 1",
    "between": COUNT + nested("(", "a", " BETWEEN FALSE AND TRUE)", 60),
    "nullif": COUNT + nested("NULLIF(", "a", ", 1)", 60) + " = 1",
    "case of a value": COUNT
    + nested("CASE ", "a", " WHEN 1 THEN 2 WHEN 2 THEN 3 END", 40)
    + " = 1",
    "types that are functions": COUNT + nested("TIMESTAMP((", "a", "))", 14),
    "days": COUNT + nested("DATE (", "a", ")", 28),
    "sums": COUNT + " + ".join(["a"] * 5000) + " = 1",
    "windows": "SELECT COUNT(*) FROM (SELECT "
    + nested("MAX(", "a", ") OVER (PARTITION BY p)", 1000)
    + " FROM t)",
    "aggregates": "SELECT " + nested("SUM(", "a", ")", 1000) + " FROM t",
    "common tables": "WITH a0 AS (SELECT * FROM t)"
    + "".join(f", a{number} AS (SELECT * FROM a{number - 1})" for number in range(1, 1000))
    + " SELECT COUNT(*) FROM a999",
    "doubled tables": "WITH a0 AS (SELECT * FROM t)"
    + "".join(
        f", a{number} AS (SELECT 1 AS x FROM a{number - 1}, a{number - 1} AS b)"
        for number in range(1, 60)
    )
    + " SELECT COUNT(*) FROM a59",
    "joins": "SELECT COUNT(*) FROM " + ", ".join(["t"] * 2000),
    "aliases": f"SELECT {' AND '.join(['a'] * 300)} AS x, COUNT(*) FROM t GROUP BY x HAVING "
    + " AND ".join(["COUNT(*) > 1"] * 2)
    + " ORDER BY "
    + ", ".join(["x"] * 200),
    "keys": f"SELECT COUNT(*) FROM t GROUP BY {', '.join(['a'] * 5000)}",
    "a large table again and again": "WITH a AS (SELECT "
    + ", ".join(f"x{number}" for number in range(4000))
    + " FROM t)"
    + "".join(f", b{number} AS (SELECT x1 FROM a)" for number in range(1000))
    + " SELECT COUNT(*) FROM a",
    "length": COUNT + "a " + " " * LONGEST_QUESTION,
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_too_much_is_refused_soon(name):
    begin = time.process_time()
    with pytest.raises(UnsupportedSQL) as caught:
        read(TOO_DEEP[name])
    assert time.process_time() - begin < 5
    assert "split it into several questions" in caught.value.do


BROKEN = {
    "digits": COUNT + "a = " + "1" * 90_000,
    "digits and a letter": COUNT + "a = " + "1" * 90_000 + "x",
    "quotes": COUNT + "a = " + "'" * 90_001,
    "backticks": COUNT + "`" * 90_000,
    "comments": COUNT + "/*" * 40_000,
    "dashes": COUNT + "a = 1 " + "- " * 40_000,
    "points": COUNT + "a" + ".a" * 40_000 + "(",
    "opening": "(" * 90_000,
    "closing": COUNT + "a" + ")" * 90_000,
    "lines": COUNT + "\n" * 90_000 + "@",
}


@pytest.mark.parametrize("name", BROKEN)
def test_long_nonsense_is_refused_soon(name):
    begin = time.process_time()
    with pytest.raises(QuestionError) as caught:
        read(BROKEN[name])
    assert time.process_time() - begin < 5
    assert len(caught.value.what) < 500


WITHIN = {
    "conditions": COUNT + " AND ".join(f"a{number} > {number}" for number in range(1000)),
    "alternatives": COUNT + " OR ".join(f"(a = {number} AND b)" for number in range(1000)),
    "a list": COUNT + f"a IN ({', '.join(map(str, range(10_000)))})",
    "outputs": f"SELECT {', '.join(f'SUM(a{at})' for at in range(2000))} FROM t",
    "parentheses": COUNT + nested("(", "a", ")", DEEPEST_NESTING - 2),
    "a sum": COUNT + " + ".join(["a"] * (TALLEST_TREE - 2)) + " = 1",
    "tables": "WITH a0 AS (SELECT * FROM t)"
    + "".join(f", a{number} AS (SELECT * FROM a{number - 1})" for number in range(1, 45))
    + " SELECT COUNT(*) FROM a44",
    "everything at once": "WITH a0 AS (SELECT * FROM t)"
    + "".join(f", a{number} AS (SELECT * FROM a{number - 1})" for number in range(1, 45))
    + " SELECT COUNT(*) FROM a44 WHERE "
    + " + ".join(["a"] * (TALLEST_TREE - 2))
    + " = 1",
}


@pytest.mark.parametrize("name", WITHIN)
def test_what_is_within_the_limits_can_be_read_drawn_and_compared(name):
    begin = time.process_time()
    question = read(WITHIN[name])
    assert question == read(WITHIN[name])
    assert hash(question) == hash(read(WITHIN[name]))
    assert canonical(question)
    assert drawn(question)
    assert repr(question)
    assert time.process_time() - begin < 10
