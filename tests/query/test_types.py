"""The type of every expression, and what is refused for its types."""

from contextlib import suppress
from datetime import date, datetime
from fractions import Fraction

import pytest
from hypothesis import given, settings

from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.expressions import Expressions
from discreet.errors import QuestionError, UnknownName, UnsupportedSQL, WrongType
from discreet.plan.binding.value_facts import Facts, facts_of
from discreet.query import (
    Aggregate,
    Aggregated,
    Call,
    Column,
    Distinct,
    Filter,
    Grouped,
    Join,
    Literal,
    Named,
    Project,
    Scan,
    Star,
    Table,
    Type,
    UnionAll,
    columns,
    expression_types,
    read_expression,
    typed,
)
from discreet.query.expression_types import CASTS, FUNCTIONS, ColumnTypes
from discreet.query.expressions import walk
from discreet.query.types import type_of
from tests.query.dialect import underlined
from tests.query.expressions import expressions

COLUMNS = {
    "i": Type.INTEGER,
    "f": Type.FLOAT,
    "t": Type.TEXT,
    "b": Type.BOOLEAN,
    "d": Type.DATE,
    "s": Type.TIMESTAMP,
}

TYPED = {
    "i + 1": Type.INTEGER,
    "i + 1.0": Type.INTEGER,
    "i + 0.5": Type.FLOAT,
    "i - f": Type.FLOAT,
    "i * i": Type.INTEGER,
    "i / i": Type.FLOAT,
    "DIV(i, 2)": Type.INTEGER,
    "i % 2": Type.INTEGER,
    "-i": Type.INTEGER,
    "-f": Type.FLOAT,
    "ABS(f)": Type.FLOAT,
    "SIGN(f)": Type.INTEGER,
    "FLOOR(f)": Type.FLOAT,
    "ROUND(i)": Type.INTEGER,
    "SQRT(i)": Type.FLOAT,
    "LEAST(i, 1, 2)": Type.INTEGER,
    "GREATEST(i, f)": Type.FLOAT,
    "LEAST(t, 'a')": Type.TEXT,
    "COALESCE(NULL, d)": Type.DATE,
    "NULLIF(i, 0)": Type.INTEGER,
    "IF(b, NULL, 1)": Type.INTEGER,
    "CASE WHEN b THEN 1 WHEN NULL THEN 2.5 END": Type.FLOAT,
    "i = f": Type.BOOLEAN,
    "i = NULL": Type.BOOLEAN,
    "t < 'a'": Type.BOOLEAN,
    "d >= DATE '2025-01-01'": Type.BOOLEAN,
    "s >= TIMESTAMP '2025-01-01 00:00:00'": Type.BOOLEAN,
    "b AND NULL": Type.BOOLEAN,
    "i IN (1, 2.5)": Type.BOOLEAN,
    "t LIKE 'a%'": Type.BOOLEAN,
    "f IS NULL": Type.BOOLEAN,
    "b IS NOT TRUE": Type.BOOLEAN,
    "RANGE_BUCKET(f, [0, 0.5])": Type.INTEGER,
    "LENGTH(t)": Type.INTEGER,
    "SUBSTR(t, 1)": Type.TEXT,
    "SUBSTR(t, 2, 0)": Type.TEXT,
    "t || 'a' || LOWER(t)": Type.TEXT,
    "STARTS_WITH(t, 'a')": Type.BOOLEAN,
    "EXTRACT(YEAR FROM d)": Type.INTEGER,
    "EXTRACT(HOUR FROM s)": Type.INTEGER,
    "DATE_TRUNC(d, MONTH)": Type.DATE,
    "DATE_TRUNC(s, DAY)": Type.TIMESTAMP,
    "DATE_DIFF(d, DATE(s), DAY)": Type.INTEGER,
    "DATE_ADD(d, INTERVAL 3 DAY)": Type.DATE,
    "CAST(t AS INTEGER)": Type.INTEGER,
    "CAST(NULL AS TEXT)": Type.TEXT,
    "COUNT(*)": Type.INTEGER,
    "COUNT(DISTINCT t)": Type.INTEGER,
    "COUNTIF(i > 0)": Type.INTEGER,
    "SUM(i)": Type.INTEGER,
    "SUM(f)": Type.FLOAT,
    "AVG(i)": Type.FLOAT,
    "MIN(d)": Type.DATE,
    "MEDIAN(i)": Type.FLOAT,
    "STDDEV(f)": Type.FLOAT,
    "SUM(i) / COUNT(*)": Type.FLOAT,
    "ROW_NUMBER() OVER (PARTITION BY i ORDER BY d)": Type.INTEGER,
    "LAG(d) OVER (PARTITION BY i ORDER BY d)": Type.DATE,
    "MAX(f) OVER (PARTITION BY i)": Type.FLOAT,
}

