"""Lists of few losses: enclosures against enumeration, samples, curves, and broken twins."""

import dataclasses
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting import Leaf, Parallel, Repeat, Sampled, Sequential, account
from discreet.loss import GaussianDP, Profile, Pure, RenyiDP, ZeroConcentrated
from discreet.loss.composition import Composition
from discreet.loss.finite import Enumeration, FinitePair, enumeration, listed_product
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.lattice import LatticeSearch
from discreet.loss.moments import MomentBound, RenyiCurve, moment_deltas
from discreet.loss.poisson_sampling import Direction, SampledPair, sampled_list
from discreet.loss.polygon import RenyiPart
from discreet.loss.pure_pairs import (
    BoundedRangePair,
    DiscreteLaplacePair,
    LaplacePair,
    ResponsePair,
)
from discreet.loss.rounding import Bracket
from tests.loss import truth
from tests.loss.finite_laws import laws, mixed, profile, times

F = Fraction
pytestmark = pytest.mark.theorem("few-losses")
EPSILONS = (0.0, 0.05, 0.3, 0.9, 1.6, 3.0)


def atoms(pair):
    """All losses of a pair with their masses, at 50 digits."""
    exp, real = mpmath.exp, lambda value: mpmath.mpf(value.numerator) / value.denominator
    match pair:
        case ResponsePair():
            e = real(pair.epsilon)
            return [(e, 1 / (1 + exp(-e))), (-e, 1 / (1 + exp(e)))]
        case DiscreteLaplacePair():
            d, w = pair.distance, 1 / real(pair.scale)
            ends = {0: 1 / (1 + exp(-w)), d: exp(-d * w) / (1 + exp(-w))}
            inner = (1 - exp(-w)) / (1 + exp(-w))
            return [((d - 2 * j) * w, ends.get(j, inner * exp(-j * w))) for j in range(d + 1)]
        case DiscreteGaussianPair():
            v, d = real(pair.variance), pair.distance
            reach = math.ceil(25 * math.sqrt(pair.variance)) + 1
            weights = {j: exp(-j * j / (2 * v)) for j in range(-reach, reach + 1)}
            total = mpmath.fsum(weights.values())
            return [(d * (2 * j + d) / (2 * v), w / total) for j, w in weights.items()]
        case FinitePair():
            both = [(real(p), real(q)) for p, q in zip(pair.p, pair.q, strict=True)]
            return [(mpmath.log(p / q), p) for p, q in both if p and q]
    raise AssertionError


def exact(pairs, eps):
    """The finite profile of a product at eps, over all outcomes."""
    with mpmath.workdps(50):
        lists = [atoms(pair) for pair, count in pairs for _ in range(count)]
        total = mpmath.mpf(0)
        for outcome in itertools.product(*lists):
            loss = mpmath.fsum(x for x, _ in outcome)
            if loss > eps:
                total += mpmath.fprod(m for _, m in outcome) * -mpmath.expm1(eps - loss)
        return total


PRODUCTS = [
    ((ResponsePair(F(3, 10)), 2), (DiscreteLaplacePair(F(3, 2), 1), 1)),
    ((DiscreteLaplacePair(F(2), 3), 2), (DiscreteLaplacePair(F(7, 3), 2), 1)),
    ((DiscreteGaussianPair(F(1, 4), 1), 1), (DiscreteLaplacePair(F(9, 10), 2), 2)),
    ((DiscreteGaussianPair(F(1, 9), 2), 2), (ResponsePair(F(1, 7)), 1)),
    (
        (FinitePair((F(1, 2), F(1, 3), F(1, 6)), (F(1, 6), F(1, 2), F(1, 3))), 3),
        (ResponsePair(F(1)), 2),
    ),
]


@pytest.mark.parametrize("pairs", PRODUCTS)
def test_products_enclose_their_enumeration(pairs):
    known = enumeration(pairs)
    for eps in EPSILONS:
        bracket, value = known.delta(eps), exact(pairs, eps)
        assert bracket.low <= value <= bracket.high
        assert bracket.width <= 1e-10 * bracket.high + 1e-60


