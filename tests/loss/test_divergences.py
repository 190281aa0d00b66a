import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss import GaussianDP
from discreet.loss.moments import pure_renyi
from tests.loss.formulas import laplace_renyi, sampled_gaussian_renyi
from tests.loss.oracles import real

LOSSES = st.fractions(min_value=0, max_value=10, max_denominator=1000)
ORDERS = st.fractions(min_value=Fraction(101, 100), max_value=100, max_denominator=1000)


@pytest.mark.theorem("renyi-forms")
@given(LOSSES, ORDERS)
def test_closed_forms_are_rounded_up_and_close(epsilon, order):
    e, a = real(epsilon), real(order)
    pure = mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))) / (a - 1)
    laplace = mpmath.log(
        (a * mpmath.exp((a - 1) * e) + (a - 1) * mpmath.exp(-a * e)) / (2 * a - 1)
    ) / (a - 1)
    for bound, truth in (
        (pure_renyi(epsilon=epsilon, order=order), pure),
        (laplace_renyi(epsilon=epsilon, order=order), laplace),
    ):
        assert truth - mpmath.mpf(10) ** -44 <= bound <= truth * (1 + 1e-15) + 1e-40
    assert laplace_renyi(epsilon=epsilon, order=order) <= pure_renyi(epsilon=epsilon, order=order)


def test_golden_values_of_pure_and_laplace():
    assert pure_renyi(epsilon=1, order=2) == pytest.approx(0.735325664056, rel=1e-11)
    assert laplace_renyi(epsilon=1, order=2) == pytest.approx(0.619123629999, rel=1e-11)
    assert GaussianDP(mu=1).renyi(order=10) == 5.0


@pytest.mark.parametrize(
    ("order", "value"), [(2, 1.7181342207e-4), (8, 8.936439076e-4), (32, 11.246275937)]
)
def test_golden_values_of_the_sampled_gaussian(order, value):
    bound = sampled_gaussian_renyi(mu=1, rate="0.01", order=order)
    assert bound == pytest.approx(value, rel=1e-9)


def test_an_exponent_too_large_to_write_down_is_infinite():
    assert sampled_gaussian_renyi(mu=100, rate="0.01", order=10) == math.inf
