"""Visitors who exceed every limit, by one and by many.

A clinic has limits on rows, groups and values, tables that are linked to others, and questions with
joins, unions and windows.  For each limit there are visitors who exceed it by one and by many, and
nothing else.  The totals with and without them, before noise, are compared with what every release
of the plan is priced for: there is no chance in it.  A visitor who moves nothing by all that is
allowed would show nothing; for every limit there must be one who does.
"""

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from discreet.engines.engine import HashOrder
from discreet.session import open as opened
from tests.audit.clinic import COLUMNS, POLICY, Moved, moves, row_of, totals_of, visits

Tables = Mapping[str, pa.Table]

_MANY = 40
_VISITOR = 1000
_RULES = (
    POLICY
    + """
visit = {type = "integer"}
[tables.bills.link]
column = "visit"
parent = "visits"
key = "visit"
[tables.bills.columns.amount]
type = "integer"
low = -5
high = 50
[tables.wards]
public = true
"""
)
_WARDS = pa.table({"ward": ["A", "A", "B", "B", "C", "C"], "nurse": ["k", "l", "k", "m", "l", "m"]})
_BILLS = pa.schema([("visit", pa.int64()), ("amount", pa.int64())])
_VISITS = COLUMNS.append(pa.field("visit", pa.int64()))

QUESTIONS = {
    "rows": ("SELECT COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS a FROM visits",),
    "groups": (
        "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
        (
            "SELECT city, COUNT(DISTINCT patient) AS p, COUNT(DISTINCT note) AS d FROM visits "
            "GROUP BY city"
        ),
    ),
    "values above": ("SELECT SUM(cost) AS s, SUM(age) AS a, VAR_POP(cost) AS v FROM visits",),
    "values below": ("SELECT SUM(cost) AS s, SUM(age) AS a, AVG(cost) AS m FROM visits",),
    "ranks": ("SELECT ward, MEDIAN(age) AS m FROM visits GROUP BY ward",),
    "links": (
        "SELECT COUNT(*) AS n, SUM(amount) AS s FROM bills",
        (
            "SELECT v.ward, SUM(b.amount) AS s FROM visits AS v JOIN bills AS b "
            "ON b.visit = v.visit GROUP BY v.ward"
        ),
    ),
    "joins": (
        "SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b ON a.patient = b.patient",
        (
            "SELECT nurse, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward "
            "GROUP BY nurse"
        ),
    ),
    "unions": (
        (
            "SELECT COUNT(*) AS n, SUM(cost) AS s FROM (SELECT patient, cost FROM visits UNION ALL "
            "SELECT patient, cost FROM visits) AS t"
        ),
    ),
    "windows": (
        (
            "SELECT SUM(cost) AS s, COUNT(*) AS n FROM (SELECT patient, cost, ROW_NUMBER() OVER "
            "(PARTITION BY patient ORDER BY cost) AS k FROM visits) AS t WHERE k > 0"
        ),
    ),
}
"""For each limit, questions in which exceeding it would show."""

PRICES = ({"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1", "delta": "1e-6"})


class Visitor(NamedTuple):
    """The rows of somebody who exceeds one limit."""

    limit: str
    visits: list[dict[str, Any]]
    bills: tuple[dict[str, Any], ...] = ()

    def tables(self):
        """Return the tables with this visitor."""
        return _tables(self.visits, self.bills)


def visitors():
    """Yield a visitor beyond each limit by one, and one by many.

    >>> sorted({visitor.limit for visitor in visitors()}) == sorted(QUESTIONS)
    True
    """
    for extra in (1, _MANY):
        rows = [_row(number, cost=100.0, age=110, ward="A") for number in range(3 + extra)]
        for limit in ("rows", "joins", "unions", "windows", "ranks"):
            yield Visitor(limit, rows)
        groups = [
            _row(number, cost=100.0, ward="ABC"[number % 3], city=f"c{number}", note=f"{number}")
            for number in range(3 * (2 + extra))
        ]
        yield Visitor("groups", groups)
        yield Visitor("ranks", groups)
        above = {"cost": 100.0 + extra, "age": 110 + extra}
        yield Visitor("values above", [_row(number, **above) for number in range(3)])
        below = {"cost": -float(extra), "age": -extra}
        yield Visitor("values below", [_row(number, **below) for number in range(3)])
        bill = {"visit": _VISITOR, "amount": 50 + extra}
        yield Visitor("links", rows[:3], (bill,) * (3 + extra))
    huge = {"cost": 1e300, "age": 2**62}
    yield Visitor("values above", [_row(number, **huge) for number in range(3)])
    yield Visitor("values below", [_row(number, cost=-1e300, age=-(2**62)) for number in range(3)])


def _row(number, **changes):
    return row_of(_VISITOR, visit=_VISITOR + number, **changes)


def _tables(more, bills):
    rows = [{**row, "visit": place} for place, row in enumerate(visits(12).to_pylist())]
    usual = [{"visit": row["visit"], "amount": 7} for row in rows]
    return {
        "visits": pa.Table.from_pylist([*rows, *more], schema=_VISITS),
        "bills": pa.Table.from_pylist([*usual, *bills], schema=_BILLS),
        "wards": _WARDS,
    }


@pytest.mark.parametrize("limit", QUESTIONS)
def test_no_visitor_moves_a_total_beyond_its_price(found, quick, limit):
    """Visitors who exceed every limit by one and by many move no total beyond its price."""
    salts = (0,) if quick else tuple(range(20))
    wrong, shares = [], []
    without = _tables([], ())
    for visitor in visitors():
        if visitor.limit != limit:
            continue
        for moved, sql in _moved(visitor, without, salts, PRICES[:1] if quick else PRICES):
            shares.append(moved.share)
            wrong += [f"{moved.measure} of {sql}"] * moved.too_far
    wrong += ["no visitor moves all that is allowed"] * (max(shares) < 1)
    found.title = f"Visitors beyond every limit: {limit}"
    found.attack(f"{len(shares)} totals", wrong, not_covered="two people together")


def _moved(visitor, without, salts, prices):
    """Yield how far a visitor moves what is asked in view of the limit."""
    with _opened(visitor.tables()) as here, _opened(without) as there:
        for sql, price, salt in product(QUESTIONS[visitor.limit], prices, salts):
            plan = here.plan(sql, **price)
            pair = (totals_of(each, plan, salt=salt) for each in (here, there))
            yield from ((moved, sql) for moved in moves(plan, *pair))
            yield from ((moved, sql) for moved in _ranked(plan, here, there, salt))


def _opened(tables):
    return opened(dict(tables), policy=_RULES, test_mode=True)


def _ranked(plan, here, there, salt):
    """Yield how many rows of the histograms of quantiles a visitor moves, all groups together."""
    order = HashOrder(salt=salt)
    raws = [each._engine.run(plan.request, order=order) for each in (here, there)]
    for choice in {choice.measure: choice for choice in plan.choices}.values():
        counts = []
        for raw in raws:
            keys = list(zip(*(key.to_pylist() for key in raw.keys), strict=True)) or [()]
            parts = zip(*(part.tolist() for part in raw.leaves[choice.measure]), strict=True)
            counts.append({(keys[group], leaf): count for group, leaf, count in parts})
        one, other = counts
        steps = [one.get(at, 0) - other.get(at, 0) for at in {*one, *other}]
        allowed = Fraction(choice.rows * choice.groups)
        yield Moved(choice.measure, sum(map(abs, steps)), allowed)
