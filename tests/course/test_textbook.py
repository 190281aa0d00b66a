from fractions import Fraction

import pytest

from discreet.errors import OutOfRange
from discreet.loss import Approximate, Pure, ZeroConcentrated
from discreet_course.textbook import (
    advanced,
    basic,
    concentrated_simple,
    group_loose,
    half_square,
    mean_concentration,
    mironov,
    most_queries,
)

TENTH = Approximate(epsilon="0.1", delta=0)


@pytest.mark.theorem("textbook-bounds")
def test_golden_values_of_a_hundred_promises():
    assert float(advanced(TENTH, count=100, slack=1e-5).epsilon_bound) == pytest.approx(
        5.850235092945, rel=1e-11
    )
    tenths = ["0.1"] * 100
    assert mean_concentration(tenths, slack=1e-5) == pytest.approx(5.298109661767, rel=1e-11)
    assert half_square(tenths, slack=1e-5) == pytest.approx(5.298525912188, rel=1e-11)


def test_golden_values_of_conversions():
    assert mironov(order=10, value="0.5", delta=1e-5) == pytest.approx(1.779213940552, rel=1e-11)
    simple = concentrated_simple(rho="0.5", delta=1e-5)
    assert simple == pytest.approx(5.298525912188, rel=1e-11)
    assert concentrated_simple(rho="0.1", delta=1e-6) == pytest.approx(2.450788000477, rel=1e-11)
    loose = group_loose(Approximate(epsilon="0.5", delta="1e-6"), size=3)
    assert float(loose.delta_bound) == pytest.approx(8.1548e-6, rel=1e-5)


@pytest.mark.theorem("textbook-bounds")
def test_the_accountant_is_never_worse():
    tight = Pure(epsilon="0.1").power(100).epsilon(delta=1e-5)
    assert tight <= float(advanced(TENTH, count=100, slack=1e-5).epsilon_bound)
    assert tight <= mean_concentration(["0.1"] * 100, slack=1e-5)
    assert tight <= half_square(["0.1"] * 100, slack=1e-5)
    assert tight <= float(basic([TENTH] * 100).epsilon_bound)
    assert ZeroConcentrated(rho="0.5").epsilon(delta=1e-5) <= concentrated_simple(
        rho="0.5", delta=1e-5
    )
    promise = Approximate(epsilon="0.5", delta="1e-6")
    assert promise.group(3).delta_bound <= group_loose(promise, size=3).delta_bound


def test_basic_composition_adds():
    total = basic([Approximate(epsilon="0.1", delta="0.6"), Approximate(epsilon=1, delta="0.6")])
    assert total == Approximate(epsilon=Fraction(11, 10), delta=1)


def test_a_slack_of_zero_is_refused():
    with pytest.raises(OutOfRange):
        advanced(TENTH, count=10, slack=0)
    with pytest.raises(OutOfRange):
        mironov(order=2, value=1, delta=0)


def test_how_many_queries_an_error_allows():
    """Pure privacy allows about sqrt(n) queries at error sqrt(n), approximate privacy about n."""
    for root in (10, 100, 1000):
        pure = most_queries(error=root, epsilon=1)
        approximate = most_queries(error=root, epsilon=1, delta=1e-6)
        assert pure == root
        assert approximate >= pure
        assert approximate == pytest.approx(max(root, root**2 / 17.85), rel=0.02)
