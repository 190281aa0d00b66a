"""How far weighted noises reach: against sums over all outcomes, and against mutants."""

import functools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.mechanisms import Gaussian, Laplace
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.plan.noise_errors import coordinate_confidence, half_width, tails_above

C95 = Fraction(19, 20)


def law_of(mechanism):
    if isinstance(mechanism, Laplace):
        return DiscreteLaplace(scale=mechanism.scale)
    return DiscreteGaussian(variance=mechanism.variance)


@functools.cache
def masses(mechanism, ends):
    """The outcomes of noise, and their chances; what is beyond is left out."""
    law = law_of(mechanism)
    return np.arange(-ends, ends + 1), np.array([law.pmf(k) for k in range(-ends, ends + 1)])


def summed(terms, ends):
    """Return the values of the sum in whole parts of 1/6, and their chances."""
    values, chances = np.zeros(1, np.int64), np.ones(1)
    for weight, mechanism in terms:
        outcomes, more = masses(mechanism, ends)
        values = np.add.outer(values, int(6 * weight) * outcomes).ravel()
        chances = np.multiply.outer(chances, more).ravel()
    return values, chances


def within(terms, far, ends=60):
    """Return P[|sum| <= far], up to what is left out."""
    values, chances = summed(terms, ends)
    return float(chances[np.abs(values) <= 6 * far].sum())


NOISES = st.sampled_from(
    [
        Laplace(scale=1),
        Laplace(scale="1/2"),
        Laplace(scale=2),
        Gaussian(variance=1),
        Gaussian(sigma=2),
    ]
)
WEIGHTS = st.sampled_from([Fraction(w) for w in ("1", "2", "1/2", "-3", "5/3", "7")])


@pytest.mark.theorem("weighted-noise-reach")
@settings(max_examples=20, deadline=None)
@given(
    st.tuples(WEIGHTS, NOISES),
    st.tuples(WEIGHTS, NOISES),
    st.sampled_from([Fraction(1, 2), Fraction(9, 10), C95, Fraction(99, 100)]),
)
def test_two_noises_reach_exactly_as_far_as_the_sum_of_all_outcomes_says(first, second, confidence):
    terms = (first, second)
    far = half_width(terms, confidence)
    assert within(terms, far) >= confidence - 1e-8
    if far:  # on the lattice of both weights the reach is the smallest
        assert within(terms, far - Fraction(1, 6)) < confidence + 1e-8


@pytest.mark.theorem("weighted-noise-reach")
@pytest.mark.parametrize("noise", [Laplace(scale=2), Gaussian(sigma=3), Laplace(scale="1/9")])
@pytest.mark.parametrize("coordinates", [1, 2, 3])
def test_one_noise_reaches_as_far_as_its_own_error(noise, coordinates):
    far = half_width(((Fraction(3), noise),), C95, coordinates)
    assert far == 3 * noise.error(confidence=C95, coordinates=coordinates)


@pytest.mark.theorem("weighted-noise-reach")
@pytest.mark.parametrize(
    ("terms", "ends"),
    [
        (((Fraction(1, 2**24), Laplace(scale=2**25)), (Fraction(50), Laplace(scale=3))), 400),
        (((Fraction(1, 2**24), Gaussian(sigma=2**30)), (Fraction(50), Gaussian(sigma=3))), 60),
        (((Fraction(1, 2**24), Gaussian(sigma=2**30)), (Fraction(50), Laplace(scale=3))), 400),
        (((Fraction(1, 2**20), Laplace(scale=2**21)), (Fraction(1, 3), Gaussian(sigma=7))), 150),
    ],
)
@pytest.mark.parametrize("confidence", [C95, Fraction(999, 1000)])
def test_fine_steps_are_summed_with_little_to_spare(terms, ends, confidence):
    """The second noise is summed over; the first is as good as continuous."""
    (fine, first), (coarse, second) = terms
    outcomes, chances = masses(second, ends)
    if isinstance(first, Laplace):
        law = stats.laplace(scale=float(fine * first.scale))
    else:
        law = stats.norm(scale=float(fine) * float(first.variance) ** 0.5)

    def missed(r):
        return 2 * (chances * law.sf(float(r) - float(coarse) * outcomes)).sum()

    far = half_width(terms, confidence)
    assert missed(far) <= float(1 - confidence) * (1 + 1e-6)
    assert missed(far * Fraction(995, 1000)) > float(1 - confidence)


def test_a_mutant_one_step_narrower_misses_too_often():
    terms = ((Fraction(1), Laplace(scale=2)), (Fraction(2), Laplace(scale=1)))
    far = half_width(terms, C95)
    assert within(terms, far) >= C95 > within(terms, far - 1)


def test_coordinates_share_the_confidence():
    terms = ((Fraction(1), Laplace(scale=2)), (Fraction(1), Laplace(scale=3)))
    once, thrice = half_width(terms, C95), half_width(terms, C95, 3)
    assert thrice > once
    each = coordinate_confidence(C95, 3)
    assert each.low**3 <= C95 <= each.high**3
    assert within(terms, thrice) >= each.low - 1e-8


def test_weights_of_zero_and_no_noise_at_all():
    noise = Laplace(scale=2)
    assert half_width(((Fraction(0), noise), (Fraction(1), noise)), C95) == 6
    assert half_width((), C95) == 0


def test_very_rare_events_are_left_to_the_sum_of_single_reaches():
    rare = 1 - Fraction(1, 10**12)
    noise = Laplace(scale=2)
    single = noise.error(confidence=rare, coordinates=2)
    assert half_width(((Fraction(1), noise), (Fraction(1), noise)), rare) == 2 * single


@pytest.mark.parametrize(
    "noise",
    [
        Laplace(scale=2),
        Laplace(scale="1/1000"),
        Laplace(scale=10**9),
        Gaussian(variance=1),
        Gaussian(variance="1/50"),
        Gaussian(sigma=1024),
        Gaussian(sigma=1025),
        Gaussian(sigma=10**8),
    ],
)
def test_tails_are_bounded_from_above_and_closely(noise):
    law = law_of(noise)
    spread = max(1, law.quantile("0.9"))
    places = sorted({k * spread // 3 for k in range(-9, 15)} | {-1, 0, 1, 2})
    tails = tails_above(noise, np.array(places, float))
    assert (np.diff(tails) <= 0).all()
    for place, bound in zip(places, tails, strict=True):
        exact = law.survival_bounds(place - 1)
        assert bound >= exact.low
        closest = law.survival_bounds(place - 2 if isinstance(noise, Gaussian) else place - 1).high
        assert bound <= float(closest) * (1 + 1e-8) + 1e-290
