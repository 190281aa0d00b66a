"""Rényi divergences of samples, at all orders and both ways, and the rho and mu that they cost."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import Budget, PrivacyFilter
from discreet.accounting.currencies import concentrated_price
from discreet.loss import GaussianDP, Pure
from discreet.loss.finite import FinitePair
from discreet.loss.profile import Profile
from discreet.loss.rho import least_rho, truncated_rho
from discreet.mechanisms import Gaussian, Laplace
from discreet.units import row
from tests.loss import truth
from tests.loss.finite_laws import times
from tests.loss.formulas import sampled_gaussian_renyi

F = Fraction
ORDERS = (F(1, 100), F(1, 2), F(1), F(5, 2), F(7), F(31))
RUN = GaussianDP(mu=1 / F("9.12")).sampled(rate=F(4096, 50000)).power(875)


def moment(side, t):
    return side[0].log_moment(float(t))


def small(q, mu, w):
    """ln E e**(wl) by Gauss-Legendre quadrature in 40 digits, as an excess over 1."""
    with mpmath.workdps(40):
        q, mu, w = (mpmath.mpf(x.numerator) / x.denominator for x in (q, mu, w))

        def excess(y):
            u = q * mpmath.expm1(mu * y - mu * mu / 2)
            return mpmath.npdf(y) * (mpmath.expm1(w * mpmath.log1p(u)) - w * u)

        ends = [-24, -12, -8, -4, -2, 0, 2, 4, 8, 12, 24]
        shifted = sorted({*ends, *(w * mu + end for end in ends)})
        return mpmath.log1p(mpmath.quad(excess, shifted))


@pytest.mark.theorem("sampled-gaussian-quadrature")
@pytest.mark.parametrize("q", [F(1, 10**6), F(1, 50), F(3, 4), 1 - F(1, 10**7)])
@pytest.mark.parametrize("mu", [F(1, 1000), F(1, 3), F(3)])
def test_moments_of_a_sampled_gaussian_in_interval_arithmetic(q, mu):
    loss = GaussianDP(mu=mu).sampled(rate=q)
    ctx.prec = truth.PRECISION
    for sign, side in ((1, loss.remove), (-1, loss.add)):
        for t in (F(1, 2), F(3), F(21, 2)):
            exact = truth.sampled_moment(truth.ball(q), truth.ball(mu), sign, acb(truth.ball(t)))
            value = float(exact.real.log().mid())
            bound = moment(side, t)
            assert value * (1 - 1e-15) <= bound
            assert bound <= value * (1 + 1e-6) + 2e-12


@pytest.mark.theorem("sampled-gaussian-quadrature")
@pytest.mark.parametrize("q", [F(1, 10**6)])
@pytest.mark.parametrize("mu", [F(1, 10), F(1)])
def test_small_moments_by_another_quadrature(q, mu):
    loss = GaussianDP(mu=mu).sampled(rate=q)
    for side, w, t in ((loss.remove, F(5, 2), F(3, 2)), (loss.add, -F(3, 2), F(3, 2))):
        value = small(q, mu, w)
        assert value <= moment(side, t) <= value * (1 + 1e-4)


@pytest.mark.theorem("sampled-gaussian-quadrature")
@pytest.mark.theorem("renyi-forms")
@pytest.mark.parametrize("order", [2, 3, 8, 50])
@pytest.mark.parametrize(("mu", "rate"), [("0.1", "0.08192"), (1, "0.01"), ("0.25", "0.5")])
def test_whole_orders_by_the_closed_sum(mu, rate, order):
    removed = GaussianDP(mu=mu).sampled(rate=rate).remove
    exact = sampled_gaussian_renyi(mu=mu, rate=rate, order=order)
    assert exact * (1 - 1e-15) <= moment(removed, order - 1) / (order - 1) <= exact * (1 + 1e-8)


@given(
    st.fractions(F(1, 10**4), F(99, 100)), st.fractions(F(1, 50), 4), st.fractions(F(1, 20), 300)
)
@settings(max_examples=60)
def test_moments_rise_with_rate_and_mu_and_are_convex(q, mu, t):
    loss, more = GaussianDP(mu=mu).sampled(rate=q), GaussianDP(mu=mu * 2).sampled(rate=q)
    whole = GaussianDP(mu=mu)
    for side, larger in ((loss.remove, more.remove), (loss.add, more.add)):
        here = moment(side, t)
        assert here <= moment(larger, t) * (1 + 1e-9) + 1e-15
        assert here <= whole.renyi(order=1 + t) * float(t) * (1 + 1e-9) + 1e-15
        assert here * 2 <= moment(side, 2 * t) * (1 + 1e-9) + 1e-12


def test_a_training_run():
    assert RUN.renyi(order=2) == pytest.approx(0.0710222, abs=1e-7)
    assert moment(RUN.add, 1) == pytest.approx(0.0708285, abs=1e-7)
    assert moment(RUN.add, 7) / 7 == pytest.approx(0.2817806, abs=1e-7)
    rho, chance = concentrated_price(RUN, F(1, 10**5))
    assert (round(float(rho), 4), chance) == (0.0366, F(1, 10**5))
    assert 12 * rho < Pure(epsilon=1).concentrated()  # which (1, 1e-5) alone would cost
    book = PrivacyFilter(Budget(rho="0.0366", delta="1e-5"), unit=row())
    assert book.charge(RUN, delta="1e-5").number == 1


PAIRS = [
    FinitePair((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))),
    FinitePair((F(1, 2), F(2, 5), F(1, 10)), (F(1, 2), F(1, 1000), F(499, 1000))),
]


@pytest.mark.theorem("poisson-sampling")
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("q", [F(1, 100), F(9, 10)])
def test_samples_of_finite_laws_by_enumeration(pair, q):
    loss = Profile.of(pair).sampled(rate=q)
    mixed = tuple((1 - q) * b + q * a for a, b in zip(pair.p, pair.q, strict=True))
    for side, first, second in ((loss.remove, mixed, pair.q), (loss.add, pair.q, mixed)):
        for t in ORDERS:
            both = zip(first, second, strict=True)
            terms = (float(a) * float(a / b) ** float(t) for a, b in both)
            exact = math.log(math.fsum(terms))
            bound = moment(side, t)
            assert exact * (1 - 1e-10) - 1e-15 <= bound <= exact * (1 + 2e-4) + 1e-12, (t, q)


@pytest.mark.parametrize("noise", [Gaussian(sigma=4), Laplace(scale=3)])
def test_samples_of_noise_on_whole_numbers(noise):
    loss, q = noise.loss().sampled(rate="0.05"), 0.05
    places = range(-150, 151)
    p = np.array([noise.law.pmf(z) for z in places])
    r = np.roll(p, 1) / p
    for side, power in ((loss.remove, lambda t: 1 + t), (loss.add, lambda t: -t)):
        for t in (F(1, 100), F(1, 2), F(3), F(9, 2)):
            terms = p[1:] * np.expm1(float(power(t)) * np.log1p(q * (r[1:] - 1)))
            exact = math.log1p(math.fsum(terms))
            assert exact * (1 - 1e-9) <= moment(side, t) <= exact * (1 + 1e-2)


def truncated(pair, chance):
    """The laws given that the loss stays below where Chernoff's bound is the chance."""
    atoms = [(a, b, math.log(a / b)) for a, b in zip(pair.p, pair.q, strict=True) if a]
    orders = [2.0 ** (k / 2) for k in range(-4, 29)]

    def at(t):
        top = max(loss for _, _, loss in atoms) * t
        return top + math.log(math.fsum(float(a) * math.exp(t * x - top) for a, _, x in atoms))

    end = min((at(t) - math.log(chance)) / t for t in orders)
    kept = [(a, b) for a, b, loss in atoms if loss <= end + 1e-9]
    return [(a / sum(x for x, _ in kept), b / sum(y for _, y in kept)) for a, b in kept]


