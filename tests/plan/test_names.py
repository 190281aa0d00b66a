"""Names are bound without regard to case; what is unclear or unknown is refused."""

from fractions import Fraction

import pytest

from discreet.errors import UnknownName, UnsupportedSQL, WrongType
from discreet.plan.binding.binder import Binder
from discreet.query.relations import Filter
from discreet.query.sql.parse import read_relation
from tests.plan.clinic import SCHEMA


def bound(text):
    return Binder(SCHEMA).bind(read_relation(text))


def test_names_are_found_in_any_case():
    one, other = bound("SELECT WARD FROM visits"), bound("select Ward from VISITS as v")
    assert [field.facts for field in one.fields] == [field.facts for field in other.fields]


def test_columns_of_two_tables_keep_apart():
    fields = bound(
        "SELECT a.ward, b.ward AS other FROM visits a JOIN visits b USING (patient)"
    ).visible
    assert len({field.column for field in fields}) == len(fields)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("day >= '2024-01-31'", "day >= DATE '2024-01-31'"),
        ("'2024-01-31' <> day", "DATE '2024-01-31' <> day"),
        ("day BETWEEN '2024-01-01' AND '2024-01-31'",
         "day BETWEEN DATE '2024-01-01' AND DATE '2024-01-31'"),
        ("day IN ('2024-01-01', '2024-01-31')", "day IN (DATE '2024-01-01', DATE '2024-01-31')"),
        ("DATE_TRUNC(day, MONTH) = '2024-01-01'", "DATE_TRUNC(day, MONTH) = DATE '2024-01-01'"),
        ("CAST(day AS TIMESTAMP) < '2024-01-31 12:00:00'",
         "CAST(day AS TIMESTAMP) < TIMESTAMP '2024-01-31 12:00:00'"),
        ("CAST(day AS TIMESTAMP) < '2024-01-31'",
         "CAST(day AS TIMESTAMP) < TIMESTAMP '2024-01-31 00:00:00'"),
    ],
)  # fmt: skip
def test_a_text_that_is_compared_with_days_is_a_day(text, other):
    one, same = (bound(f"SELECT ward FROM visits WHERE {where}") for where in (text, other))  # noqa: S608
    assert one == same


@pytest.mark.parametrize("text", ["day > '2024-02-30'", "day = 'today'", "day = '2024-1-1'"])
def test_a_text_that_is_no_day_is_refused(text):
    with pytest.raises(WrongType, match="DATE '2025-01-31'"):
        bound(f"SELECT ward FROM visits WHERE {text}")  # noqa: S608


def test_texts_stay_texts():
    where = bound("SELECT ward FROM visits WHERE ward = '2024-01-31'").relation.children()[0]
    assert where.predicate.arguments[1].value == "2024-01-31"


@pytest.mark.parametrize(
    ("total", "known"),
    [
        ("MIN(age)", True),
        ("MAX(age)", True),
        ("AVG(age)", True),
        ("SUM(age) / COUNT(age)", True),
        ("SUM(age) / COUNT(*)", False),
        ("SUM(age) / COUNT(cost)", False),
        ("SUM(age) / COUNT(age) FILTER (WHERE paid)", False),
        ("SUM(age)", False),
        ("COUNT(*)", False),
    ],
)
def test_what_extremes_and_means_of_a_person_lie_between(total, known):
    text = f"SELECT patient, {total} AS x FROM visits GROUP BY patient"  # noqa: S608
    (age,) = (field.facts for field in bound("SELECT age FROM visits").visible)
    bounds = bound(text).visible[1].facts.bounds
    assert (bounds is not None) == known
    if bounds is not None:
        assert bounds[0] <= age.low
        assert age.high <= bounds[1] < age.high * Fraction(10001, 10000)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("SELECT wrad FROM visits", UnknownName, "did you mean ward"),
        ("SELECT ward FROM visit", UnknownName, "use one of"),
        ("SELECT x.ward FROM visits v", UnknownName, "x.ward"),
        ("SELECT x.* FROM visits v", UnknownName, "alias"),
        ("SELECT ward FROM visits a JOIN visits b ON a.patient = b.patient", UnsupportedSQL, "2"),
        ("SELECT ward FROM visits WHERE age", WrongType, "condition"),
        ("SELECT ward + 1 AS x FROM visits", WrongType, "TEXT"),
    ],
)
def test_what_is_unclear_is_refused(text, error, words):
    with pytest.raises(error) as found:
        bound(text)
    assert words in str(found.value)


def test_a_condition_keeps_its_place():
    assert isinstance(bound("SELECT * FROM visits WHERE paid").relation.children()[0], Filter)
