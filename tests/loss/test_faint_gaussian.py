"""Gaussians so faint that floats cannot divide by their mu: bounds stay bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import Leaf, Repeat, Sequential, account
from discreet.loss import Bracket, GaussianDP, Pure
from discreet.loss.dots import PrivacyLossDistribution
from discreet.loss.elementary import gaussian_profile
from discreet.loss.gaussian import FAINTEST, gaussian_delta, gaussian_deltas
from discreet.loss.lattice import (
    Lattice,
    TiltedConvolution,
)
from discreet.loss.rounding import bound_above, bound_below
from discreet.mechanisms import Gaussian, Laplace

FAINT = ["1e-60", "1e-100", "1e-150", "1e-154", "1e-158", "1e-161", "1e-162", "1e-170", "1e-200"]


@pytest.mark.parametrize("mu", FAINT)
def test_a_faint_gaussian_beside_laplace_noise_takes_nothing_away(mu):
    three = Laplace(scale=1).loss().power(3)
    both = three.compose(GaussianDP(mu=mu))
    assert both.epsilon(delta="1e-6") >= three.interval(delta="1e-6").low > 2.9
    assert both.epsilon(delta="1e-6") == pytest.approx(three.epsilon(delta="1e-6"), rel=1e-3)
    for epsilon in (0, 1, 2):
        found, alone = both.delta_interval(epsilon=epsilon), three.delta_interval(epsilon=epsilon)
        assert found.overlaps(alone)
        assert found.high == pytest.approx(alone.high, rel=1e-3)


@pytest.mark.parametrize("mu", ["1e-154", "1e-170"])
def test_a_faint_gaussian_in_a_tree_takes_nothing_away(mu):
    tree = Sequential(Repeat(Leaf(Gaussian(sigma=1)), 10), Leaf(GaussianDP(mu=mu)))
    found = account(tree, relation="add_remove").loss.epsilon(delta="1e-6")
    assert found == pytest.approx(19.49, abs=0.01)


@pytest.mark.parametrize("mu", FAINT)
@pytest.mark.parametrize("rate", [None, "0.5", "0.01"])
def test_a_faint_gaussian_alone_has_a_small_profile(mu, rate):
    loss = GaussianDP(mu=mu).profile()
    loss = loss if rate is None else loss.sampled(rate=rate)
    for many in (loss, loss.power(7), loss.compose(Pure(epsilon="1e-200"))):
        for epsilon in (0, "1e-20", "0.1", 3):
            found = many.delta_interval(epsilon=epsilon)
            assert 0 <= found.low <= found.high < 1e-4
        assert many.epsilon(delta="1e-3") < 1e-2


@pytest.mark.parametrize("mu", FAINT)
def test_the_closed_form_encloses_faint_profiles(mu):
    square = Fraction(mu) ** 2
    for eps in (0.0, 1e-200, 1e-20, 1.0, 1e6):
        found = gaussian_delta(square, eps)
        most = gaussian_profile(square, Fraction(min(eps, 100.0))).high
        assert found.low <= most
        assert gaussian_profile(square, Fraction(0)).low <= gaussian_delta(square, 0.0).high


def test_many_closed_forms_hold_below_the_least_square_and_at_it():
    eps = np.array([-3.0, -1e-70, 0.0, 1e-70, 3.0, 1e7])
    for square in (0.0, 5e-324, FAINTEST / 2, FAINTEST):
        value, error = gaussian_deltas(square, eps)
        low, high = value - error, value + error
        flat = -np.expm1(np.minimum(eps, 0.0))
        assert (low <= flat).all()
        assert (flat <= high).all()
        assert (high <= flat + 1e-13).all()


def test_nothing_is_claimed_where_rounding_hides_the_difference():
    mu = 1e20
    for eps in (mu * mu / 2, mu * mu / 2 * (1 + 1e-15), mu * mu / 2 * (1 - 1e-15)):
        value, error = gaussian_deltas(mu * mu, np.array([eps]))
        assert float(value[0] - error[0]) <= 0.0
        assert float(value[0] + error[0]) >= 1.0


@pytest.mark.parametrize("side", ["above", "below"])
def test_a_lattice_that_is_no_number_claims_nothing(side):
    lattice = Lattice.of(
        side, Fraction(1), [(PrivacyLossDistribution(0, np.array([0.5, 0.5])), 1)], 0.0
    )
    nothing = np.full(16, np.nan)
    broken = TiltedConvolution(lattice, 1.0, 0.0, nothing, 0, 0.0, (nothing, nothing))
    assert broken.bound(0.5) == (math.inf if side == "above" else 0.0)


def test_what_is_no_number_goes_to_the_safe_side():
    assert bound_above(math.nan) == math.inf
    assert bound_below(math.nan) == 0.0
    assert Bracket.within(math.nan, 0.5, ceil=1.0) == Bracket(0.0, 0.5)
    assert Bracket.within(0.5, math.nan, ceil=1.0) == Bracket(0.5, 1.0)
    assert Bracket.within(0.5, math.nan) == Bracket(0.5, math.inf)
