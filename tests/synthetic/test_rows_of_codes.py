"""How many rows of a unit count for one combination of codes: bins merge what a key tells apart."""

from datetime import date, timedelta
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.types import Type
from discreet.synthetic.domain import Categories, CodedColumn, NumberBins, Periods

FIRST = date(2024, 1, 1)


def policy(days, more=""):
    last = FIRST + timedelta(days=days - 1)
    return f"""
format = 1
unit = "patient"
[limits]
max_groups = 3
{more}
[tables.visits]
key = ["patient", "seen"]
[tables.visits.columns]
patient = {{ type = "integer" }}
seen = {{ type = "date", low = {FIRST}, high = {last}, nullable = false }}
"""


def opened(days, more="max_rows = 5"):
    """Forty patients, each seen on the first five days."""
    rows = [(who, FIRST + timedelta(days=day)) for who in range(40) for day in range(5)]
    table = pa.table({"patient": [who for who, _ in rows], "seen": [day for _, day in rows]})
    return dp.open({"visits": table}, policy=policy(days, more), test_mode=True)


def planned(session, **more):
    return dp.plan_synthesis(
        session, "visits", rho=10**12, method=dp.synthetic.Independent(), **more
    )


def test_rows_of_different_days_in_one_bin_all_count():
    with opened(366) as session:
        plan = planned(session)
        assert plan.domain.columns[0].size == 12
        assert plan.moves == 3 * 5
        counts = dp.synthesize(session, plan).evidence.measured[0].values
    assert counts.tolist() == [200, *[0] * 11]


def test_a_day_of_its_own_holds_one_row():
    with opened(20) as session:
        plan = planned(session)
        assert plan.domain.columns[0].size == 20
        assert plan.moves == 3
        counts = dp.synthesize(session, plan).evidence.measured[0].values
    assert counts.sum() == 3 * 40


def test_a_limit_is_asked_for_where_bins_need_one():
    with opened(20, "") as session:
        assert planned(session).moves == 3
    with opened(366, "") as session, pytest.raises(dp.errors.MissingBounds, match="max_rows"):
        planned(session)


def numbers(*edges, whole=True):
    return NumberBins(edges=tuple(map(Fraction, edges)), whole=whole)


@pytest.mark.parametrize(
    ("coding", "kind", "expected"),
    [
        (Categories(("A", "B")), Type.TEXT, True),
        (numbers(0, 1, 2, 3), Type.INTEGER, True),
        (numbers(0, 1, 3), Type.INTEGER, False),
        (numbers(0, 1, 2, whole=False), Type.FLOAT, False),
        (Periods((FIRST, FIRST + timedelta(1))), Type.DATE, True),
        (Periods((FIRST, FIRST + timedelta(7))), Type.DATE, False),
        (Periods((FIRST, FIRST + timedelta(1)), moments=True), Type.TIMESTAMP, False),
    ],
)
def test_codes_that_stand_for_one_value(coding, kind, expected):
    column = CodedColumn(name="x", type=kind, coding=coding, nullable=True)
    assert column.one_to_one is expected
