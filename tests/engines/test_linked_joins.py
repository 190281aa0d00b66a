"""Joins on keys and links: DuckDB gives what the reference gives, promises kept or not."""

import atexit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.engine import HashOrder, Performance
from tests.engines.answers import flat
from tests.engines.edges import filled, opened
from tests.plan.clinic import TYPES, databases, planned
from tests.reference.engine import Reference

ENGINE = opened(TYPES, performance=Performance(threads=1))
atexit.register(ENGINE.close)
QUESTIONS = [
    (
        "SELECT v.ward, COUNT(*) AS n, SUM(b.sum) AS s FROM bills b "
        "JOIN visits v ON b.visit = v.visit GROUP BY v.ward"
    ),
    (
        "SELECT v.sex, COUNT(b.sum) AS n, COUNT(DISTINCT v.patient) AS p FROM visits v "
        "LEFT JOIN bills b USING (visit) GROUP BY v.sex"
    ),
    (
        "SELECT v.city, AVG(b.sum) AS m FROM bills b FULL JOIN visits v "
        "ON b.visit = v.visit AND b.sum > 1 GROUP BY v.city"
    ),
    (
        "SELECT d.drug, MEDIAN(b.sum) AS m FROM bills b JOIN visits v ON b.visit = v.visit "
        "JOIN drugs d ON v.patient = d.person GROUP BY d.drug"
    ),
]


@pytest.mark.theorem("linked-joins")
@pytest.mark.parametrize("text", QUESTIONS)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(rows=databases() | databases(visits_shared=2), salt=st.integers(0, 99))
def test_linked_joins_agree(text, rows, salt):
    lowered, order = planned(text).request, HashOrder(salt=salt, portable=True)
    filled(ENGINE, rows, TYPES)
    expected = flat(Reference(rows, TYPES).run(lowered, order=order))
    assert flat(ENGINE.run(lowered, order=order)) == expected
