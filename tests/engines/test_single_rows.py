"""Totals in parts: rows of different units are handed out as they are, and all others added up."""

import math
from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.connection import Connection
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Performance
from discreet.engines.hash_order import HashOrder
from discreet.engines.single_rows import SingleRows, are_single, row_source
from discreet.errors import OutOfRange
from discreet.query.expressions import Call, Column, Literal
from discreet.query.relations import Distinct, Filter, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import DistinctCount, EngineRequest, KeyColumn, Total
from tests.engines.answers import ENGINE, reference, run
from tests.engines.questions import EVENTS, crowded_tables, orders, tables

FEW = settings(max_examples=60, suppress_health_check=list(HealthCheck))
EVENTS_TABLE = Scan("events", tuple(EVENTS.items()))


@st.composite
def row_counts(draw):
    """Draw a question for rows in parts: whose they are, their keys and how often they count."""
    relation = EVENTS_TABLE
    for name in draw(st.lists(st.sampled_from("kgb"), unique=True, max_size=2)):
        relation = Filter(relation, Call("NOT", (Call("IS NULL", (Column(name),)),)))
    chosen = draw(st.lists(st.sampled_from("kgfbdm"), unique=True, min_size=1, max_size=3))
    unit = draw(st.sampled_from([(), ("u",), ("t",), ("u", "b")]))
    high = draw(st.integers(1, 3))
    return EngineRequest(
        relation=relation,
        unit=tuple(map(Column, unit)),
        keys=tuple(KeyColumn(name, Column(name), EVENTS[name]) for name in chosen),
        groups=draw(st.integers(1, 3)) if unit else None,
        measures=(
            Total(name="rows", row=Literal(1), low=0, high=high),
            Total(name="shifted", row=Literal(1), low=draw(st.integers(-2, 2)), high=high + 2),
            Total(name="capped", row=Literal(1), low=0, high=high, rows=1),
        ),
        in_parts=True,
    )


def added_up(answer):
    """Return the sums of the parts of each group; there may be one part or several."""
    found = {}
    numbers = {"units": answer["units"], **answer["totals"]}
    for place, group in enumerate(zip(*answer["keys"], strict=True)):
        sums = found.setdefault(repr(group), Counter())
        for name, values in numbers.items():
            sums[name] += values[place]
    return found


def forgetful():
    """The shared engine, which remembers nothing of other tables."""
    ENGINE._single_rows._worth_reading.clear()
    return ENGINE


