from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.loss.parameters import (
    checked_delta,
    checked_epsilon,
    checked_parameter,
    checked_rate,
    dyadic_up,
)


@pytest.mark.parametrize("value", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10)])
def test_one_tenth_is_one_tenth(value):
    assert checked_epsilon(value) == checked_delta(value) == checked_rate(value) == Fraction(1, 10)
    assert checked_parameter(value, name="rho") == Fraction(1, 10)


def test_rounding_up_to_a_float():
    assert dyadic_up(Fraction(1, 3)) >= Fraction(1, 3)
    assert dyadic_up(Fraction(1, 2)) == Fraction(1, 2)
    assert dyadic_up(Fraction(10) ** 400) == Fraction(10) ** 400
