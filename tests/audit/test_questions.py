"""Questions: every aggregate of SQL, on tables with and without one visitor.

Ordinary visitors have as many rows in as many groups as count, and the largest values, the
smallest, values on both sides of a limit, or cities that nobody else has.

Quantiles need other company.  Let a small cluster of rows cover the rank that is aimed at, with
empty leaves on both sides.  Rows of a visitor at one end move the scores of all leaves on one side
up and those on the other down, and with them the odds of the sides by everything that the choice
may lose.  A *watershed* is a table with such a cluster for every choice of a plan, one after
another, and other rows between them that make up the ranks.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from discreet.attacks.estimate import estimate_epsilon
from discreet.attacks.questions import AskedQuestion, AuditedQuestion
from discreet.plan.pricing.group_sensitivity import QuantileChoice
from discreet.query.functions import AGGREGATES as FUNCTIONS
from discreet.units import row
from tests.audit.clinic import POLICY, SHARE, row_of, visits

_PEOPLE = 60
_ROWS = 3
_HIGH = {"cost": 100.0, "age": 110}
_LOW = {"cost": 0.0, "age": 0}
_WARDS = pa.table({"ward": ["A", "B", "C"], "floor": ["low", "high", "high"]})
_VISITORS = (
    ({**_HIGH, "ward": "A", "city": "x"}, {**_HIGH, "ward": "B", "city": "y"}),
    ({**_LOW, "ward": "A", "city": "x"}, {**_LOW, "ward": "B", "city": "y"}),
    ({**_HIGH, "ward": "C", "city": "alone"}, {**_HIGH, "ward": "B", "city": "alone too"}),
    ({"cost": 100.0, "age": 30}, {"cost": 100.0, "age": 70}),
    ({"city": "first"}, {"city": "second"}, {"city": "third"}),
)
_LARGEST = 110
_RARE = 1 / 32  # the share of leaves on the smaller side, of all choices together


def visitors(*, by_row):
    """Yield a table with each visitor, and without; by row, a visitor has one.

    >>> [with_one["visits"].num_rows for with_one, _ in visitors(by_row=True)][:2]
    [121, 121]
    """
    without = {"visits": visits(_PEOPLE), "wards": _WARDS}
    for groups in _VISITORS:
        rows = [row_of(_PEOPLE, **changes) for changes in groups]
        shown = rows[:1] if by_row else rows * _ROWS
        yield {"visits": visits(_PEOPLE, *shown), "wards": _WARDS}, without


def watersheds(choices):
    """Yield a table that is made for choices, with a visitor at one of its ends, and without."""
    aims = sorted({(choice.level, choice.offset) for choice in choices})
    places = _places(aims, half=ceil(max(choice.added for choice in choices)))
    most = max(choice.rows for choice in choices)
    rows = [row_of(number, **_values(place)) for number, place in enumerate(places)]
    without = {"visits": visits(0, *rows), "wards": _WARDS}
    for end in (0, 1):
        visitor = [row_of(len(rows), **_values(Fraction(end)))] * most
        yield {"visits": visits(0, *rows, *visitor), "wards": _WARDS}, without


def _places(aims, *, half):
    """Return where rows lie, in rising order: as many as leave room between all ranks."""
    size, ranks = 10, [Fraction(0)]
    while min(ranks[0], size - ranks[-1], *(b - a for a, b in pairwise(ranks))) < 2 * half:
        size *= 2
        ranks = [level * size + offset for level, offset in aims]
    places = []
    slot, aside = Fraction(1, len(ranks)), Fraction(min(0.5, _RARE ** (1 / len(ranks))))
    for number, rank in enumerate(ranks):
        places += [number * slot] * (floor(rank) - half - len(places))
        places += [(number + aside) * slot] * (ceil(rank) + half - len(places))
    return places + [Fraction(1)] * (size - len(places))


def _values(place):
    """Return a cost and an age so far between the smallest and the largest."""
    return {"cost": float(100 * place), "age": round(_LARGEST * place)}


_PUBLIC = '[tables.wards]\npublic = true\nkey = ["ward"]\n'
_PURE = {"epsilon": 1}
_ROUGH = {"epsilon": 1, "delta": "0.01"}
_RHO = {"rho": "0.5"}
_ROUGH_RHO = {"rho": "0.5", "delta": "0.01"}
_BY_ROW = {"policy": POLICY.replace('unit = "patient"', 'unit = "row"')}


_MANY = 10**7
_SOME = 300_000


class _Asked(NamedTuple):
    """What is asked, at which price, and how many answers a long suite judges."""

    name: str
    sql: str
    price: Mapping[str, Any]
    long: int = _SOME
    options: Mapping[str, Any] = {"policy": POLICY + _PUBLIC}


_AGGREGATES = (
    ("COUNT(*)", _MANY),
    ("COUNT(cost)", _SOME),
    ("COUNT(DISTINCT patient)", _SOME),
    ("COUNT(DISTINCT city)", _SOME),
    ("COUNTIF(age > 40)", _SOME),
    ("SUM(cost)", _MANY),
    ("SUM(age)", _SOME),
    ("AVG(cost)", _SOME),
    ("VAR_POP(cost)", _SOME),
    ("VAR_SAMP(cost)", _SOME),
    ("STDDEV_POP(age)", _SOME),
    ("STDDEV_SAMP(cost)", _SOME),
    ("MEDIAN(age)", _SOME),
    ("MEDIAN_ABSOLUTE_DEVIATION(age)", _SOME),
    ("PERCENTILE_CONT(cost, 0.9)", _SOME),
    ("APPROX_QUANTILES(age, 4)", 10**5),
    ("MODE(ward)", _SOME),
    ("MIN(age)", _SOME),
    ("MAX(cost)", _SOME),
    ("SUM(cost) FILTER (WHERE age > 40)", _SOME),
)
_ONE = "SELECT {} AS a FROM visits"
_BY_WARD = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS m FROM visits GROUP BY 1"
_BY_CITY = "SELECT city, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY city"
_GOOGLE = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 0.01) city, COUNT(*) AS n "
    "FROM visits GROUP BY city"
)

_QUESTIONS = (
    *(_Asked(name, _ONE.format(name), _PURE, n) for name, n in _AGGREGATES),
    _Asked("COUNT(*), rho", "SELECT COUNT(*) AS n FROM visits", _RHO, _MANY),
    _Asked("SUM(cost), rho", "SELECT SUM(cost) AS s FROM visits", _RHO),
    _Asked("VAR_POP(cost), rho", "SELECT VAR_POP(cost) AS v FROM visits", _RHO),
    _Asked("MEDIAN(age), rho", "SELECT MEDIAN(age) AS m FROM visits", _RHO),
    _Asked("public groups", _BY_WARD, _PURE),
    _Asked("public groups, rho", _BY_WARD, _RHO),
    _Asked("private groups", _BY_CITY, _ROUGH),
    _Asked("private groups, rho", _BY_CITY, _ROUGH_RHO),
    _Asked("groups alone", "SELECT DISTINCT city FROM visits", _ROUGH),
    _Asked("GoogleSQL", _GOOGLE, {}),
    _Asked(
        "histogram by public bins",
        "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS bin, "
        "COUNT(*) AS n FROM visits GROUP BY bin",
        _PURE,
    ),
    _Asked(
        "histogram by private bins",
        "SELECT DIV(age, 25) AS bin, COUNT(*) AS n FROM visits GROUP BY bin",
        _ROUGH,
    ),
    _Asked(
        "top 2",
        "SELECT city, COUNT(*) AS n FROM visits GROUP BY city ORDER BY n DESC LIMIT 2",
        _ROUGH,
    ),
    _Asked(
        "join with a public table",
        "SELECT floor, SUM(cost) AS s FROM visits JOIN wards ON visits.ward = wards.ward "
        "GROUP BY floor",
        _ROUGH,
    ),
    _Asked(
        "join on the person",
        "SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b ON a.patient = b.patient",
        _PURE,
    ),
    _Asked(
        "window of each person",
        "SELECT SUM(cost) AS s FROM (SELECT patient, cost, ROW_NUMBER() OVER (PARTITION BY patient "
        "ORDER BY cost DESC) AS k FROM visits) AS t WHERE k = 1",
        _PURE,
    ),
    _Asked(
        "totals of each person",
        "SELECT SUM(n, contribution_bounds_per_row => (0, 2)) AS s FROM "
        "(SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS t",
        _PURE,
    ),
    _Asked(
        "union",
        "SELECT COUNT(*) AS n FROM (SELECT patient FROM visits UNION ALL "
        "SELECT patient FROM visits) AS t",
        _PURE,
    ),
    _Asked("COUNT(*), by row", "SELECT COUNT(*) AS n FROM visits", _PURE, _SOME, _BY_ROW),
    _Asked("AVG(cost), by row", "SELECT AVG(cost) AS c FROM visits", _PURE, _SOME, _BY_ROW),
    _Asked("public groups, by row", _BY_WARD, _RHO, _SOME, _BY_ROW),
    _Asked("private groups, by row", _BY_CITY, _ROUGH, _SOME, _BY_ROW),
)


@pytest.mark.parametrize("function", [*FUNCTIONS, "COUNTIF", "MEDIAN"])
def test_every_aggregate_is_audited(function):
    assert any(re.search(rf"\b{function}\(", asked.sql) for asked in _QUESTIONS)


@pytest.mark.parametrize("asked", _QUESTIONS, ids=lambda asked: asked.name)
def test_a_question_keeps_its_promise(found, quick, asked):
    """Ask about neighbors, and compare what is drawn with what the plan says."""
    kept = _Kept(AuditedQuestion(sql=asked.sql, price=asked.price, options=asked.options))
    pairs = list(visitors(by_row=asked.options is _BY_ROW))
    plan, _ = kept.totals(pairs[0][0])
    ranked = [choice for choice in plan.choices if isinstance(choice, QuantileChoice)]
    if ranked:
        pairs = list(watersheds(ranked))
    n = 400 if quick else asked.long
    measured = estimate_epsilon(kept, pairs, n, claim=plan.loss, level=SHARE)
    found.promise("questions", asked.name, measured)


def test_answers_that_are_paid_and_recorded_keep_their_promise(found, quick):
    question = AskedQuestion(
        sql="SELECT COUNT(*) AS n FROM people",
        price=_PURE,
        options={"unit": row(), "tables": "people"},
    )
    pair, n = (pa.table({"age": [34, 71]}), pa.table({"age": [34]})), 70 if quick else 1000
    measured = estimate_epsilon(question, pair, n, claim=1, level=SHARE, learned=max(n // 4, 2))
    found.promise("questions", "COUNT(*), paid, asked and recorded each time", measured)


class _Kept:
    """A question whose totals are computed once for each table, however often it is drawn."""

    def __init__(self, question):
        self.question = question
        self.seen = {}

    def totals(self, data):
        """Return totals; the table is known by its place in memory, and stays there."""
        if id(data) not in self.seen:
            self.seen[id(data)] = self.question.totals(data)
        return self.seen[id(data)]

    def draw(self, data, n):
        """Draw answers."""
        return self.question.drawn(*self.totals(data), n)
