"""Finite distributions: profiles, their inverses and small products, against 50 digits."""

import math
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from discreet.loss import Approximate, GaussianDP, Profile, Pure
from discreet.loss.composition import Composition
from discreet.loss.finite import FinitePair
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import DiscreteLaplacePair, LaplacePair, ResponsePair
from tests.loss import oracles

THREE = FinitePair(
    (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)),
    (Fraction(1, 3), Fraction(1, 5), Fraction(7, 15)),
)
LOST = FinitePair(
    (Fraction(1, 10), Fraction(2, 5), Fraction(1, 2), Fraction(0)),
    (Fraction(0), Fraction(1, 5), Fraction(7, 10), Fraction(1, 10)),
)
PRODUCTS = [[(THREE, 1)], [(LOST, 1)], [(THREE, 4)], [(THREE, 2), (LOST, 2)], [(LOST, 3)]]


def of(*pairs):
    return Composition(tuple(pairs))


def laws(pairs):
    """The two laws of a product, by enumeration."""
    copies = [pair for pair, count in pairs for _ in range(count)]
    return [
        oracles.product_law(*(dict(enumerate(map(oracles.real, side(pair)))) for pair in copies))
        for side in (lambda pair: pair.p, lambda pair: pair.q)
    ]


@pytest.mark.theorem("dominating-pair")
@pytest.mark.parametrize("pairs", PRODUCTS)
def test_profiles_are_enclosed(pairs):
    p, q = laws(pairs)
    for eps in (0.0, 1e-9, 0.3, math.log(1.5), math.log(2), 1.1, 2.0, 40.0, 900.0, math.inf):
        truth = oracles.hockey_stick(p, q, eps) if eps < 100 else oracles.hockey_stick(p, q, 100)
        found = of(*pairs).delta(eps)
        assert mpf(found.low) <= truth + mpf(10) ** -45
        assert truth <= mpf(found.high) + mpf(10) ** -45
        assert found.width <= 1e-12 * found.high
        assert of(*pairs).delta_above(eps) == found.high


@pytest.mark.theorem("dominating-pair")
@pytest.mark.parametrize("pairs", PRODUCTS)
def test_the_inverse_is_enclosed(pairs):
    p, q = laws(pairs)
    lost = sum(a for a, b in zip(p.values(), q.values(), strict=True) if b == 0)
    for delta in [Fraction(1, 10**6), Fraction(1, 7), Fraction(2, 7)]:
        found = of(*pairs).epsilon(delta)
        if delta < float(lost):
            assert math.isinf(found.low)
            continue
        assert found.width <= 1e-11 * max(1.0, found.high)
        target = oracles.real(delta)
        assert oracles.hockey_stick(p, q, found.high) <= target + mpf(10) ** -45
        if found.low > 0:
            below = math.nextafter(found.low, 0.0)
            assert oracles.hockey_stick(p, q, below) > target - mpf(10) ** -45


@pytest.mark.theorem("dominating-pair")
def test_nearly_certain_and_nearly_equal_laws():
    tiny = Fraction(1, 10**40)
    pair = FinitePair(
        (Fraction(1, 2) + tiny, Fraction(1, 2) - tiny), (Fraction(1, 2), Fraction(1, 2))
    )
    found = of((pair, 1)).delta(0.0)
    assert found.low <= float(tiny) <= found.high
    assert found.width <= 1e-53
    assert 0 < of((pair, 1)).epsilon(Fraction(0)).high < 3e-40
    rare = FinitePair((tiny, 1 - tiny), (tiny / 7, 1 - tiny / 7))
    assert float(mpmath.log(7)) in of((rare, 1)).epsilon(Fraction(0))
    same = FinitePair((Fraction(1),), (Fraction(1),))
    assert of((same, 5)).epsilon(Fraction(0)).high == 0.0


