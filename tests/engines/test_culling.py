"""Culling gives what sorting all cells gives, whatever the limit, the parts and the order."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.connection import Connection
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Performance
from discreet.engines.hash_order import HashOrder, lowest_cells, unit_codes
from discreet.engines.threshold_bounding import limit_for, source_of
from discreet.query.expressions import Call, Cast, Column, Literal, Window
from discreet.query.relations import Distinct, Filter, Project, Scan
from discreet.query.types import Type
from discreet.requests.engine_request import EngineRequest, KeyColumn, Total
from tests.engines.answers import flat, reference, run
from tests.engines.questions import (
    EVENTS,
    crowded_tables,
    lowered_questions,
    orders,
    plain_questions,
    tables,
)
from tests.engines.visits import VISITS, by_ward, visits

FEW = settings(max_examples=40, suppress_health_check=list(HealthCheck))
PLACES = 2**64
LIMITS = st.none() | st.sampled_from([1, 2**62, 2**63, PLACES - 1]) | st.integers(1, PLACES - 1)


def culled(lowered, rows, order, *, limit, at_once=2**23):
    """Answer by culling, whatever the size of the table."""
    with (
        patch("discreet.engines.duckdb.MANY", 0),
        patch("discreet.engines.threshold_bounding.limit_for", lambda *_: limit),
        patch("discreet.engines.threshold_bounding._CELLS_AT_ONCE", at_once),
        patch("discreet.engines.threshold_bounding._SHARE", 2),
        patch("discreet.engines.threshold_bounding._DENSE", 9),
    ):
        return run(lowered, rows, order)


@pytest.mark.theorem("culling")
@given(
    cells=st.lists(st.tuples(st.integers(0, 5), st.integers(0, PLACES - 1)), min_size=1),
    most=st.integers(1, 6),
    limit=st.integers(1, PLACES),
)
def test_the_first_cells_of_each_unit_are_kept(cells, most, limit):
    cells = list(dict.fromkeys(cells))
    units = np.array([unit for unit, _ in cells], np.int64)
    places = np.array([place for _, place in cells], np.uint64)
    expected = [
        sum(unit == other and there < place for other, there in cells) < most
        for unit, place in cells
    ]
    assert lowest_cells(units, places, most, limit).tolist() == expected


@given(cells=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=1, max_size=40))
def test_two_cells_of_one_place_are_told_apart_by_nobody(cells):
    """There is no answer, or one that every order of the two agrees with."""
    units = np.array([unit for unit, _ in cells], np.int64)
    places = np.array([place * 2**60 for _, place in cells], np.uint64)
    found = lowest_cells(units, places, 3)
    if found is None:
        assert len(set(cells)) < len(cells)
        return
    for cell, stays in zip(cells, found, strict=True):
        before = sum(other[0] == cell[0] and other[1] < cell[1] for other in cells)
        same = cells.count(cell)
        assert (before + same <= 3) if stays else (before >= 3)


def test_places_that_differ_in_their_last_bits_are_told_apart():
    places = np.array([9, 8, 7, 6, 5], np.uint64) + np.uint64(2**63)
    assert lowest_cells(np.zeros(5, np.int64), places, 2).tolist() == [
        False,
        False,
        False,
        True,
        True,
    ]


@given(
    rows=st.lists(
        st.tuples(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), st.text(max_size=1)),
        min_size=1,
    )
)
def test_units_have_one_code_each(rows):
    columns = [
        pa.chunked_array([[row[at] for row in rows[:3]], [row[at] for row in rows[3:]]], type=kind)
        for at, kind in enumerate([pa.int64(), pa.string()])
    ]
    for chosen, values in [
        (columns, rows),
        (columns[:1], [row[0] for row in rows]),
        (columns[1:], [row[1] for row in rows]),
    ]:
        pairs = set(zip(unit_codes(chosen).tolist(), values, strict=True))
        assert len({code for code, _ in pairs}) == len(pairs) == len(set(values))
        assert min(code for code, _ in pairs) >= 0


@given(
    rows=tables() | crowded_tables(),
    lowered=lowered_questions(by_row=False) | plain_questions(by_row=False),
    order=orders(),
    limit=LIMITS,
    at_once=st.sampled_from([1, 7, 2**23]),
)
@FEW
def test_culling_agrees_with_the_reference_whatever_the_limit(rows, lowered, order, limit, at_once):
    found = culled(lowered, rows, order, limit=limit, at_once=at_once)
    assert found == reference(lowered, rows, order)


CROWDS = [  # of units whose numbers are close or far apart
    st.lists(
        st.tuples(st.sampled_from(units), st.sampled_from("abcdefgh"), st.integers(-3, 3)),
        min_size=10,
        max_size=60,
    )
    for units in ([1, 2, 3], [-5, 0, 3], [1, 10**9, -(2**63)], [7, None])
]


@st.composite
def crowds(draw):
    """Draw rows of few units in many groups."""
    rows = draw(draw(st.sampled_from(CROWDS)))
    events = [{**dict.fromkeys(EVENTS), "u": u, "t": str(u), "k": k, "i": i} for u, k, i in rows]
    return {"events": events, "wards": []}


@pytest.mark.theorem("culling")
@given(
    rows=crowds(),
    unit=st.sampled_from([("u",), ("u",), ("t",), ("u", "t")]),
    groups=st.integers(1, 5),
    public=st.none() | st.lists(st.sampled_from("abcdxyz"), unique=True, max_size=6),
    order=orders(),
    limit=st.integers(1, 15),
    at_once=st.sampled_from([5, 2**23]),
)
@settings(FEW, max_examples=60)
def test_a_crowd_is_culled_like_the_reference(rows, unit, groups, public, order, limit, at_once):  # noqa: PLR0917 (all drawn)
    lowered = EngineRequest(
        relation=Scan("events", tuple(EVENTS.items())),
        unit=tuple(map(Column, unit)),
        keys=(KeyColumn("k", Column("k"), Type.TEXT),),
        groups=groups,
        public=None if public is None else tuple((each,) for each in public),
        measures=(
            Total(name="ones", row=Literal(1), low=0, high=2),
            Total(name="i", row=Column("i"), low=-4, high=4, rows=2),
        ),
    )
    found = culled(lowered, rows, order, limit=limit * 2**60, at_once=at_once)
    assert found == reference(lowered, rows, order)


def scaled(low, high, scale, *, inside):
    """Return a clamped float in whole steps, as a plan would write it."""
    clamped = Call("GREATEST", (Call("LEAST", (Column("f"), Literal(high))), Literal(low)))
    steps = Call("*", (Call("-", (clamped, Literal(low))), Literal(scale)))
    rounded = Call("FLOOR", (Call("+", (steps, Literal(Fraction(1, 2)))),))
    most = (high - low) * scale
    ends = (Literal(0), Literal(most)) if inside else (Literal(1), Literal(most // 2))
    whole = Cast(rounded, Type.INTEGER)
    return Call("GREATEST", (Call("LEAST", (whole, ends[1])), ends[0])), most


@st.composite
def scaled_questions(draw, by_row):
    """Draw a question about floats and integers that are clamped."""
    low = draw(st.integers(-5, 3))
    row, most = scaled(
        low,
        low + draw(st.integers(1, 9)),
        draw(st.sampled_from([1, 3, 2**20])),
        inside=draw(st.booleans()),
    )
    inside = Call("GREATEST", (Call("LEAST", (Column("i"), Literal(4))), Literal(-3)))
    rows = draw(st.none() | st.integers(1, 3))
    relation = Scan("events", tuple(EVENTS.items()))
    if draw(st.booleans()):
        relation = Filter(relation, Call(">", (Column("f"), Literal(-2))))
    return EngineRequest(
        relation=relation,
        unit=() if by_row else (Column("u"),),
        keys=(KeyColumn("k", Column("k"), Type.TEXT), KeyColumn("g", Column("g"), Type.INTEGER))[
            draw(st.integers(0, 1)) :
        ],
        groups=None if by_row else draw(st.integers(1, 3)),
        measures=(
            Total(name="ones", row=Literal(1), low=draw(st.integers(-2, 2)), high=2, rows=rows),
            Total(name="wide", row=row, low=-most, high=most * 3, rows=rows),
            Total(name="tight", row=row, low=0, high=draw(st.sampled_from([most, most // 2 + 1]))),
            Total(name="i", row=inside, low=-3, high=draw(st.integers(2, 12)), rows=rows),
            Total(name="plain", row=Column("i"), low=-3, high=2, rows=rows),
        ),
    )


@pytest.mark.theorem("whole-floats")
@pytest.mark.parametrize("exact", [2**53, 40, 1], ids=["floats", "some floats", "integers"])
@given(rows=tables() | crowded_tables(), order=orders(), limit=LIMITS, draw=st.data())
@FEW
def test_sums_in_floats_are_those_of_integers(exact, rows, order, limit, draw):
    lowered = draw.draw(scaled_questions(by_row=draw.draw(st.booleans())))
    with patch("discreet.engines.sql.totals.EXACT", exact):
        found = culled(lowered, rows, order, limit=limit)
        plain = run(lowered, rows, order)
    assert found == plain == reference(lowered, rows, order)


@pytest.mark.theorem("whole-floats")
@pytest.mark.parametrize("by_row", [False, True])
def test_integers_are_added_up_where_floats_would_round(by_row):
    most = 2**53
    row = Call("GREATEST", (Call("LEAST", (Column("i"), Literal(most))), Literal(-most)))
    lowered = EngineRequest(
        relation=Scan("events", tuple(EVENTS.items())),
        unit=() if by_row else (Column("u"),),
        keys=(KeyColumn("k", Column("k"), Type.TEXT),),
        groups=None if by_row else 1,
        measures=(Total(name="i", row=row, low=-(2**60), high=2**60),),
    )
    values = [most, 1, 1, 1, 2**63 - 1]
    events = [{**dict.fromkeys(EVENTS), "u": 1, "k": "a", "i": value} for value in values]
    rows, order = {"events": events, "wards": []}, HashOrder(salt=1, portable=True)
    found = culled(lowered, rows, order, limit=None)
    assert found["totals"]["i"] == [2 * most + 3]
    assert found == run(lowered, rows, order) == reference(lowered, rows, order)


MOST = 1.7976931348623157e308
ORDINARY = [None, 0.0, -0.0, 5e-324, -5e-324, 2.0, -3.0, 0.49999999999999994, 0.5, -0.5, 9e15]
EXTREMES = [*ORDINARY, MOST, -MOST, MOST / 2, 1e300, float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("scale", [1, 3, Fraction(1, 3), 2**20])
@pytest.mark.parametrize("cap", [None, 2])
def test_a_clamp_after_its_arithmetic_is_the_clamp_before_it(by_row, scale, cap):
    inside = Call("GREATEST", (Call("LEAST", (Column("f"), Literal(2))), Literal(-3)))
    steps = Call("*", (Call("-", (inside, Literal(Fraction(1, 2)))), Literal(scale)))
    row = Cast(Call("FLOOR", (Call("+", (steps, Literal(Fraction(1, 2)))),)), Type.INTEGER)
    lowered = EngineRequest(
        relation=Scan("events", tuple(EVENTS.items())),
        unit=() if by_row else (Column("u"),),
        keys=(KeyColumn("g", Column("g"), Type.INTEGER),),
        groups=None if by_row else 1,
        measures=(Total(name="f", row=row, low=-(2**40), high=2**40, rows=cap),),
    )
    events = [
        {**dict.fromkeys(EVENTS), "u": at, "g": at, "f": value}
        for at, pair in enumerate((one, other) for one in EXTREMES for other in EXTREMES)
        for value in pair
    ]
    rows, order = {"events": events, "wards": []}, HashOrder(salt=1, portable=True)
    assert run(lowered, rows, order) == reference(lowered, rows, order)
    assert culled(lowered, rows, order, limit=None) == reference(lowered, rows, order)


def test_a_large_table_is_culled_and_agrees_with_the_statement():
    table = visits(80000, patients=400, wards=60)
    lowered = by_ward(measures=by_ward().measures[:3])
    for portable in (False, True):
        order = HashOrder(salt=5, portable=portable)
        with DuckDB({"visits": table}, Performance(threads=2)) as engine:
            found = flat(engine.run(lowered, order=order))
            with patch("discreet.engines.duckdb.MANY", 2**40):
                assert flat(engine.run(lowered, order=order)) == found


def test_the_limit_lets_most_units_keep_enough():
    limit = limit_for(10, 100, 100 * 80)
    assert PLACES * 15 < limit * 80 < PLACES * 25


def test_only_what_is_quickly_read_twice_is_culled():
    assert source_of(by_ward()) == VISITS
    assert source_of(by_ward(relation=Filter(VISITS, Literal(True)))) == VISITS
    assert source_of(by_ward(relation=Distinct(VISITS))) is None
    assert source_of(by_ward(unit=(Column("cost"),))) is None
    assert source_of(by_ward(keys=())) is None
    columns = tuple((name, Column(name)) for name, _ in VISITS.columns)
    rank = ("rank", Window("RANK", ()))
    assert source_of(by_ward(relation=Project(VISITS, columns))) == VISITS
    assert source_of(by_ward(relation=Project(VISITS, (*columns, rank)))) is None


def test_text_files_are_not_read_twice(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("patient,ward,cost\n1,a,2\n")
    with DuckDB({"visits": path}) as engine:
        assert engine._connection.size(VISITS) is None
    with DuckDB({"visits": visits(12)}) as engine:
        assert engine._connection.size(VISITS) == 12


def test_units_and_cells_are_counted_once_for_all_questions():
    statements = []
    fetch = Connection.fetch

    def listened(connection, statement, *others):
        statements.append(statement)
        return fetch(connection, statement, *others)

    with (
        patch("discreet.engines.duckdb.MANY", 0),
        patch.object(Connection, "fetch", listened),
        DuckDB({"visits": visits(50)}) as engine,
    ):
        first, second = (flat(engine.run(by_ward(), order=HashOrder(salt=1))) for _ in range(2))
    assert first == second
    assert sum("AS cells" in statement for statement in statements) == 1
