"""What is derived of an expression holds of its value, for all arguments within their facts."""

import math
from datetime import date, datetime
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import QuestionError
from discreet.plan.binding.value_facts import Facts, facts_of, total_facts
from discreet.query.expressions import Aggregate, Call, Case, Cast, Column, Literal, Window
from discreet.query.functions import PARTS, TIME_PARTS
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
            assert (facts.bounds is None) == (part == "YEAR")  # which is bounded by days alone
            if facts.bounds is not None:
                assert facts.low <= compiled(node, {"d": kind})({"d": value}) <= facts.high


DAYS = st.dates(date(1990, 1, 1), date(2030, 12, 31))


@pytest.mark.theorem("fact-rules")
@given(ends=st.tuples(DAYS, DAYS).map(sorted), share=st.floats(0, 1), other=DAYS)
def test_functions_of_bounded_days_stay_within_their_bounds(ends, share, other):
    day = ends[0] + (ends[1] - ends[0]) * share
    known = {"d": Facts(type=Type.DATE, nullable=False, days=tuple(ends))}
    numbers = [
        Call("EXTRACT", (Literal("YEAR"), Column("d"))),
        Call("DATE_DIFF", (Column("d"), Literal(other), Literal("DAY"))),
        Call("DATE_DIFF", (Literal(other), Column("d"), Literal("DAY"))),
    ]
    for node in numbers:
        facts = facts_of(node, known)
        assert facts.low <= compiled(node, {"d": Type.DATE})({"d": day}) <= facts.high
        assert not facts.nullable
    for node in (
        *(Call("DATE_TRUNC", (Column("d"), Literal(part))) for part in PARTS["DATE_TRUNC"]),
        Call("DATE_ADD", (Column("d"), Literal(-40))),
        Cast(Column("d"), Type.TIMESTAMP),
    ):
        found = compiled(node, {"d": Type.DATE})({"d": day})
        found = found.date() if isinstance(found, datetime) else found
        low, high = facts_of(node, known).days
        assert low <= found <= high


def test_a_written_null_takes_nothing_from_bounds():
    facts = {"x": Facts(type=Type.FLOAT, low=Fraction(2), high=Fraction(9), nullable=False)}
    zero = Call("=", (Column("x"), Literal(0)))
    safe = Case(((zero, Literal(None)),), Column("x"))  # NULLIF(x, 0)
    assert facts_of(safe, facts).bounds == (2, 9)
    assert facts_of(safe, facts).nullable
    low, high = facts_of(Call("/", (Literal(18), safe)), facts).bounds
    assert (round(low, 9), round(high, 9)) == (2, 9)
    assert facts_of(Call("COALESCE", (Literal(None), Column("x"))), facts).bounds == (2, 9)


@pytest.mark.theorem("fact-rules")
@pytest.mark.parametrize("function", ["COUNT", "SUM", "MIN", "MAX"])
@settings(max_examples=40)
@given(values=st.lists(st.none() | st.integers(-3, 9), max_size=6), low=st.integers(-3, 0))
def test_aggregates_of_a_unit_stay_within_their_bounds(function, values, low):
    """A sum of what is not negative is not, and different values are at most all that there are."""
    values = [value for value in values if value is None or value >= low]
    present = [value for value in values if value is not None]
    facts = {
        "x": Facts(
            type=Type.INTEGER, low=Fraction(low), high=Fraction(9), categories=tuple(range(low, 10))
        )
    }
    known = total_facts(Aggregate(function, Column("x")), facts, Type.INTEGER)
    plain = {"COUNT": len, "SUM": sum, "MIN": min, "MAX": max}[function]
    if present or function == "COUNT":
        assert known.low is None or known.low <= plain(present)
        assert known.high is None or plain(present) <= known.high
    if function == "COUNT":
        different = total_facts(Aggregate("COUNT", Column("x"), distinct=True), facts, Type.INTEGER)
        assert different.low <= len(set(present)) <= different.high
