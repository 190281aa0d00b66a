"""Level curves: what an event with known chances says about each family of promises."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.attacks import claims
from discreet.attacks.claim import normal_gap, renyi_coins
from discreet.attacks.claims import claim_of
from discreet.errors import WrongKind
from discreet.loss import Approximate, GaussianDP, Pure, ZeroConcentrated
from discreet.mechanisms import Gaussian

CHANCES = st.fractions(0, 1, max_denominator=200)
FAMILIES = [
    claims.PureClaim(),
    claims.ApproximateClaim(delta="0.05"),
    claims.Concentrated(),
    claims.GaussianMu(),
    claims.Curve(GaussianDP(mu=1)),
]


@pytest.mark.theorem("event-bounds")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: type(family).__name__)
@given(CHANCES, CHANCES, CHANCES, CHANCES)
def test_knowing_less_never_gives_more(family, p, low, q, high):
    """Monotone: a smaller P and a larger Q give a smaller bound."""
    low, high = min(p, low), max(q, high)
    if isinstance(family, claims.Curve):  # which delta is shown may change
        family = claims.ApproximateClaim(delta="0.01")
    assert family.lower(low, high).lower <= family.lower(p, q).lower * (1 + 1e-12)


@pytest.mark.theorem("event-bounds")
@given(st.fractions("0.01", 3), st.fractions("0.01", "0.99"))
def test_the_worst_coins_of_each_promise_reach_it_and_no_more(size, q):
    epsilon = float(size)
    p = min(math.exp(epsilon) * float(q), 1 - math.exp(-epsilon) * (1 - float(q)))
    bound = claims.PureClaim().lower(Fraction(p), q).lower
    assert bound == pytest.approx(epsilon, rel=1e-6)
    normal = NormalDist()
    p = normal.cdf(normal.inv_cdf(float(q)) + epsilon)
    assume(p < 1 - 1e-9)
    assert claims.GaussianMu().lower(Fraction(p), q).lower == pytest.approx(epsilon, rel=1e-4)


@given(st.fractions("0.01", "0.99"), st.fractions("0.01", "0.99"), st.sampled_from([2, 3, 8]))
def test_the_divergence_of_two_coins(p, q, order):
    total = p**order / q ** (order - 1) + (1 - p) ** order / (1 - q) ** (order - 1)
    divergence = renyi_coins(p, q, Fraction(order))
    assert float(divergence) == pytest.approx(math.log(total) / (order - 1), abs=1e-12)


@pytest.mark.theorem("event-bounds")
@given(st.fractions("0.05", "0.95"), st.fractions("0.05", "0.95"))
def test_rho_is_below_what_a_gaussian_that_gives_these_coins_has(p, q):
    """An event of two shifted normal laws can show no more than their rho."""
    assume(p > q)
    mu = normal_gap(p, q)
    assert claims.Concentrated().lower(p, q).lower <= mu**2 / 2 * (1 + 1e-9) + 1e-12


@given(st.fractions("0.001", "0.999"), st.fractions("0.001", "0.999"))
@pytest.mark.parametrize("family", FAMILIES[:4], ids=lambda family: type(family).__name__)
def test_guesses_are_near_what_is_certified(family, p, q):
    guess = float(family.guess(np.array([float(p)]), np.array([float(q)]))[0])
    bound = family.lower(p, q).lower
    if isinstance(family, claims.Concentrated):
        assert guess <= bound * 1.02 + 1e-9
    else:
        assert bound == pytest.approx(guess, rel=1e-6, abs=1e-6)


def test_what_cannot_happen_is_an_infinite_loss():
    never, half = Fraction(0), Fraction(1, 2)
    for family in (claims.PureClaim(), claims.Concentrated(), claims.GaussianMu()):
        assert family.lower(half, never).lower == math.inf
        assert family.lower(half, half).lower == 0
    assert claims.ApproximateClaim(delta="0.5").lower(half, never).lower == 0


def test_a_curve_shows_the_delta_at_which_the_claim_fails():
    claim = claims.Curve(GaussianDP(mu=1))
    bound = claim.lower(Fraction(1, 2), Fraction(1, 100))
    assert bound.lower > bound.claimed == GaussianDP(mu=1).epsilon(delta=Fraction(bound.delta))
    normal = NormalDist()
    p, q = Fraction(normal.cdf(1.5)), Fraction(normal.cdf(0.5))
    kept = claim.lower(p, q)
    assert kept.lower <= kept.claimed


@pytest.mark.parametrize(
    ("promise", "claim"),
    [
        (None, claims.PureClaim()),
        (0.5, claims.PureClaim(epsilon="0.5")),
        (Pure(epsilon=2), claims.PureClaim(epsilon=2)),
        (Approximate(epsilon=1, delta="1e-6"), claims.ApproximateClaim(epsilon=1, delta="1e-6")),
        (ZeroConcentrated(rho="0.1"), claims.Concentrated(rho="0.1")),
        (GaussianDP(mu=2), claims.GaussianMu(mu=2)),
        (claims.PureClaim(), claims.PureClaim()),
    ],
)
def test_promises_are_claims(promise, claim):
    assert claim_of(promise) == claim


def test_any_other_loss_is_a_curve():
    assert isinstance(claim_of(Gaussian(sigma=2).loss(distance=1)), claims.Curve)


def test_nothing_else_is_a_promise():
    with pytest.raises(WrongKind):
        claim_of([1])
