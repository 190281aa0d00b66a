"""The text of an expression is SQL that is read as the same expression."""

from fractions import Fraction

import pytest
from hypothesis import given, settings

from discreet.query import read, read_expression, said
from discreet.query.expression_text import quoted, said_number
from discreet.query.expressions import Column, Star, Window, walk
from discreet.query.relations import descend
from tests.query.dialect import ACCEPTED
from tests.query.expressions import expressions
from tests.query.question_text import drawn


@settings(max_examples=500)
@given(expressions)
def test_what_is_said_is_read_again(expression):
    assert read_expression(said(expression)) == expression


@pytest.mark.parametrize("entry", ACCEPTED, ids=lambda entry: entry.rule)
def test_expressions_of_the_dialect_are_read_again(entry):
    question = read(entry.sql)
    for relation in descend(question.relation):
        for expression in relation.expressions():
            if not isinstance(expression, Star):
                assert read_expression(said(expression)) == expression
    for _, key in question.keys:
        assert read_expression(said(key)) == key


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c)",
        "a - b - c",
        "(a - b) * c",
        "a / (b * c)",
        "-(a + b)",
        "-(-a)",
        "- (-1)",
        "NOT (a OR b)",
        "(a = b) = c",
        "(NOT a) = b",
        "(a IS NULL) = b",
        "NOT a IS NULL",
        "(a IN (1)) IN (TRUE)",
        "(a LIKE 'x') LIKE 'y'",
        "(a < b) IS TRUE",
        "(a AND b) OR c AND NOT (d OR e)",
        "a AND (b OR c)",
        "CASE WHEN a OR b THEN c + 1 ELSE -d END + 1",
        "COUNT(*) FILTER (WHERE a) + SUM(b, contribution_bounds_per_row => (-1, 1.5))",
        "PERCENTILE_CONT(x, 0.25, contribution_bounds_per_row => (0, 1), epsilon => 0.1)",
        "COUNT(DISTINCT a)",
        "ROW_NUMBER() OVER ()",
        "COUNT(*) OVER (PARTITION BY a, b)",
        "LEAD(a, 2) OVER (PARTITION BY b ORDER BY c DESC NULLS FIRST, d NULLS LAST, e)",
    ],
)
def test_forms(text):
    once = read_expression(text)
    assert read_expression(said(once)) == once


def test_no_more_parentheses_than_needed():
    text = "a + b * c > 1 AND NOT d = e OR f IS NULL AND -g < 2"
    assert said(read_expression(f"(({text}))")) == text


def test_numbers():
    for number in (Fraction(1, 3), Fraction(-7, 8), Fraction(10**30), Fraction(1, 10**9)):
        assert Fraction(said_number(number)) == number
    assert said_number(Fraction(-1, 10)) == "-0.1"


def test_names():
    assert quoted("select") == "`select`"
    assert quoted("a-b") == "`a-b`"
    assert quoted("Straße") == "Straße"


def test_keys_are_shown_by_name():
    assert "<w>" in drawn(read("SELECT LOWER(a) AS w, COUNT(*) FROM t GROUP BY w"))


def test_windows_and_columns_are_walked():
    window = read_expression("SUM(a) OVER (PARTITION BY b ORDER BY c)")
    assert isinstance(window, Window)
    assert [node.name for node in walk(window) if isinstance(node, Column)] == ["a", "b", "c"]
