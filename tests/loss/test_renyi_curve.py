import math
from fractions import Fraction

import pytest

from discreet.loss.moments import RenyiCurve

ORDERS = tuple(map(Fraction, (2, 4, 8)))
CURVE = RenyiCurve(orders=ORDERS, values=tuple(order / 8 for order in ORDERS))


@pytest.mark.theorem("renyi-interpolation")
def test_between_orders_the_chord_of_a_convex_function_is_an_upper_bound():
    for order in (Fraction(3, 2), Fraction(3), Fraction(5), Fraction(15, 2)):
        assert CURVE.at(order) >= order / 8
    for order in ORDERS:
        assert CURVE.at(order) == order / 8
    assert CURVE.at(Fraction(9)) is None
    assert math.isinf(CURVE.log_moment(8.0))


def test_curves_add_up_at_common_orders():
    total = CURVE + RenyiCurve(rho=Fraction(1, 8)) + CURVE
    assert total.at(Fraction(4)) == Fraction(3, 2)
    assert CURVE.times(3).at(Fraction(2)) == Fraction(3, 4)
    assert CURVE.limit == 8
    short = RenyiCurve(orders=(Fraction(3),), values=(Fraction(1),))
    assert (CURVE + short).limit == 3
