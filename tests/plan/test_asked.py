"""A question is bound as a whole, or refused."""

import pytest

from discreet.errors import OutOfRange, QuestionError, TooLarge, WrongType
from discreet.plan.binding.bound_question import bind_question
from discreet.plan.pricing.requested_price import estimate
from discreet.query.sql.parse import read
from tests.plan.clinic import SCHEMA, planned, public_rows


def bound(text):
    return bind_question(read(text), SCHEMA, public_rows)


def test_aggregates_are_bound_once():
    found = bound(
        "SELECT COUNT(*) AS n, COUNT(*) AS m, SUM(Cost) AS s FROM visits HAVING COUNT(*) > 1"
    )
    assert [outer.function for outer, _ in found.aggregates] == ["COUNT", "SUM"]
    assert found.aggregates[1][1].argument.name == "cost"


def test_keys_know_what_is_declared():
    key = bound("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex").keys[0]
    assert key.facts.constant
    assert key.values == ("f", "m")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT SUM(ward) AS s FROM visits", WrongType),
        ("SELECT COUNTIF(age) AS s FROM visits", WrongType),
        ("SELECT SUM(nothing) AS s FROM visits", QuestionError),
    ],
)
def test_refusals(text, error):
    with pytest.raises(error) as found:
        bound(text)
    assert "^" in str(found.value)


@pytest.mark.parametrize("price", ["1e-201", "1e-999"])
@pytest.mark.parametrize("delta", [None, "1e-9"])
@pytest.mark.parametrize("value", ["COUNT(*)", "PERCENTILE_CONT(age, 0.5)"])
def test_prices_for_which_no_noise_can_be_computed_are_refused(price, delta, value):
    for name in ("epsilon", "rho"):
        with pytest.raises(OutOfRange, match=f"{name} is below 1e-200"):
            planned(f"SELECT {value} AS n FROM visits", delta=delta, **{name: price})  # noqa: S608
        with pytest.raises(OutOfRange, match=f"{name} is below 1e-200"):
            estimate(**{name: price})


@pytest.mark.parametrize("price", ["1e201", "1e400"])
@pytest.mark.parametrize("value", ["COUNT(*)", "PERCENTILE_CONT(age, 0.5)", "MODE(ward)"])
def test_prices_that_protect_nobody_are_refused(price, value):
    for name in ("epsilon", "rho"):
        with pytest.raises(OutOfRange, match=f"{name} is above 1e200"):
            planned(f"SELECT {value} AS n FROM visits", **{name: price})  # noqa: S608


@pytest.mark.parametrize("factors", ["1e308", "1e308 * 1e308"])
@pytest.mark.parametrize("value", ["COUNT(*)", "SUM(age)"])
def test_errors_beyond_the_largest_float_are_refused(value, factors):
    with pytest.raises(TooLarge, match="beyond the largest FLOAT"):
        planned(f"SELECT {value} * {factors} AS n FROM visits", epsilon=1)  # noqa: S608
