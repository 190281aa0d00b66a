"""Zero-concentrated bounds of profiles: never below a divergence, close, and the same for all."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import OutOfRange
from discreet.loss import (
    Approximate,
    Composition,
    GaussianDP,
    Profile,
    Pure,
    RenyiDP,
    ZeroConcentrated,
)
from discreet.loss.amplification import poisson_replaced, sampled_group
from discreet.loss.envelope import chained, upper_envelope
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair, SmoothedGaussianPair
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import BoundedRangePair, LaplacePair
from discreet.loss.rho import (
    MomentGrowth,
    approximate_rho,
    approximately_concentrated,
    growth,
    least_rho,
)
from tests.laws.losses import any_loss
from tests.loss.finite_laws import laws, of

F = Fraction
ORDERS = [1.0001, 1.01, 1.2, 1.7, 2.5, 4.0, 7.0, 15.0, 60.0, 500.0]


def gaussian(mu):
    return Composition(((GaussianPair(F(mu) ** 2), 1),))


def laplace(epsilon):
    return Composition(((LaplacePair(F(epsilon)), 1),))


CASES = {
    "gaussian": gaussian(1),
    "laplace": laplace(1),
    "many": laplace("0.2").power(7).compose(gaussian("0.5")),
    "joined": upper_envelope([laplace(1), gaussian(1)]),
    "sampled": Composition(((SampledPair(laplace(1), F(1, 10), Direction.REMOVE), 3),)),
    "sampled gaussian": Composition(((SampledPair(gaussian(1), F(1, 10), Direction.ADD), 1),)),
    "chained": chained(laplace("0.5"), gaussian("0.5")),
    "group": sampled_group([gaussian("0.5"), gaussian(1)], "0.2"),
    "replaced": poisson_replaced(gaussian(1), gaussian(1), gaussian(2), "0.1"),
}


@pytest.mark.theorem("concentrated-orders")
@pytest.mark.theorem("moment-growth")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_divergence_is_above(case):
    rho = least_rho(case)
    found = [case.log_moment(a - 1) / (a - 1) / a for a in ORDERS]
    assert float(rho) >= max(found) * (1 - 1e-2)  # the moments themselves are rounded up
    assert float(rho) <= max(found) * 1.2
    limit = growth(case)
    for a in ORDERS:
        t = a - 1
        most = float(limit.rho) * t * a + limit.linear * t + limit.constant
        assert case.log_moment(t) <= most * (1 + 1e-3) + 1e-9


@pytest.mark.theorem("concentrated-orders")
def test_known_values():
    assert least_rho(gaussian("0.6")) == F(18, 100)
    assert Pure(epsilon=1).profile().concentrated() == Pure(epsilon=1).concentrated()
    assert GaussianDP(mu=2).profile().concentrated() == 2
    assert ZeroConcentrated(rho="0.3").profile().concentrated() == F(3, 10)
    # sup over orders of the divergence over the order, by a fine grid at 30 digits
    assert 0.3678402 <= float(least_rho(laplace(1))) <= 0.3678402 * 1.001
    both = Pure(epsilon=1).compose(GaussianDP(mu=1))
    assert 0.9621 <= float(both.concentrated()) <= 0.96212


@pytest.mark.theorem("concentrated-orders")
@settings(max_examples=30)
@given(any_loss)
def test_every_notion_agrees_with_its_profile(loss):
    own, seen = loss.concentrated(), loss.profile().concentrated()
    if own is not None:
        assert seen is not None
        assert float(seen) == pytest.approx(float(own), rel=1e-3)
        assert own <= seen * (1 + F(1, 10**9))


@pytest.mark.theorem("concentrated-orders")
@given(laws(2))
def test_finite_laws_by_enumeration(found):
    p, q = found
    rho = least_rho(of(p, q))
    if any(a and not b for a, b in zip(p, q, strict=True)):
        assert rho is None
        return
    for a in (2, 3, 6):
        moment = sum(x**a / y ** (a - 1) for x, y in zip(p, q, strict=True) if x)
        assert float(moment) <= 2.718281828459045 ** (float(rho) * a * (a - 1)) * (1 + 1e-9)


def test_what_is_known_at_few_orders_is_not_concentrated():
    loss = RenyiDP(orders=(2, 4), values=(1, 2))
    assert loss.profile().concentrated() is None
    with pytest.raises(OutOfRange):
        approximately_concentrated(loss)
    assert Approximate(epsilon=1, delta="0.1").profile().concentrated() is None


@pytest.mark.theorem("approximately-concentrated")
def test_an_approximate_loss_leaks_its_delta():
    rho, delta = approximately_concentrated(Approximate(epsilon=1, delta="1e-6"))
    assert (rho, delta) == (Pure(epsilon=1).concentrated(), F(1, 10**6))
    assert approximately_concentrated(GaussianDP(mu=1)) == (F(1, 2), 0)
    assert approximately_concentrated(Approximate(epsilon=0, delta=1)) == (0, 1)
    both = Approximate(epsilon=1, delta="1e-3").compose(GaussianDP(mu=1))
    rho, delta = approximately_concentrated(both)
    assert delta == F(1, 1000)
    assert 0.9621 <= float(rho) <= 0.96212


@pytest.mark.theorem("approximately-concentrated")
@settings(max_examples=60)
@given(laws(2))
def test_conditioned_finite_laws_by_enumeration(found):
    """P and Q given what both show: their divergences are below rho times the order."""
    p, q = found
    rho, chance = approximate_rho(of(p, q))
    shown = [(a, b) for a, b in zip(p, q, strict=True) if a and b]
    kept, other = sum(a for a, _ in shown), sum(b for _, b in shown)
    if not shown:
        assert chance == 1
        return
    if kept == 1:  # no loss is infinite in this direction
        assert chance == 0
        other = F(1)
    assert chance == 0 or chance >= max(1 - kept, 1 - other) * (1 - F(1, 10**12))
    for order in (2, 3, 6):
        moment = sum((a / kept) ** order / (b / other) ** (order - 1) for a, b in shown)
        assert float(moment) <= 2.718281828459045 ** (float(rho) * order * (order - 1)) * (1 + 1e-9)


@pytest.mark.theorem("approximately-concentrated")
@given(laws(2), st.sampled_from([F(1), F(3, 2), F(4)]))
def test_the_profile_is_what_rho_and_the_chance_allow(found, ratio):
    p, q = found
    rho, chance = approximate_rho(of(p, q))
    truth = sum((a - ratio * b for a, b in zip(p, q, strict=True) if a > ratio * b), F(0))
    loss = ZeroConcentrated(rho=rho)
    epsilon = F(0) if ratio == 1 else {F(3, 2): F("0.405"), F(4): F("1.386")}[ratio]
    assert float(truth) <= loss.delta(epsilon=epsilon) + float(chance) + 1e-9


def test_growth_adds_up():
    one, two = MomentGrowth(rho=F(1, 2)), MomentGrowth(linear=1.0, constant=0.5)
    assert (one + two).rho == F(1, 2)
    assert (one + two).times(3).rho == F(3, 2)
    assert one.then(one).rho >= 2
    assert growth(Composition(((FinitePair((F(1), F(0)), (F(1, 2), F(1, 2))), 1),))) is not None
    assert Profile.of_symmetric(LaplacePair(F(1))).concentrated() is not None


@pytest.mark.theorem("concentrated-orders")
def test_gaussian_parts_add_their_rho_and_nothing_more():
    smooth = SmoothedGaussianPair.of(variance=F(10**6), squared=9, coordinates=1)
    parts = ((GaussianPair(F(1, 3)), 2), (DiscreteGaussianPair(F(50), 3), 4), (smooth, 5))
    straight = F(1, 3) + 4 * F(9, 100) + 5 * smooth.rho
    assert least_rho(Composition(parts)) == straight
    rest = ((LaplacePair(F(1)), 1), (BoundedRangePair(F(1, 2)), 3))
    assert least_rho(Composition((*parts, *rest))) == straight + least_rho(Composition(rest))


@pytest.mark.theorem("concentrated-orders")
def test_a_bound_that_is_attained_ends_the_search():
    pair = BoundedRangePair(F(1, 50))  # its curve is below its moments everywhere
    assert least_rho(Composition(((pair, 7),))) == 7 * F(1, 50) ** 2 / 8
    assert least_rho(Composition(((BoundedRangePair(F(20)), 1),))) < F(20) ** 2 / 8


@pytest.mark.theorem("sampled-rho")
@pytest.mark.parametrize(
    ("mu", "rate", "steps"), [(F(100, 912), F(4096, 50000), 875), (F(1), F(1, 1000), 10)]
)
def test_no_rho_below_that_of_the_noise_holds_for_a_sample(mu, rate, steps):
    whole = mu**2 / 2 * steps
    run = GaussianDP(mu=mu).sampled(rate=rate).power(steps)
    order = 10**6
    assert float(whole) + steps * math.log(rate) / (order - 1) > 0.999 * float(whole)
    assert whole * F(999, 1000) <= run.concentrated() <= whole * F(1001, 1000)
    attained = run.renyi(order) / order  # from above, and so is what follows from below
    assert float(whole) + steps * math.log(rate) / (order - 1) <= attained <= 1.001 * float(whole)
