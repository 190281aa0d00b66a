"""Formulas over released columns mean what they mean on engines."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import WrongType
from discreet.query.expression_types import CASTS, FUNCTIONS, typed
from discreet.query.expressions import Call, Case, Cast, Column, Grouped, Literal
from discreet.query.functions import RELEASED
from discreet.query.types import Type
from discreet.release.formulas import Formulas, Vector
from tests.engines.edges import ARROW, EDGES, products
from tests.engines.questions import EVENTS, expressions, tables
from tests.engines.test_functions import SMALL, calls, signatures
from tests.reference.casts import read
from tests.reference.expressions import compiled


def columns_of(rows, types):
    return {
        name: Vector.read(pa.array([row[name] for row in rows], ARROW[kind]), kind)
        for name, kind in types.items()
    }


def shown(values):
    return [repr(value + 0.0 if isinstance(value, float) else value) for value in values]


def agree(expression, rows, types):
    rows = [{name: read(row[name], kind) for name, kind in types.items()} for row in rows]
    rule = compiled(expression, types)
    formulas = Formulas(columns=columns_of(rows, types), keys=(), size=len(rows))
    values = formulas.value(expression)
    assert shown(values.to_list()) == shown(rule(row) for row in rows), expression
    assert values.type in {typed(expression, types), None}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_agrees_on_all_edges(name):
    function, compared = FUNCTIONS[name], 0
    for kinds in signatures(function):
        types = {f"c{index}": kind for index, kind in enumerate(kinds)}
        rows = products(kinds, SMALL if len(kinds) < 3 else {k: v[:6] for k, v in EDGES.items()})
        for call in calls(function, kinds):
            try:
                typed(call, types)
            except WrongType:
                continue
            agree(call, rows, types)
            compared += 1
    assert compared


@pytest.mark.parametrize(
    ("start", "to"), [(start, to) for start in Type for to in Type if to in CASTS[start]]
)
def test_a_cast_agrees_on_all_edges(start, to):
    agree(Cast(Column("c0"), to), products([start]), {"c0": start})


@settings(max_examples=60, deadline=None)
@given(st.data(), tables(most=8), st.sampled_from(list(Type)))
def test_random_expressions_agree(data, drawn, kind):
    expression = data.draw(expressions(kind, EVENTS, 3))
    agree(expression, drawn["events"], EVENTS)


NULL = Literal(None)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Call("+", (NULL, Literal(1))), None),
        (Call("AND", (NULL, Literal(False))), False),
        (Call("OR", (NULL, Literal(True))), True),
        (Call("NOT", (NULL,)), None),
        (Call("=", (NULL, NULL)), None),
        (Call("IN", (Literal(1), Literal(2), NULL)), None),
        (Call("COALESCE", (NULL, Literal(3))), 3),
        (Call("COALESCE", (NULL, NULL)), None),
        (Call("LEAST", (NULL, Literal(3))), None),
        (Call("IS NULL", (NULL,)), True),
        (Call("IS TRUE", (NULL,)), False),
        (Case(((NULL, Literal(1)),), NULL), None),
        (Case(((Literal(True), NULL),), Literal("a")), None),
        (Call("/", (Literal(1), Literal(0))), None),
        (Call("SQRT", (NULL,)), None),
        (Call("LENGTH", (NULL,)), None),
    ],
)
def test_a_bare_null_is_understood(expression, expected):
    values = Formulas(columns={}, keys=(), size=2).value(expression)
    assert values.to_list() == [expected, expected]


def test_keys_are_columns_too():
    keys = (Vector.read(pa.array(["b", None]), Type.TEXT),)
    formulas = Formulas(columns={}, keys=keys, size=2)
    assert formulas.value(Call("UPPER", (Grouped(0),))).to_list() == ["B", None]
    assert formulas.where_true(Call("=", (Grouped(0), Literal("b")))).tolist() == [True, False]


def test_a_million_groups_take_moments():
    values = Vector(Type.INTEGER, np.arange(10**6), np.zeros(10**6, np.bool_))
    formulas = Formulas(columns={"a": values}, keys=(), size=10**6)
    ratio = Call(
        "/", (Call("*", (Literal(100), Column("a"))), Call("+", (Column("a"), Literal(1))))
    )
    assert formulas.value(ratio).values[:2].tolist() == [0.0, 50.0]


EXACT = {
    "EXP": math.exp,
    "LN": math.log,
    "LOG10": math.log10,
    "LOG2": math.log2,
    "POWER": math.pow,
}
"""What the standard library computes, or fails to."""


@pytest.mark.parametrize("name", RELEASED)
def test_functions_of_released_numbers_are_those_of_the_library(name):
    numbers = [-1e9, -2.5, -2.0, -1.0, -0.0, 0.0, 1e-320, 0.5, 1.0, 2.0, 3.0, 710.0, 1e300]
    count = len(RELEASED[name].takes)
    points = list(itertools.product(numbers, repeat=count))
    columns = {
        f"c{at}": Vector.read(pa.array([point[at] for point in points]), Type.FLOAT)
        for at in range(count)
    }
    call = Call(name, tuple(Column(column) for column in columns))
    values = Formulas(columns=columns, keys=(), size=len(points)).value(call).to_list()
    for point, value in zip(points, values, strict=True):
        try:
            wanted = EXACT[name](*point)
        except (ValueError, OverflowError):  # outside, or not finite
            wanted = None
        assert value == (wanted if wanted is None else pytest.approx(wanted, rel=1e-14)), point


def test_whole_numbers_become_floats_first():
    columns = {"n": Vector.read(pa.array([2, None, 10]), Type.INTEGER)}
    formulas = Formulas(columns=columns, keys=(), size=3)
    assert formulas.value(Call("POWER", (Column("n"), Literal(-1)))).to_list() == [0.5, None, 0.1]
