from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import WrongKind
from discreet.loss import (
    CONVERSIONS,
    Approximate,
    GaussianDP,
    Profile,
    Pure,
    RenyiDP,
    ZeroConcentrated,
    convert,
)
from discreet.loss.conversions import (
    approximate_at,
    bounded_range_to_concentrated,
    pure_to_concentrated,
    pure_to_gaussian,
    renyi_at,
)
from tests.loss.oracles import real, response

LOSSES = st.fractions(min_value=Fraction(1, 100), max_value=8, max_denominator=100)


@pytest.mark.theorem("pure-to-concentrated")
@given(LOSSES, st.fractions(min_value=Fraction(101, 100), max_value=60, max_denominator=100))
def test_pure_implies_concentrated(epsilon, order):
    loss = Pure(epsilon=epsilon)
    rho = pure_to_concentrated(loss).rho
    truth = real(epsilon) * mpmath.tanh(real(epsilon) / 2)
    assert truth <= real(rho) <= truth * (1 + mpmath.mpf(2) ** -51)
    assert loss.renyi(order=order) <= float(rho * order) * (1 + 1e-15)
    assert rho <= epsilon**2 / 2 * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize(
    ("epsilon", "rho"), [("1", 0.46211715726), ("0.1", 0.004995837496), ("3", 2.715444760935)]
)
def test_golden_values_of_rho(epsilon, rho):
    found = pure_to_concentrated(Pure(epsilon=epsilon)).rho
    assert float(found) == pytest.approx(rho, rel=1e-10)


def test_rho_is_the_least():
    loss, order = Pure(epsilon=1), Fraction(10001, 10000)
    assert loss.renyi(order=order) / float(order) == pytest.approx(0.46211715726, rel=1e-3)


@pytest.mark.theorem("pure-to-gaussian")
@given(LOSSES, LOSSES)
def test_pure_implies_gaussian(epsilon, target):
    loss = pure_to_gaussian(Pure(epsilon=epsilon))
    truth = 2 * mpmath.sqrt(2) * mpmath.erfinv(mpmath.tanh(real(epsilon) / 2))
    assert truth <= mpmath.sqrt(real(loss.mu_squared)) <= truth * (1 + mpmath.mpf(10) ** -13)
    assert loss.delta(epsilon=target) >= response(epsilon, 0, target)


def test_golden_values_through_the_gaussian():
    loss = pure_to_gaussian(Pure(epsilon=1))
    assert loss.mu == pytest.approx(1.232035385345, rel=1e-11)
    hundred = pure_to_gaussian(Pure(epsilon="0.1")).power(100)
    assert hundred.epsilon(delta=1e-5) == pytest.approx(5.696123713, abs=1e-8)


@pytest.mark.theorem("gaussian-to-concentrated")
def test_gaussian_implies_concentrated():
    loss = convert(GaussianDP(mu=1), ZeroConcentrated)
    assert loss == ZeroConcentrated(rho="0.5")
    assert loss.epsilon(delta=1e-5) >= GaussianDP(mu=1).epsilon(delta=1e-5)


@pytest.mark.theorem("bounded-range")
def test_golden_values_of_exponential_mechanisms():
    ten = bounded_range_to_concentrated(epsilon=1).power(10)
    assert ten == ZeroConcentrated(rho="1.25")
    assert ten.epsilon(delta=1e-6) == pytest.approx(8.845889348, abs=1e-9)


@pytest.mark.theorem("bounded-range")
def test_a_loss_of_bounded_range_is_concentrated():
    """Two-point laws whose losses span exactly epsilon = 1 are the extreme ones."""
    rho = Fraction(1, 8)
    for low in [mpmath.mpf(-j) / 20 for j in range(1, 20)]:
        high = low + 1
        q = (1 - mpmath.exp(low)) / (mpmath.exp(high) - mpmath.exp(low))
        p = q * mpmath.exp(high)
        for order in (mpmath.mpf("1.1"), 2, 5, 20):
            moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
            assert mpmath.log(moment) / (order - 1) <= real(rho) * order


@pytest.mark.theorem("pure-to-approximate")
def test_the_graph():
    assert convert(Pure(epsilon=1), Approximate) == Approximate(epsilon=1, delta=0)
    assert convert(Pure(epsilon=1), Pure) == Pure(epsilon=1)
    starts = {
        Pure: Pure(epsilon=1),
        Approximate: Approximate(epsilon=1, delta="1e-6"),
        GaussianDP: GaussianDP(mu=1),
        ZeroConcentrated: ZeroConcentrated(rho=1),
        RenyiDP: RenyiDP(orders=(2,), values=(1,)),
    }
    for edge in CONVERSIONS:
        assert isinstance(edge.apply(starts[edge.source]), edge.target)
        assert isinstance(convert(starts[edge.source], edge.target), edge.target)
    for loss, target in (
        (GaussianDP(mu=1), Pure),
        (Approximate(epsilon=1, delta="0.1"), ZeroConcentrated),
        (Profile.of(*[pair for pair, _ in Pure(epsilon=1).profile().remove[0].pairs]), Pure),
    ):
        with pytest.raises(WrongKind):
            convert(loss, target)
    with pytest.raises(WrongKind):
        CONVERSIONS[0].apply(GaussianDP(mu=1))
    with pytest.raises(WrongKind):
        CONVERSIONS[2].apply(Pure(epsilon=1))


def test_points_of_a_curve():
    point = approximate_at(GaussianDP(mu=1), delta="1e-5")
    assert point.dominates(GaussianDP(mu=1))
    assert float(point.epsilon_bound) == pytest.approx(4.377178095681, abs=1e-9)
    curve = renyi_at(GaussianDP(mu=1), orders=(2, 4, 8))
    assert curve.dominates(GaussianDP(mu=1))


def test_golden_values_of_a_hundred_small_losses():
    rho = pure_to_concentrated(Pure(epsilon="0.1")).power(100)
    assert rho.epsilon(delta=1e-5) == pytest.approx(4.726125606, abs=1e-8)
    gaussian = GaussianDP(mu_squared="0.2")
    assert gaussian.epsilon(delta=1e-6) == pytest.approx(1.994526901, abs=1e-8)