@st.composite
def lonely_tables(draw, shared=1):
    """Draw tables in which so many rows are of one unit; each alone unless it is said."""
    rows = draw(tables(most=12))["events"]
    owners = [place // shared for place in range(len(rows))]
    own = [
        {**row, "u": 3 * who, "t": f"t{who}", "b": True}
        for row, who in zip(rows, owners, strict=True)
    ]
    return {"events": own, "wards": []}


@pytest.mark.theorem("single-rows")
@given(
    rows=tables() | crowded_tables() | lonely_tables(),
    lowered=row_counts(),
    order=orders(portable=True),
    many=st.sampled_from([0, 2**16]),
    at_once=st.sampled_from([2, 2**22]),
)
@FEW
def test_parts_add_up_to_the_totals_of_the_reference(rows, lowered, order, many, at_once):
    """As single rows, by a threshold or by a statement, which merges the groups of large tables."""
    with (
        patch("discreet.engines.duckdb.MANY", many),
        patch("discreet.engines.duckdb.AT_ONCE", at_once),
        patch("discreet.engines.single_rows.AT_ONCE", at_once),
    ):
        found = run(lowered, rows, order, forgetful())
    assert added_up(found) == added_up(reference(lowered, rows, order))


@pytest.mark.theorem("single-rows")
@given(rows=lonely_tables(shared=2), lowered=row_counts(), order=orders(portable=True))
@FEW
def test_two_rows_of_a_unit_are_bounded_together(rows, lowered, order):
    bounded = replace(lowered, groups=lowered.groups and 1)
    found = run(bounded, rows, order, forgetful())
    assert added_up(found) == added_up(reference(bounded, rows, order))


@pytest.mark.theorem("single-rows")
@given(rows=lonely_tables(), lowered=row_counts(), order=orders(portable=False))
@FEW
def test_rows_of_different_units_are_the_parts(rows, lowered, order):
    """At most one statement reads them, and none adds anything up."""
    fetch = Connection.fetch
    with patch.object(Connection, "fetch", autospec=True, side_effect=fetch) as fetched:
        found = run(lowered, rows, order, forgetful())
    assert fetched.call_count <= 1
    assert not any("GROUP BY" in call.args[1] for call in fetched.call_args_list)
    assert set(found["units"]) <= {1}
    assert len(found["units"]) == sum(counts(lowered, row) for row in rows["events"])


def counts(lowered, row):
    """Whether a row has a unit, and the filters of a question let it through."""
    node, kept = lowered.relation, all(row[part.name] is not None for part in lowered.unit)
    while isinstance(node, Filter):
        (inner,) = node.predicate.arguments
        kept &= row[inner.arguments[0].name] is not None
        node = node.child
    return kept


VISITS = Scan("visits", (("who", Type.INTEGER), ("ward", Type.TEXT)))
COUNTS = EngineRequest(
    relation=VISITS,
    unit=(Column("who"),),
    keys=(KeyColumn("ward", Column("ward"), Type.TEXT),),
    groups=1,
    measures=(Total(name="rows", row=Literal(1), low=0, high=1),),
    in_parts=True,
)


def counted(who, request=COUNTS, **options):
    """Return the sum of all totals for rows of some people, each in a ward of its own."""
    table = pa.table({"who": who, "ward": [f"w{place}" for place in range(len(who))]})
    with DuckDB({"visits": table}, **options) as engine:
        raw = engine.run(request, order=HashOrder(salt=5))
    return int(raw.totals["rows"].sum()), len(raw.units)


@pytest.mark.parametrize("count", [10, 2**16 + 10])
def test_one_unit_with_a_second_row_counts_once(count):
    """Planted: nearly all have one row, and the last one has two, in different groups."""
    who = list(range(count))
    assert counted(who) == (count, count)
    assert counted([*who, 3]) == (count, count)
    assert counted([*who, None]) == (count, count)
    assert counted(who, performance=Performance(memory="1GB")) == (count, count)


def test_a_table_that_was_single_is_looked_at_again():
    """What an earlier run has seen of a table is not trusted."""
    rows = {"events": [{**dict.fromkeys(EVENTS), "u": u, "k": "a"} for u in (1, 2)], "wards": []}
    lowered = replace(
        COUNTS,
        relation=EVENTS_TABLE,
        unit=(Column("u"),),
        keys=(KeyColumn("k", Column("k"), Type.TEXT), KeyColumn("i", Column("i"), Type.INTEGER)),
    )
    order = HashOrder(salt=1)
    assert sum(run(lowered, rows, order, forgetful())["totals"]["rows"]) == 2
    rows["events"].append({**rows["events"][0], "i": 7})
    assert sum(run(lowered, rows, order)["totals"]["rows"]) == 2
    assert list(ENGINE._single_rows._worth_reading.values()) == [False]
    assert sum(run(lowered, rows, order)["totals"]["rows"]) == 2


def test_floats_have_one_zero_and_no_infinity():
    scan = Scan("visits", (("who", Type.INTEGER), ("x", Type.FLOAT)))
    request = replace(
        COUNTS, relation=scan, keys=(KeyColumn("x", Column("x"), Type.FLOAT),), unit=(), groups=None
    )
    values = [-0.0, 0.0, math.inf, math.nan, 1.5, None]
    table = pa.table({"who": range(6), "x": pa.array(values, pa.float64())})
    with DuckDB({"visits": table}) as engine:
        raw = engine.run(request, order=HashOrder(salt=5))
    found = raw.keys[0].to_pylist()
    assert sorted(map(repr, found)) == ["0.0", "0.0", "1.5", "None", "None", "None"]


def test_what_is_added_up_by_statements():
    floats = Scan("visits", (("who", Type.FLOAT), ("ward", Type.TEXT)))
    assert row_source(COUNTS) == VISITS
    assert row_source(replace(COUNTS, in_parts=False)) is None
    assert row_source(replace(COUNTS, relation=floats)) is None  # 0.0 and -0.0 are one unit
    assert row_source(replace(COUNTS, relation=Distinct(VISITS))) is None
    assert row_source(replace(COUNTS, keys=())) is None
    other = Total(name="rows", row=Column("who"), low=0, high=1)
    assert row_source(replace(COUNTS, measures=(other,))) is None


def test_large_tables_and_long_columns_are_added_up():
    who = list(range(9))
    for limit, most in (("AT_ONCE", 8), ("_LONGEST", 8)):
        with (
            patch(f"discreet.engines.single_rows.{limit}", most),
            patch("discreet.engines.sources.plain_columns.MOST", most),
            patch.object(
                SingleRows, "totals", autospec=True, side_effect=SingleRows.totals
            ) as seen,
        ):
            assert counted(who) == (9, 9)
        assert seen.called


@pytest.mark.parametrize("rows", [[], [None], [7], [7, -(2**63)]])
def test_few_rows_are_single(rows):
    assert are_single(pa.table({"u0": pa.array(rows, pa.int64())}), ["u0"])


def test_parts_are_of_totals_alone():
    distinct = DistinctCount(name="wards", expression=Column("ward"), most=1)
    with pytest.raises(OutOfRange, match="in parts"):
        replace(COUNTS, measures=(*COUNTS.measures, distinct))
    with pytest.raises(OutOfRange, match="in parts"):
        replace(COUNTS, public=(("A",),))
