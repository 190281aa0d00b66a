"""Groups that a public table lists appear whatever the private rows are."""

from collections import Counter

import pytest
from hypothesis import given, settings

from discreet.errors import NotPerUnit, UnsupportedSQL
from tests.plan.clinic import WARDS, answers, databases, planned

LISTED = [
    (
        "SELECT w.ward, COUNT(*) AS n FROM visits v RIGHT JOIN (SELECT DISTINCT ward FROM wards) w "
        "ON v.ward = w.ward GROUP BY w.ward"
    ),
    (
        "SELECT w.ward, COUNT(v.cost) AS n FROM (SELECT DISTINCT ward FROM wards) w "
        "LEFT JOIN visits v "
        "ON w.ward = v.ward WHERE v.cost IS NOT NULL OR v.cost IS NULL GROUP BY w.ward"
    ),
]
REFUSED = [
    (
        "SELECT w.ward, COUNT(*) AS n FROM visits v "
        "RIGHT JOIN (SELECT DISTINCT ward, beds FROM wards) w "
        "ON v.ward = w.ward GROUP BY w.ward, w.beds"
    ),
    (
        "SELECT v.ward, COUNT(*) AS n FROM visits v RIGHT JOIN (SELECT DISTINCT ward FROM wards) w "
        "ON v.ward = w.ward GROUP BY v.ward"
    ),
    (
        "SELECT w.ward, COUNT(*) AS n FROM visits v RIGHT JOIN (SELECT DISTINCT ward FROM wards) w "
        "ON v.ward = w.ward AND v.age > 5 GROUP BY w.ward"
    ),
    "SELECT w.ward, COUNT(*) AS n FROM visits v RIGHT JOIN wards w USING (ward) GROUP BY w.ward",
    (
        "SELECT COUNT(*) AS n FROM visits v RIGHT JOIN (SELECT DISTINCT ward FROM wards) w "
        "ON v.ward = w.ward"
    ),
]


@pytest.mark.theorem("public-listing")
@pytest.mark.parametrize("text", LISTED)
@settings(max_examples=30)
@given(tables=databases())
def test_listed_groups_are_counted_and_shown(text, tables):
    plan = planned(text, epsilon=1)
    assert plan.selection is None
    totals, _ = answers(plan.request, tables)
    listed = {(row["ward"],) for row in WARDS}
    assert set(totals["units"]) == listed
    touched = {
        (row["patient"], row["ward"]) for row in tables["visits"] if row["patient"] is not None
    }
    people = Counter(who for who, ward in touched if (ward,) in listed)
    if max(people.values(), default=0) <= plan.request.groups:  # nobody's groups are left out
        expected = Counter((ward,) for _, ward in touched)
        assert totals["units"] == {group: expected[group] for group in listed}


@pytest.mark.parametrize("text", REFUSED)
def test_other_outer_joins_are_refused(text):
    with pytest.raises((NotPerUnit, UnsupportedSQL)):
        planned(text, epsilon=1)