@settings(max_examples=60)
@given(laws(2), laws(2), st.integers(1, 2), st.sampled_from(EPSILONS))
def test_random_finite_laws(first, second, count, eps):
    pairs = ((FinitePair(*first), count), (FinitePair(*second), 1))
    known = enumeration(pairs)
    if known is None:  # the two laws have no common outcome
        return
    p = times(*[first[0]] * count, second[0])
    q = times(*[first[1]] * count, second[1])
    both = [(a, b) for a, b in zip(p, q, strict=True) if a and b]
    value = truth.enumerated([tuple(zip(*both, strict=True))], eps) if both else 0.0
    bracket = known.delta(eps)
    assert bracket.low * (1 - 1e-12) - 1e-15 <= value <= bracket.high * (1 + 1e-12) + 1e-15
    assert bracket.width <= 1e-10 * bracket.high + 1e-60


@settings(max_examples=60)
@given(laws(2), st.fractions(F(1, 50), F(49, 50), max_denominator=50), st.sampled_from(EPSILONS))
def test_samples_of_finite_laws(found, rate, eps):
    """Removal and addition, with outcomes that one of the laws never shows."""
    p, q = found
    mix = mixed((1 - rate, rate), (q, p))
    ratio = F(math.exp(eps))
    for direction, ends in ((Direction.REMOVE, (mix, q)), (Direction.ADD, (q, mix))):
        pair = SampledPair(Composition(((FinitePair(p, q), 1),)), rate, direction)
        if pair.atoms() is None or not len(pair.atoms().mass):  # no common outcome
            continue
        high = Composition(((pair, 1),)).delta(eps)
        value = float(profile(*ends, ratio))
        assert high.low <= value * (1 + 1e-12) + 1e-14
        assert high.high >= value * (1 - 1e-12) - 1e-14
        assert high.width <= 1e-9 * high.high + 1e-14


def test_beside_a_gaussian_it_is_a_mixture_of_gaussians():
    pairs = ((ResponsePair(F(1)), 1), (GaussianPair(F(1, 4)), 1))
    known = enumeration(pairs)
    for eps in EPSILONS:
        value = sum(
            float(mass) * float(truth.gaussian_profile(F(1, 4), F(eps) - F(round(loss))).mid())
            for loss, mass in atoms(ResponsePair(F(1)))
        )
        bracket = known.delta(eps)
        assert bracket.low * (1 - 1e-13) <= value <= bracket.high * (1 + 1e-13)
        assert bracket.width <= 1e-9 * bracket.high


def test_beside_continuous_laplace_noise():
    pairs = ((ResponsePair(F(1)), 1), (LaplacePair(F(1, 2)), 1))
    known = enumeration(pairs)
    for eps in EPSILONS[:-1]:
        places = [(eps - float(loss), float(mass)) for loss, mass in atoms(ResponsePair(F(1)))]
        values = [
            -math.expm1((e - 0.5) / 2) if -0.5 <= e < 0.5 else max(-math.expm1(e), 0.0)
            for e, _ in places
        ]
        value = sum(mass * each for (_, mass), each in zip(places, values, strict=True))
        assert known.delta(eps).low <= value * (1 + 1e-14) + 1e-15
        assert known.delta(eps).high >= value * (1 - 1e-14) - 1e-15


@pytest.mark.theorem("bounded-range-pair")
@pytest.mark.parametrize("e", [F(1, 7), F(3, 2)])
def test_beside_a_bounded_range(e):
    known = enumeration(((ResponsePair(F(1, 3)), 1), (BoundedRangePair(e), 1)))
    for eps in (*EPSILONS[:4], float(e) + 1 / 3 - 1e-6):
        with mpmath.workdps(40):
            range_, value = mpmath.mpf(e.numerator) / e.denominator, mpmath.mpf(0)
            for loss, mass in atoms(ResponsePair(F(1, 3))):
                x = eps - loss
                rest = 1 - mpmath.exp((x - range_) / 2)
                curve = rest**2 / (1 - mpmath.exp(-range_)) if abs(x) <= range_ else 0
                value += mass * (1 - mpmath.exp(x) if x < -range_ else curve)
        bracket = known.delta(eps)
        assert bracket.low <= value <= bracket.high
        assert bracket.width <= 1e-7 * bracket.high + 1e-29


