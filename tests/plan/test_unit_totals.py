"""Counts and sums of each unit in a subquery are bounded by the limit on rows, and clamped."""

from fractions import Fraction

import pytest

from discreet.errors import MissingBounds
from discreet.plan.binding.value_facts import Facts, UnitTotal
from discreet.plan.bounds_search import FoundBounds
from discreet.plan.statistics.contribution_bounds import bounded_total
from discreet.query.types import Type
from tests.plan.clinic import planned
from tests.release.clinic import asked, tables

EACH = "(SELECT patient, COUNT(*) AS n, SUM(stay) AS s FROM visits GROUP BY patient) AS t"


@pytest.mark.parametrize(
    ("function", "row", "known", "bounds"),
    [
        ("COUNT", None, (0, None), (0, 4)),
        ("COUNT", None, (2, None), (2, 4)),
        ("COUNT", None, (5, None), None),  # a condition that the limit contradicts
        ("SUM", (1, 9), (0, None), (0, 36)),
        ("SUM", (-3, 9), (None, None), (-12, 36)),
        ("SUM", (-3, -1), (None, 0), (-12, 0)),
        ("SUM", None, (None, None), None),
        ("SUM", (1, 9), (0, 500), (0, 500)),  # what a condition says wins
        ("MIN", (1, 9), (None, None), None),
    ],
)
def test_the_limit_on_rows_bounds_totals(function, row, known, bounds):
    pair = None if row is None else tuple(map(Fraction, row))
    low, high = (None if end is None else Fraction(end) for end in known)
    total = UnitTotal(function, (None, None), pair)
    assert bounded_total(Facts(type=Type.INTEGER, low=low, high=high, total=total), 4).bounds == (
        bounds
    )


@pytest.mark.parametrize("aggregate", ["SUM(n)", "AVG(s)", "MEDIAN(n)", "SUM(2 * n + 1)"])
def test_totals_of_units_need_no_bounds_of_their_own(aggregate):
    plan = planned(f"SELECT {aggregate} AS a FROM {EACH}", epsilon=1)  # noqa: S608
    assert plan.search is None
    (cut,) = (cut for cut in plan.truncations if cut.kind == "bounds")
    assert "counts as" in cut.words


def test_conditions_win_and_bought_bounds_are_searched_for():
    where = planned(f"SELECT SUM(n) AS a FROM {EACH} WHERE n BETWEEN 0 AND 700", epsilon=1)  # noqa: S608
    assert any("above 700 as 700" in cut.words for cut in where.truncations)
    found = (FoundBounds(about="n", low=Fraction(0), high=Fraction(64), seen=True),)
    bought = planned(f"SELECT SUM(n) AS a FROM {EACH}", epsilon=1, found_bounds=found)  # noqa: S608
    assert bought.found == found


def test_bounds_that_nothing_gives_are_still_asked_for():
    sql = "SELECT AVG(s) AS a FROM (SELECT patient, SUM(note) AS s FROM visits GROUP BY patient)"
    with pytest.raises(MissingBounds):
        planned(sql, epsilon=1)


def test_numbers_of_rows_beyond_the_limit_are_clamped():
    """The sum of the counts of all people is the count of their rows, with the limit."""
    crowd = tables(40)
    first = crowd["visits"][0]
    many = [{**first, "visit": 10_000 + at} for at in range(500)]
    found = {**crowd, "visits": [*crowd["visits"], *many]}
    plain = asked("SELECT COUNT(*) AS n FROM visits", epsilon=4000, found=found)
    total = asked(f"SELECT SUM(n) AS n FROM {EACH}", epsilon=4000, found=found)  # noqa: S608
    (limit,) = (cut.limit for cut in plain.plan.truncations if cut.kind == "rows")
    assert limit < 500
    assert plain.rows()[0]["n"] == total.rows()[0]["n"] == 39 * 3 + limit