WRONG = {
    "i + t": ("t", "INTEGER or FLOAT"),
    "b + 1": ("b", "INTEGER or FLOAT"),
    "d + 1": ("d", "INTEGER or FLOAT"),
    "DIV(f, 2)": ("f", "INTEGER"),
    "i = t": ("t", "CAST(... AS INTEGER)"),
    "d = '2025-01-01'": ("'2025-01-01'", "DATE '2025-01-31'"),
    "s > '2025-01-01'": ("'2025-01-01'", "TIMESTAMP '2025-01-31 12:00:00'"),
    "d = s": ("s", "CAST(... AS DATE)"),
    "b = 1": ("1", "CAST(... AS BOOLEAN)"),
    "i IN (1, 'a')": ("'a'", "CAST"),
    "NOT i": ("i", "BOOLEAN"),
    "b AND i": ("i", "BOOLEAN"),
    "CASE WHEN i THEN 1 END": ("i", "x > 0"),
    "CASE WHEN b THEN 1 ELSE 'a' END": ("'a'", "CAST"),
    "i IS TRUE": ("i", "BOOLEAN"),
    "COALESCE(i, t)": ("t", "CAST"),
    "LENGTH(i)": ("i", "TEXT"),
    "i || t": ("i", "TEXT"),
    "SUBSTR(t, i)": ("i", "write a number"),
    "SUBSTR(t, 0)": ("0", "write 1 or more"),
    "SUBSTR(t, 1, -1)": ("-1", "write 0 or more"),
    "SUBSTR(t, 1.5)": ("1.5", "INTEGER"),
    "LAG(i, -1) OVER (ORDER BY i)": ("-1", "write 0 or more"),
    "EXTRACT(HOUR FROM d)": ("d", "TIMESTAMP"),
    "EXTRACT(YEAR FROM t)": ("t", "DATE or TIMESTAMP"),
    "DATE_DIFF(s, d, DAY)": ("s", "DATE"),
    "CAST(f AS TEXT)": ("CAST(f AS TEXT)", "INTEGER"),
    "CAST(d AS INTEGER)": ("CAST(d AS INTEGER)", "TEXT or TIMESTAMP"),
    "CAST(t AS BOOLEAN)": ("CAST(t AS BOOLEAN)", "INTEGER or FLOAT or DATE or TIMESTAMP"),
    "SUM(t)": ("t", "INTEGER or FLOAT"),
    "SUM(f) OVER (PARTITION BY i)": ("f", "INTEGER"),
    "SUM(i) FILTER (WHERE i)": ("i", "x > 0"),
    "NULL": ("NULL", "CAST(NULL AS INTEGER)"),
    "COALESCE(NULL, NULL)": ("COALESCE(NULL, NULL)", "CAST(NULL AS INTEGER)"),
}


@pytest.mark.parametrize("text", TYPED)
def test_typed(text):
    assert typed(read_expression(text), COLUMNS) is TYPED[text]


@pytest.mark.parametrize("text", WRONG)
def test_wrong_types(text):
    words, do = WRONG[text]
    with pytest.raises(WrongType) as caught:
        typed(read_expression(text), COLUMNS)
    assert underlined(caught.value) == words
    assert do in caught.value.do


@pytest.mark.parametrize("text", ["x", "i + x", "v.i", "SUM(x)", "MAX(i) OVER (PARTITION BY x)"])
def test_columns_that_are_not_there(text):
    with pytest.raises(UnknownName) as caught:
        typed(read_expression(text), COLUMNS)
    assert underlined(caught.value) in {"x", "v.i"}
    assert "b, d, f, i, s, t" in caught.value.do