# Broken twins


def twin(**changes):
    """The same product from lists of which one statement is false."""
    first, second = (listed_product((each,)) for each in PRODUCTS[1])
    return Enumeration(dataclasses.replace(first, grain=None, **changes).times(second))


def test_a_list_without_its_smallest_masses_is_caught():
    first = listed_product((PRODUCTS[1][0],))
    thin = {"losses": first.losses[:-1], "mass": first.mass[:-1]}
    assert twin(**thin).upper(1.6) < exact(PRODUCTS[1], 1.6)
    assert twin(**thin, missing=float(first.mass[-1])).upper(1.6) >= exact(PRODUCTS[1], 1.6)


@pytest.mark.parametrize("moved", [-1e-9, 1e-9])
def test_losses_in_the_wrong_place_are_caught_unless_the_drift_says_so(moved):
    first = listed_product((PRODUCTS[1][0],))
    value, places = exact(PRODUCTS[1], 0.9), first.losses + moved
    broken, honest = twin(losses=places), twin(losses=places, drift=2e-9)
    assert not broken.lower(0.9) <= value <= broken.upper(0.9)
    assert honest.lower(0.9) <= value <= honest.upper(0.9)


@pytest.mark.parametrize("factor", [1 - 1e-9, 1 + 1e-9])
def test_wrong_masses_are_caught_unless_the_error_says_so(factor):
    first = listed_product((PRODUCTS[1][0],))
    value, mass = exact(PRODUCTS[1], 0.9), first.mass * factor
    broken, honest = twin(mass=mass), twin(mass=mass, error=2e-9)
    assert not broken.lower(0.9) <= value <= broken.upper(0.9)
    assert honest.lower(0.9) <= value <= honest.upper(0.9)


def test_a_sample_that_forgets_what_the_first_law_never_shows_is_caught():
    p, q, rate = (F(1), F(0)), (F(1, 2), F(1, 2)), F(1, 4)
    forward, backward = (FinitePair(*each).atoms() for each in ((p, q), (q, p)))
    value = float(profile(q, mixed((1 - rate, rate), (q, p)), F(1)))
    right = sampled_list(rate, None, backward, Bracket(0.5, 0.5))
    wrong = sampled_list(rate, None, backward, Bracket(0.0, 0.0))
    assert forward.mass.tolist() == [1.0]
    assert right.upper(0.0) >= value > 0.1
    assert wrong.upper(0.0) < value


# Curves


@pytest.mark.theorem("renyi-to-approximate")
@pytest.mark.parametrize(
    "curve",
    [
        RenyiCurve(rho=F(1, 10)),
        RenyiCurve(orders=(F(2), F(7, 2), F(10)), values=(F(1, 5), F(2, 5), F(3, 2))),
        RenyiCurve(rho=F(1, 50), orders=(F(3), F(30)), values=(F(1, 9), F(2))),
    ],
)
def test_many_points_of_a_curve_are_those_of_one(curve):
    limit = math.inf if curve.limit is None else float(curve.limit - 1)
    bound = MomentBound(curve.log_moment, limit)
    eps = np.array([0.0, 0.2, 0.7, 2.0, 5.0])
    many = RenyiPart(curve).finite_parts(eps)[1]
    one = [bound.delta(float(e)) for e in eps]
    assert many == pytest.approx(one, rel=1e-7)
    assert (many >= np.array(one) * (1 - 1e-7)).all()


def test_every_order_is_above_the_gaussian_that_attains_the_curve():
    eps = np.linspace(0, 6, 40)
    many = moment_deltas(0.1, np.zeros(0), np.zeros(0), eps)
    gaussian = [GaussianDP(mu_squared=F(1, 5)).delta_interval(epsilon=e).low for e in eps]
    assert (many >= gaussian).all()


