"""Operators bind as tightly here as sqlglot, read independently, takes GoogleSQL to bind them."""

import logging

import pytest
import sqlglot
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.errors import QuestionError
from discreet.query import read, read_expression
from discreet.query.expression_text import said
from discreet.query.expressions import Call, Case, Cast, Column, Literal

NAMES = {
    exp.Or: "OR",
    exp.And: "AND",
    exp.Not: "NOT",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "MOD",
    exp.DPipe: "CONCAT",
    exp.Neg: "NEGATE",
    exp.Like: "LIKE",
}
FLAT = {"AND", "OR", "CONCAT"}


def theirs(node):  # noqa: C901, PLR0911 (one for each kind of node)
    """Return the shape of sqlglot's tree."""
    match node:
        case exp.Paren():
            return theirs(node.this)
        case exp.Column():
            return node.name
        case exp.Literal() | exp.Boolean() | exp.Null():
            return node.sql().lower()
        case exp.Neg(this=exp.Literal() as number):
            return f"-{number.sql()}"
        case exp.Between():
            low, high = theirs(node.args["low"]), theirs(node.args["high"])
            inner = theirs(node.this)
            return ("AND", (">=", inner, low), ("<=", inner, high))
        case exp.In():
            return ("IN", theirs(node.this), *(theirs(item) for item in node.expressions))
        case exp.Like() if node.args.get("negate"):
            return ("NOT", ("LIKE", theirs(node.this), theirs(node.expression)))
        case exp.Is():
            return (f"IS {node.expression.sql().upper()}", theirs(node.this))
        case exp.Cast():
            return ("CAST", theirs(node.this))
        case exp.Case():
            branches = [(theirs(part.this), theirs(part.args["true"])) for part in node.args["ifs"]]
            return ("CASE", *branches, theirs(node.args["default"]))
        case _:
            parts = [node.this, node.expression] if node.args.get("expression") else [node.this]
            return shaped(NAMES[type(node)], [theirs(part) for part in parts])


def shaped(name, parts):
    if name in FLAT:
        flat = [
            part[1:] if isinstance(part, tuple) and part[0] == name else (part,) for part in parts
        ]
        parts = [inner for part in flat for inner in part]
    return (name, *parts)


def ours(node):
    """Return the shape of our tree."""
    match node:
        case Column(name=name):
            return name
        case Literal():
            return said(node).lower()
        case Cast(argument=argument):
            return ("CAST", ours(argument))
        case Case(branches=branches, default=default):
            return ("CASE", *((ours(when), ours(then)) for when, then in branches), ours(default))
        case Call(function=name, arguments=arguments):
            return shaped(name, [ours(part) for part in arguments])


def same(text):
    found = sqlglot.parse_one(text, dialect="bigquery")
    assert ours(read_expression(text)) == theirs(found), text


ATOMS = ["a", "b", "c", "d", "1", "2", "(a OR b)", "(c + d)", "(a = b)", "CAST(a AS INT64)"]
ATOMS += ["CASE WHEN a THEN b ELSE c END", "-a", "NOT a", "- 3"]
BINARY = ["OR", "AND", "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||"]
BEHIND = ["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT FALSE", "IN (1, 2)", "NOT IN (1)"]
BEHIND += ["BETWEEN 1 AND 2", "NOT BETWEEN a AND b", "LIKE 'x'", "NOT LIKE 'y'"]

operands = st.tuples(st.sampled_from(ATOMS), st.sampled_from([""] * 8 + BEHIND)).map(" ".join)
chains = st.lists(st.tuples(st.sampled_from(BINARY), operands), max_size=6)
ARITHMETIC = {"+", "-", "*", "/", "%"}


@settings(max_examples=300)
@given(operands, chains)
def test_chains_of_operators(first, rest):
    signs = {operator for operator, _ in rest}
    assume("||" not in signs or not signs & ARITHMETIC)  # dialects differ; types refuse it anyway
    text = " ".join([first, *(f"{operator} {operand}" for operator, operand in rest)])
    try:
        read_expression(text)
    except QuestionError:
        assume(False)  # comparisons that follow each other are refused, and not guessed at
    same(text)


@pytest.mark.parametrize(
    "text",
    [
        "a OR b AND c",
        "NOT a = b AND c",
        "NOT a IS NULL",
        "a + b * c - d",
        "a - b - c",
        "a / b / c",
        "-a * b",
        "- 3 - 2",
        "a * -b",
        "a + b > c OR d",
        "a BETWEEN 1 AND 2 AND b",
        "a BETWEEN b + 1 AND c * 2 OR d",
        "NOT a BETWEEN 1 AND 2",
        "a NOT IN (1, 2) AND b",
        "a || b || c",
        "a = b AND NOT c OR d <> - 1",
        "a % b * c",
    ],
)
def test_chosen_chains(text):
    same(text)


def test_what_sqlglot_reads_and_drops_is_refused_here():
    logging.disable(logging.CRITICAL)
    texts = [
        "SELECT COUNT(x,) FROM t",
        "FROM t SELECT COUNT(*)",
        "SELECT 1_000, COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t WHERE x == 1",
        "SELECT /*+ hint */ COUNT(*) FROM t",
        "SELECT COUNT(*) FROM t WHERE x BETWEEN ASYMMETRIC 1 AND 2",
        "SELECT a, COUNT(*) FROM t GROUP BY DISTINCT a",
        "SELECT COUNT(EXTRACT(YEAR, d)) FROM t",
        "SELECT COUNT(CAST(x AS TIMESTAMP WITH TIME ZONE)) FROM t",
    ]
    for text in texts:
        assert sqlglot.parse_one(text, dialect="bigquery") is not None
        with pytest.raises(QuestionError):
            read(text)
    logging.disable(logging.NOTSET)
