"""The condition that is printed from a set of values lets through just these values."""

import random
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.accounting.values import (
    above,
    anything,
    at_least,
    at_most,
    below,
    between,
    equals,
    is_not_null,
    is_null,
    nothing,
    one_of,
)
from discreet.engines.duckdb import Connection
from discreet.engines.duckdb_dialect import DUCKDB
from discreet.engines.engine import Performance
from discreet.engines.expressions import Expressions
from discreet.plan.binding.truth_sets import membership
from discreet.query.expression_text import said
from discreet.query.expression_types import typed
from discreet.query.expressions import Column, Literal, walk
from discreet.query.relations import Scan
from discreet.query.types import Type
from discreet.requests.raw_totals import ARROW_TYPES
from tests.plan.conditions import LITERALS, TYPES, place, values
from tests.reference.casts import read
from tests.reference.expressions import compiled

SETS = [equals, at_least, above, at_most, below]


def drawn_set(chance, kind):
    """Draw a set of values of a type, with ends that need not be values of it."""
    ends = [
        *LITERALS[kind],
        *([Fraction(1, 3), float("inf"), -float("inf")] if kind.is_number else []),
    ]
    found = chance.choice(SETS)(chance.choice(ends))
    for _ in range(chance.randrange(4)):
        more = chance.choice(SETS)(chance.choice(ends))
        found = chance.choice([found & more, found | more, ~more, found & ~more])
    return found | is_null() if chance.random() < 0.3 else found


def belongs(value, held):
    return place(value) in held


def sets(kind):
    one = [anything(), nothing(), is_null(), is_not_null()]
    chance = random.Random(kind.value)  # noqa: S311
    return [
        *one,
        *(each(end) for each in SETS for end in LITERALS[kind]),
        *(drawn_set(chance, kind) for _ in range(150)),
    ]


@pytest.mark.theorem("membership")
@pytest.mark.parametrize("kind", Type)
def test_a_value_passes_if_it_belongs(kind):
    name = kind.value.lower()
    for held in sets(kind):
        rule = compiled(membership(name, kind, held), TYPES)
        for value in values(kind):
            seen = read(value, kind)
            assert (rule({name: seen}) is True) == belongs(seen, held), (held, value)
            assert seen is None or rule({name: seen}) is not None  # total, but for NULL


@pytest.mark.theorem("membership")
def test_duckdb_lets_the_same_values_through():
    """Values as a source holds them, NaN, infinities and signed zeros among them."""
    arrow = {**ARROW_TYPES, Type.FLOAT: pa.float64()}
    for kind in Type:
        name, held = kind.value.lower(), values(kind)
        table = pa.table({name: pa.array(held, arrow[kind]), "place": list(range(len(held)))})
        scan = Scan("t", ((name, kind), ("place", Type.INTEGER)))
        connection = Connection({"t": table}, Performance(threads=1))
        for each in sets(kind)[::3]:
            inside = membership(name, kind, each)
            where = DUCKDB.printed(Expressions(DUCKDB, {name: kind}).node(inside, Type.BOOLEAN))
            rows = DUCKDB.printed(connection.scan(scan))
            found = connection.fetch(f"SELECT place FROM ({rows}) WHERE {where}")  # noqa: S608
            expected = [at for at, value in enumerate(held) if belongs(read(value, kind), each)]
            assert sorted(found.column("place").to_pylist()) == expected, each
        connection.close()


@pytest.mark.parametrize("kind", Type)
def test_literals_have_the_type_of_the_column(kind):
    name = kind.value.lower()
    for held in sets(kind):
        found = membership(name, kind, held)
        for node in walk(found):
            if isinstance(node, Literal) and found != node:
                assert node.type is kind or (kind is Type.FLOAT and node.type is Type.INTEGER)
                assert kind is not Type.FLOAT or Fraction(float(node.value)) == node.value
        assert typed(found, {name: kind}) is Type.BOOLEAN


@pytest.mark.parametrize(
    ("kind", "held", "condition"),
    [
        (Type.INTEGER, above(Fraction(11, 2)), "integer >= 6"),
        (Type.INTEGER, between(Fraction(1, 3), Fraction(2, 3)), "FALSE"),
        (Type.INTEGER, equals(2**70), "FALSE"),
        (Type.INTEGER, at_most(2**70), "integer IS NOT NULL"),
        (Type.FLOAT, at_least(float("inf")), "FALSE"),
        (Type.FLOAT, below(float("inf")), "float IS NOT NULL"),
        (Type.TEXT, ~one_of("f", "m"), "NOT text IN ('f', 'm') OR text IS NULL"),
        (Type.BOOLEAN, equals(False) | is_null(), "boolean IN (FALSE) OR boolean IS NULL"),
    ],
)
def test_conditions_read_well(kind, held, condition):
    found = said(membership(kind.value.lower(), kind, held))
    assert (
        found.replace("NOT integer IS NULL", "integer IS NOT NULL").replace(
            "NOT float IS NULL", "float IS NOT NULL"
        )
        == condition
    )


def test_values_of_another_kind_have_no_condition():
    assert membership("text", Type.TEXT, equals(5)) is None
    assert membership("date", Type.DATE, equals("2024-02-29")) is None
    assert membership("text", Type.TEXT, nothing()) == Literal(False)
    assert Column("text") in walk(membership("text", Type.TEXT, is_null()))
