"""What is derived of an expression holds of its value, for all arguments within their facts."""

import math
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionError
from discreet.plan.binding.value_facts import Facts, facts_of
from discreet.query.expressions import Aggregate, Call, Cast, Column, Literal, Window
from discreet.query.signatures import PARTS, TIME_PARTS
from discreet.query.types import Type
from tests.engines.questions import expressions
from tests.reference.expressions import compiled

TYPES = {"i": Type.INTEGER, "j": Type.INTEGER, "f": Type.FLOAT, "g": Type.FLOAT, "b": Type.BOOLEAN}
EDGES = [0, 1, -1, 2**31, -(2**40), 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
WHOLE = st.sampled_from(EDGES) | st.integers(-9, 9)
BROKEN = st.sampled_from([0.0, 0.1, -1e-300, 1e16, 1e300, -1.7e308, 5e-324]) | st.floats(-9, 9)


@st.composite
def columns(draw):
    """Draw facts of each column, and a few rows of values within them."""
    known, values = {}, {}
    for name, kind in TYPES.items():
        source = {Type.INTEGER: WHOLE, Type.FLOAT: BROKEN}.get(kind, st.booleans())
        nullable = draw(st.booleans())
        row = st.none() | source if nullable else source
        found = draw(st.lists(row, min_size=3, max_size=3))
        present = [Fraction(value) for value in found if value is not None]
        bounded = kind.is_number and present and draw(st.booleans())
        known[name] = Facts(
            type=kind,
            low=min(present) if bounded else None,
            high=max(present) if bounded else None,
            nullable=nullable,
            constant=len(set(map(repr, found))) == 1,
        )
        values[name] = found
    rows = [{name: values[name][at] for name in TYPES} for at in range(3)]
    return known, rows


def check(expression, known, rows):
    facts = facts_of(expression, known)
    rule = compiled(expression, TYPES)
    values = [rule(row) for row in rows]
    for value in values:
        if value is None:
            assert facts.nullable
        elif facts.bounds is not None:
            assert facts.low <= Fraction(value) <= facts.high
    if facts.constant:
        assert len({repr(value) for value in values}) == 1


@pytest.mark.theorem("fact-rules")
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    known=columns(),
    expression=st.sampled_from([Type.INTEGER, Type.FLOAT, Type.BOOLEAN]).flatmap(
        lambda kind: expressions(kind, TYPES, depth=2)
    ),
)
def test_rules_enclose_what_is_computed(known, expression):
    try:
        check(expression, *known)
    except QuestionError:
        return  # drawn with types that no question could have


@pytest.mark.theorem("fact-rules")
@settings(max_examples=60)
@given(
    known=columns(),
    sign=st.sampled_from("+-*"),
    names=st.lists(st.sampled_from("ijfg"), min_size=2, max_size=2),
)
def test_arithmetic_of_extremes(known, sign, names):
    pair = tuple(map(Column, names))
    check(Call(sign, pair), *known)
    check(Call("LEAST", pair), *known)
    check(Call("ABS", pair[:1]), *known)
    check(Cast(pair[0], Type.FLOAT), *known)
    check(Cast(pair[0], Type.INTEGER), *known)
    check(Cast(Column("b"), Type.INTEGER), *known)
    check(Call("/", pair), *known)
    check(Call("SQRT", pair[:1]), *known)
    check(Call("SIGN", pair[:1]), *known)
    for whole in ("DIV", "MOD"):
        check(Call(whole, (Column("i"), Column("j"))), *known)
        for divisor in (7, -7, -1, 2**62):
            check(Call(whole, (Column("i"), Literal(divisor))), *known)


def test_rounding_widens():
    third = Facts(type=Type.FLOAT, low=Fraction(1, 10), high=Fraction(3, 10))
    bounds = facts_of(Call("+", (Column("x"), Column("x"))), {"x": third}).bounds
    assert bounds[0] < Fraction(1, 5)
    assert bounds[1] > Fraction(3, 5)
    assert math.isclose(bounds[1], 0.6)


def test_windows_and_aggregates_know_nothing():
    age = Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(9), constant=True)
    for node in (Window("SUM", (Column("a"),)), Aggregate("SUM", Column("a"))):
        found = facts_of(node, {"a": age})
        assert found.bounds is None
        assert not found.constant


def test_bounds_are_kept_by_a_case():
    facts = {"x": Facts(type=Type.INTEGER, low=Fraction(0), high=Fraction(9), nullable=False)}
    found = facts_of(Call("COALESCE", (Column("x"), Literal(-1))), facts)
    assert found.bounds == (-1, 9)


@pytest.mark.theorem("fact-rules")
@given(moment=st.datetimes())
def test_parts_of_a_date_are_counted_from_the_first_to_the_last(moment):
    for part in PARTS["EXTRACT"]:
        for kind, value in ((Type.DATE, moment.date()), (Type.TIMESTAMP, moment)):
            if kind is Type.DATE and part in TIME_PARTS:
                continue
            node = Call("EXTRACT", (Literal(part), Column("d")))
            facts = facts_of(node, {"d": Facts(type=kind, nullable=False)})
            assert not facts.nullable
            assert (facts.bounds is None) == (part == "YEAR")
            if facts.bounds is not None:
                assert facts.low <= compiled(node, {"d": kind})({"d": value}) <= facts.high
