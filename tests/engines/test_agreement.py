"""Random tables and questions: DuckDB gives what the reference gives, bit for bit."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings

from discreet.engines.engine import HashOrder
from discreet.query.expressions import Aggregate, Column, Literal
from discreet.query.relations import Aggregated, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest
from tests.engines.answers import ENGINE, reference, run
from tests.engines.edges import both
from tests.engines.questions import (
    EVENTS,
    TYPES,
    crowded_tables,
    lowered_questions,
    orders,
    plain_questions,
    relations,
    tables,
)

FEW = settings(max_examples=25, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=1500, suppress_health_check=list(HealthCheck))


@given(rows=tables(), node=relations(depth=2))
@FEW
def test_relations_agree(rows, node):
    actual, expected = both(node, rows, TYPES, ENGINE)
    assert actual == expected


@given(rows=crowded_tables(), lowered=plain_questions(), order=orders())
@FEW
def test_plain_questions_agree_in_the_portable_order(rows, lowered, order):
    assert run(lowered, rows, order) == reference(lowered, rows, order)


@given(rows=tables(), lowered=lowered_questions(), order=orders())
@FEW
def test_questions_agree_in_the_portable_order(rows, lowered, order):
    assert run(lowered, rows, order) == reference(lowered, rows, order)


@pytest.mark.parametrize("distinct", [False, True])
def test_floats_are_added_from_the_lowest_to_the_highest(distinct):
    values = [1e16, 1.0, -1e16, 0.1, 3.0, 1e-9, -1.0, 0.3, 1e8, None] * 40
    types = {"id": Type.INTEGER, "u": Type.INTEGER, "x": Type.FLOAT}
    rows = [
        {"id": index, "u": index % 7, "x": None if value is None else value * (1 + index % 13)}
        for index, value in enumerate(values)
    ]
    added = Aggregate("SUM", Column("x"), distinct=distinct)
    node = Aggregated(Scan("t", tuple(types.items())), (("u", Column("u")),), (("s", added),))
    actual, expected = both(node, {"t": rows}, {"t": types})
    assert actual == expected


def test_a_constant_is_added_up_like_any_other_float():
    types = {"u": Type.INTEGER}
    added = Aggregate("SUM", Literal(Fraction(1, 10)))
    node = Aggregated(Scan("t", (("u", Type.INTEGER),)), (("u", Column("u")),), (("s", added),))
    actual, expected = both(node, {"t": [{"u": number % 2} for number in range(25)]}, {"t": types})
    assert actual == expected


def test_zero_has_one_sign_in_the_portable_order():
    """Which of its values the first unit shows decides whether there are two or one."""
    pairs = [(1, -0.0), (1, 1.5), (2, 1.5)]
    events = [{**dict.fromkeys(EVENTS), "u": unit, "f": value} for unit, value in pairs]
    lowered = EngineRequest(
        relation=Scan("events", tuple(EVENTS.items())),
        unit=(Column("u"),),
        keys=(),
        groups=1,
        measures=(DistinctCount(name="values", expression=Column("f"), most=1),),
    )
    rows, seen = {"events": events, "wards": []}, set()
    for salt in range(20):
        order = HashOrder(salt=salt, portable=True)
        answer = run(lowered, rows, order)
        assert answer == reference(lowered, rows, order)
        seen.add(answer["totals"]["values"][0])
    assert seen == {1, 2}


@pytest.mark.slow
@given(rows=tables(), node=relations(depth=3))
@MANY
def test_many_relations_agree(rows, node):
    actual, expected = both(node, rows, TYPES, ENGINE)
    assert actual == expected


@pytest.mark.slow
@given(
    rows=tables() | crowded_tables(),
    lowered=lowered_questions() | plain_questions(),
    order=orders(),
)
@MANY
def test_many_questions_agree_in_the_portable_order(rows, lowered, order):
    assert run(lowered, rows, order) == reference(lowered, rows, order)