@pytest.mark.theorem("dominating-pair")
@pytest.mark.parametrize(
    ("pair", "largest"),
    [
        (LaplacePair(Fraction(1, 2)), 0.5),
        (ResponsePair(Fraction(1, 2)), 0.5),
        (DiscreteLaplacePair(Fraction(2), 3), 1.5),
        (THREE, math.log(5 / 3)),
        (SampledPair(of((LaplacePair(Fraction(1)), 1)), Fraction(1, 4), Direction.REMOVE), None),
        (SampledPair(of((LaplacePair(Fraction(1)), 1)), Fraction(1, 4), Direction.ADD), None),
    ],
)
def test_at_delta_zero_the_largest_loss_is_met(pair, largest):
    if largest is None:
        removed = pair.direction is Direction.REMOVE
        mixed = 1 + (math.e - 1) / 4 if removed else 1 / (1 + (1 / math.e - 1) / 4)
        largest = math.log(mixed)
    for pairs, total in (
        ([(pair, 1)], largest),
        ([(pair, 60)], 60 * largest),
        ([(pair, 2), (LaplacePair(Fraction(2)), 3)], 2 * largest + 6),
    ):
        found = of(*pairs).epsilon(Fraction(0))
        assert found.low * (1 - 1e-15) <= total <= found.high * (1 + 1e-15)
        assert found.width <= 1e-13 * total


def test_at_delta_zero_what_is_unbounded_is_infinite_from_both_sides():
    for loss in (GaussianDP(mu=1), GaussianDP(mu=1).sampled(rate="0.1").power(3)):
        assert math.isinf(loss.interval(delta=0).low)
    both = Approximate(epsilon=1, delta="1e-5")
    assert both.interval(delta="1e-5") == Pure(epsilon=1).interval(delta=0)


@pytest.mark.theorem("dominating-pair")
def test_a_loss_below_zero_beside_an_infinite_one_is_counted_as_such():
    half = Fraction(1, 2)
    lost = FinitePair(
        (half, half, Fraction(0)), (Fraction(0), Fraction(3, 5), Fraction(2, 5))
    )  # finite loss ln(5/6)
    sampled = SampledPair(of((lost, 1)), half, Direction.REMOVE)
    assert (
        of((lost, 1), (LaplacePair(Fraction(1)), 1)).epsilon(half).low
        <= 1 + math.log(5 / 6) + 1e-12
    )
    truth = 1 + math.log(half + half * 5 / 6)
    assert (
        of((sampled, 1), (LaplacePair(Fraction(1)), 1)).epsilon(Fraction(1, 4)).low <= truth + 1e-12
    )


@pytest.mark.theorem("dominating-pair")
def test_a_low_end_holds_at_the_epsilon_that_was_asked_for():
    """Decimal epsilons are not floats: the ends are taken on both sides of them."""
    for epsilon in ("0.1", "0.7", "1.3"):
        for loss in (
            Profile.of(THREE),
            Pure(epsilon=2).power(3),
            Profile.of(LaplacePair(Fraction(2))),
        ):
            exact = Fraction(epsilon)
            below = loss.delta_interval(epsilon=Fraction(math.nextafter(float(exact), 9.0)))
            assert loss.delta_interval(epsilon=epsilon).low <= below.high
            assert loss.delta(epsilon=epsilon) == loss.delta_interval(epsilon=epsilon).high


@pytest.mark.theorem("dominating-pair")
def test_a_finite_pair_whose_largest_loss_is_zero_is_no_leak():
    """Its other losses are below zero, which the lower end may not forget."""
    third = Fraction(1, 3)
    pair = FinitePair(
        (third, third, third, Fraction(0)), (Fraction(0), third, third / 2, third * 3 / 2)
    )
    twin = FinitePair((third, third, third), (Fraction(0), third, 2 * third))
    for each in (pair, twin):
        p, q = laws([(each, 2), (THREE, 1)])
        for eps in (0.0, 0.1, 0.4):
            found = of((each, 2), (THREE, 1)).delta(eps)
            truth = oracles.hockey_stick(p, q, eps)
            assert mpf(found.low) <= truth <= mpf(found.high)