def test_laplace_noise_beside_zcdp_is_the_mean_over_its_losses():
    loss = Profile.of(LaplacePair(F(1))).compose(ZeroConcentrated(rho="0.1"))
    high = loss.epsilon(delta="1e-6")
    x, w = np.polynomial.legendre.leggauss(200)
    places = np.concatenate([x, [1.0, -1.0]])
    mass = np.concatenate([w * np.exp((x - 1) / 2) / 4, [0.5, 0.5 * math.exp(-1)]])
    mean = (mass * RenyiPart(RenyiCurve(rho=F(1, 10))).finite_parts(high - places)[1]).sum()
    assert mean == pytest.approx(1e-6, rel=1e-5)
    assert high == pytest.approx(3.0801145, abs=1e-6)


@pytest.mark.parametrize("first", [Pure(epsilon=1), Profile.of(LaplacePair(F(1)))])
def test_the_interval_beside_a_curve_starts_at_what_a_gaussian_attains(first):
    both = first.compose(ZeroConcentrated(rho="0.1")).interval(delta="1e-6")
    gaussian = first.compose(GaussianDP(mu_squared="1/5")).interval(delta="1e-6")
    assert gaussian.low == pytest.approx(both.low, rel=1e-9)
    assert gaussian.high <= both.high
    assert both.width < 0.05 * both.high


def test_the_gaussian_below_known_orders():
    known = RenyiDP(orders=(2, 8), values=("1/5", "2"))  # a rho of 1/10 at the first order
    both = Pure(epsilon=1).compose(known).interval(delta="1e-6")
    gaussian = Pure(epsilon=1).compose(GaussianDP(mu_squared="1/5")).interval(delta="1e-6")
    assert both.low == pytest.approx(gaussian.low, rel=1e-9)
    assert both.low < both.high


# What is not needed any more


def test_trees_of_few_losses_need_no_lattice(monkeypatch):
    made = LatticeSearch.__init__

    def refuse(search, pairs, *others):
        assert len(pairs) == 1  # the moments of a sample look at what is sampled, alone
        made(search, pairs, *others)

    monkeypatch.setattr(LatticeSearch, "__init__", refuse)
    tree = Sequential(  # the README's
        Leaf(dp.mechanisms.Laplace(scale=2)),
        Parallel(
            "ward",
            {
                "A": Repeat(Leaf(dp.mechanisms.Gaussian(sigma=2)), 4),
                "B": Leaf(dp.mechanisms.Laplace(scale=1)),
            },
        ),
        Sampled(Leaf(dp.mechanisms.Gaussian(sigma=1)), rate="0.01"),
    )
    price = account(tree, relation="add_remove")
    bracket = price.interval(delta="1e-6")
    assert bracket.high == pytest.approx(5.26940865214, abs=1e-10)
    assert bracket.width < 1e-9
    assert "5.2695" in str(price)
    answer = dp.mechanisms.RandomizedResponse(epsilon="0.3", categories=list("abc")).loss()
    both = answer.compose(dp.mechanisms.Laplace(scale="3/2").loss()).interval(delta="1e-6")
    assert both.high == pytest.approx(0.96666291091, abs=1e-10)
    assert both.width < 1e-11


def test_a_sample_of_narrow_noise_has_a_price():
    """Losses of 1250 and more, of which exponentials overflow."""
    loss = Composition(((DiscreteGaussianPair(F(1, 2500), 1), 1),))
    pair = SampledPair(loss, F(1, 2), Direction.REMOVE)
    bracket = Composition(((pair, 1),)).epsilon(F(1, 10**6))
    assert bracket.high == pytest.approx(1250 + math.log(0.5), abs=1e-5)
    assert bracket.width < 1e-6


@pytest.mark.parametrize("count", [10**6, 10**12])
def test_many_losses_are_left_to_other_engines(count):
    assert enumeration(((DiscreteLaplacePair(F(3, 2), 1), count),)) is None
    assert listed_product(((DiscreteGaussianPair(F(10**8), 1), 1),)) is None