def divergences(atoms):
    for t in (0.01, 0.3, 1.0, 4.0, 20.0, 200.0):
        terms = [math.log(a) + t * (math.log(a) - math.log(b)) for a, b in atoms if a]
        top = max(terms)
        yield t, top + math.log(math.fsum(math.exp(term - top) for term in terms))


@pytest.mark.theorem("truncated-concentration")
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("chance", [F(1, 1000), F(1, 20), F(1, 2)])
def test_truncated_finite_laws_by_enumeration(pair, count, chance):
    laws = times(*[pair.p] * count), times(*[pair.q] * count)
    rho = float(truncated_rho(Profile.of(pair).power(count).remove[0], chance))
    for t, value in divergences(truncated(FinitePair(*laws), chance)):
        assert value <= rho * t * (t + 1) * (1 + 1e-9)


@pytest.mark.theorem("truncated-concentration")
@pytest.mark.parametrize("side", [RUN.remove[0], RUN.add[0]])
def test_rare_losses_of_a_training_run_are_left_out(side):
    rho = float(truncated_rho(side, F(1, 10**5)))
    assert 0.0354 < rho < 0.0366
    at_order_two = side.log_moment(1.0) / 2
    assert at_order_two <= rho
    if side is RUN.remove[0]:  # without an event the bound would be wrong at high orders
        assert side.log_moment(500.0) / (500 * 501) > 2 * rho
        assert least_rho(side) > 100 * rho


def test_a_loss_that_reveals_everything_too_often_is_not_concentrated():
    half = Profile.of(FinitePair((F(1, 2), F(1, 2)), (F(1), F(0)))).remove[0]
    assert truncated_rho(half, F(1, 100)) is None
