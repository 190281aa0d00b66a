"""A question is bound as a whole, or refused."""

import pytest

from discreet.errors import QuestionError, UnsupportedSQL, WrongType
from discreet.plan.binding.bound_question import bind_question
from discreet.query.sql.parse import read
from tests.plan.clinic import SCHEMA, public_rows


def bound(text):
    return bind_question(read(text), SCHEMA, public_rows)


def test_aggregates_are_bound_once():
    found = bound(
        "SELECT COUNT(*) AS n, COUNT(*) AS m, SUM(Cost) AS s FROM visits HAVING COUNT(*) > 1"
    )
    assert [outer.function for outer, _ in found.bound] == ["COUNT", "SUM"]
    assert found.bound[1][1].argument.name == "cost"


def test_keys_know_what_is_declared():
    key = bound("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex").keys[0]
    assert key.facts.constant
    assert key.values == ("f", "m")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT beds, COUNT(*) AS n FROM wards GROUP BY beds", UnsupportedSQL),
        ("SELECT cost, COUNT(*) AS n FROM visits GROUP BY cost", WrongType),
        ("SELECT SUM(ward) AS s FROM visits", WrongType),
        ("SELECT COUNTIF(age) AS s FROM visits", WrongType),
        ("SELECT SUM(nothing) AS s FROM visits", QuestionError),
    ],
)
def test_refusals(text, error):
    with pytest.raises(error) as found:
        bound(text)
    assert "^" in str(found.value)
