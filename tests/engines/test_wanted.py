"""The columns that are not wanted make no difference, and few are wanted."""

import pytest
from hypothesis import HealthCheck, given, settings

from discreet.engines.required_columns import required_columns
from discreet.errors import UnsupportedSQL
from discreet.query.expressions import Aggregate, Call, Column, Literal, Order, Window
from discreet.query.relations import (
    Aggregated,
    BoundedUnits,
    Distinct,
    Filter,
    Join,
    Named,
    Project,
    Scan,
    SemiJoin,
    Table,
    UnionAll,
)
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest, KeyColumn, Leaves, Total
from tests.engines.answers import reference
from tests.engines.questions import (
    EVENTS,
    WARDS,
    crowded_tables,
    lowered_questions,
    orders,
    plain_questions,
    tables,
)

FEW = settings(max_examples=100, suppress_health_check=list(HealthCheck))
VISITS = Scan("events", tuple(EVENTS.items()))
BEDS = Scan("wards", tuple(WARDS.items()))
U, K, I = Column("u"), Column("k"), Column("i")


def blanked(rows, lowered):
    """Return rows in which everything that is not wanted is NULL."""
    found = required_columns(lowered)
    return {
        table: [
            {name: value if name in found.get(table, ()) else None for name, value in row.items()}
            for row in each
        ]
        for table, each in rows.items()
    }


@given(
    rows=tables() | crowded_tables(),
    lowered=lowered_questions(depth=3) | plain_questions(),
    order=orders(),
)
@FEW
def test_what_is_not_wanted_makes_no_difference(rows, lowered, order):
    assert reference(lowered, blanked(rows, lowered), order) == reference(lowered, rows, order)


def of(relation, *, unit=(U,), keys=(), measures=()):
    lowered = EngineRequest(
        relation=relation, unit=unit, keys=keys, groups=1 if unit else None, measures=measures
    )
    return {table: "".join(sorted(names)) for table, names in required_columns(lowered).items()}


def test_a_scan():
    assert of(VISITS) == {"events": "u"}
    assert of(VISITS, unit=()) == {"events": ""}
    total = Total(name="t", row=I, low=0, high=1)
    leaves = Leaves(name="l", row=Column("g"), leaves=2, rows=1)
    values = DistinctCount(name="v", expression=Column("f"), most=1)
    assert of(VISITS, measures=(total, leaves, values)) == {"events": "fgiu"}
    assert of(VISITS, keys=(KeyColumn("k", K, Type.TEXT),)) == {"events": "ku"}
    with pytest.raises(UnsupportedSQL):  # an alias is there in unbound relations only
        of(Named(VISITS, "v"))


def test_names_of_tables_and_columns_are_folded():
    scan = Scan("Events", (("U", Type.INTEGER), ("Z", Type.TEXT)))
    assert of(scan, unit=(Column("U"),)) == {"events": "u"}


def test_filters_and_projections():
    assert of(Filter(VISITS, Column("b"))) == {"events": "bu"}
    renamed = Project(VISITS, (("u", U), ("x", Call("+", (I, Column("g")))), ("y", K)))
    assert of(renamed) == {"events": "u"}
    assert of(renamed, keys=(KeyColumn("x", Column("x"), Type.INTEGER),)) == {"events": "giu"}


def test_the_ties_of_a_window_are_broken_by_all_columns():
    row = Window("ROW_NUMBER", (), (U,), (Order(I, False, False),))
    numbered = Project(VISITS, (("u", U), ("n", Call("+", (row, Literal(1))))))
    assert of(numbered) == {"events": "u"}
    total = Total(name="t", row=Column("n"), low=0, high=1)
    assert of(numbered, measures=(total,)) == {"events": "".join(sorted(EVENTS))}


def test_joins():
    on = Call("=", (K, Column("ward")))
    assert of(Join(VISITS, BEDS, "inner", on)) == {"events": "ku", "wards": "ward"}
    assert of(Join(VISITS, BEDS, "cross")) == {"events": "u", "wards": ""}
    assert of(SemiJoin(VISITS, BEDS, on)) == {"events": "ku", "wards": "ward"}
    assert of(SemiJoin(VISITS, BEDS, anti=True)) == {"events": "u", "wards": ""}


def test_groups():
    outputs = (("n", Aggregate("SUM", I, where=Column("b"))), ("m", Aggregate("MAX", K)))
    grouped = Aggregated(VISITS, (("u", U), ("g", Column("g"))), outputs)
    assert of(grouped) == {"events": "gu"}
    total = Total(name="t", row=Column("n"), low=0, high=1)
    assert of(grouped, measures=(total,)) == {"events": "bgiu"}


def test_rows_that_are_compared_as_a_whole():
    assert of(Distinct(Project(VISITS, (("u", U), ("k", K))))) == {"events": "ku"}
    bounded = BoundedUnits(VISITS, ("u",), (K,), rows=1, text_bytes=1)
    assert of(Project(bounded, (("u", U),))) == {"events": "ku"}
    assert of(Distinct(VISITS)) == {"events": "".join(sorted(EVENTS))}


def test_parts_of_a_union_are_matched_by_place():
    first = Project(VISITS, (("u", U), ("x", I)))
    second = Project(VISITS, (("v", Column("g")), ("u", Column("u"))))
    assert of(UnionAll((first, second))) == {"events": "gu"}


def test_a_relation_that_is_not_bound():
    with pytest.raises(UnsupportedSQL):
        of(Table("events"))
