from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_order,
    checked_parameter,
    checked_rate,
    dyadic_up,
)


@pytest.mark.parametrize("value", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10)])
def test_one_tenth_is_one_tenth(value):
    assert checked_epsilon(value) == checked_delta(value) == checked_rate(value) == Fraction(1, 10)
    assert checked_parameter(value, name="rho") == Fraction(1, 10)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (checked_epsilon, -1),
        (checked_epsilon, 10**7),
        (checked_epsilon, float("inf")),
        (checked_epsilon, float("nan")),
        (checked_epsilon, True),
        (checked_delta, -0.1),
        (checked_delta, 1.5),
        (checked_order, 1),
        (checked_order, 0.5),
        (checked_rate, 0),
        (checked_rate, 1.01),
        (checked_count, 0),
        (checked_count, 1.0),
        (checked_count, 10**13),
    ],
)
def test_what_has_no_meaning_is_refused(check, value):
    with pytest.raises(DiscreetError):
        check(value)


def test_rounding_up_to_a_float():
    assert dyadic_up(Fraction(1, 3)) >= Fraction(1, 3)
    assert dyadic_up(Fraction(1, 2)) == Fraction(1, 2)
    assert dyadic_up(Fraction(10) ** 400) == Fraction(10) ** 400