def test_calls_that_no_reader_makes():
    with pytest.raises(UnknownName):
        typed(Call("NOTHING", ()), COLUMNS)
    with pytest.raises(UnknownName):
        typed(Call("NOT", ()), COLUMNS)
    with pytest.raises(WrongType):
        typed(Call("EXTRACT", (Literal("WEEK"), Column("d"))), COLUMNS)
    with pytest.raises(UnsupportedSQL):
        typed(Star(), COLUMNS)


def test_keys_of_groups_have_their_types():
    assert typed(Grouped(1), {}, [Type.TEXT, Type.DATE]) is Type.DATE


@settings(max_examples=300)
@given(expressions)
def test_every_expression_has_a_type_or_is_refused(expression):
    with suppress(QuestionError):
        assert typed(expression, {**COLUMNS, "a": Type.INTEGER}) in Type


def test_the_type_of_a_value():
    assert type_of(2**63 - 1) is Type.INTEGER
    assert type_of(2**63) is Type.FLOAT
    assert type_of(-(2**63)) is Type.INTEGER
    assert type_of(Fraction(4, 2)) is Type.INTEGER
    assert type_of(date(2025, 1, 1)) is Type.DATE
    assert type_of(datetime(2025, 1, 1)) is Type.TIMESTAMP  # noqa: DTZ001 (no zone is meant)
    assert Literal(Fraction(3)).value == 3
    assert Literal(True) != Literal(1)
    assert Literal(date(2025, 1, 1)) != Literal("2025-01-01")


def test_every_type_can_be_cast_to_itself():
    assert all(kind in CASTS[kind] for kind in Type)
    assert set(CASTS) == set(Type)


def test_every_function_says_what_it_means():
    for function in FUNCTIONS.values():
        assert function.meaning
        assert function.accepts(len(function.takes))
        assert not function.accepts(len(function.takes) - function.optional - 1)


VISITS = Scan("visits", (("ward", Type.TEXT), ("age", Type.INTEGER)))


def test_columns_of_relations():
    age = Column("age")
    assert columns(VISITS) == (("ward", Type.TEXT), ("age", Type.INTEGER))
    assert columns(Named(Filter(VISITS, Call(">", (age, Literal(1)))), "v")) == columns(VISITS)
    assert columns(Project(VISITS, (("x", Call("/", (age, Literal(2)))),))) == (("x", Type.FLOAT),)
    other = Scan("wards", (("name", Type.TEXT),))
    assert columns(Join(VISITS, other, "cross")) == (*columns(VISITS), ("name", Type.TEXT))
    total = (("n", Aggregate("COUNT")), ("s", Aggregate("SUM", age)))
    assert columns(Aggregated(VISITS, (("w", Column("ward")),), total)) == (
        ("w", Type.TEXT),
        ("n", Type.INTEGER),
        ("s", Type.INTEGER),
    )
    assert columns(Distinct(UnionAll((VISITS, VISITS)))) == columns(VISITS)


def test_columns_that_cannot_be_told():
    with pytest.raises(UnsupportedSQL):
        columns(Table("visits"))
    with pytest.raises(WrongType):
        columns(UnionAll((VISITS, Scan("wards", (("name", Type.TEXT),)))))


def nested(depth):
    """An expression as deep as this, of one more node than it is deep."""
    expression = Column("i")
    for _ in range(depth):
        expression = Call("ABS", (expression,))
    return expression


def typings(monkeypatch):
    """Count how often a node is typed, from now on."""
    counted = []
    real = expression_types._typed
    monkeypatch.setattr(
        expression_types, "_typed", lambda *node: counted.append(None) or real(*node)
    )
    return counted


@pytest.mark.parametrize("depth", [20, 80])
def test_each_node_is_typed_once_whoever_asks(monkeypatch, depth):
    counted, deep = typings(monkeypatch), nested(depth)
    types = ColumnTypes(COLUMNS)
    for node in walk(deep):
        assert typed(node, types) is Type.INTEGER
    assert len(counted) == depth + 1
    facts_of(deep, {"i": Facts(type=Type.INTEGER)})
    assert len(counted) == 2 * (depth + 1)
    Expressions(DUCKDB, ColumnTypes(COLUMNS)).node(deep)
    assert len(counted) == 3 * (depth + 1)
