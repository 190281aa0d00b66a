"""Probabilities, tails, quantiles and moments against high-precision oracles."""

import math
import pickle
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutOfRange
from discreet.exact import Interval
from discreet.noise import (
    Bernoulli,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    Uniform,
)
from discreet.noise.gaussian import normalizer, tail_ratio

LAPLACE = [Fraction(1, 50), Fraction(1), Fraction(7, 3), Fraction(1000), Fraction(10**12)]
GAUSSIAN = [Fraction(1, 50), Fraction(1), Fraction(17, 4), Fraction(10**4), Fraction(99_999)]
EVERY = [
    *(DiscreteLaplace(scale=scale) for scale in LAPLACE[1:4]),
    *(DiscreteGaussian(variance=variance) for variance in GAUSSIAN[1:]),
    Uniform(below=13),
    Categorical(weights=[3, 0, "1/2", 7]),
    Bernoulli(p="2/7"),
]


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workdps(60):
        yield


def number(value):
    return mpmath.mpf(value.numerator) / value.denominator


def encloses(interval, true):
    """Check that an interval contains a number known to 50 digits, and is narrow around it."""
    slack = abs(true) * mpmath.mpf(10) ** -45
    low, high = number(interval.low), number(interval.high)
    assert low - slack <= true <= high + slack
    assert high - low <= abs(true) * mpmath.mpf(2) ** -50


def laplace_tail(scale, k):
    a = mpmath.exp(-1 / number(scale))
    return a ** (k + 1) / (1 + a)


@cache
def gaussian_sum(variance, first):
    """Sum exp(-j**2 / 2v) from ``first`` on, term by term."""
    v = number(variance)
    total, j = mpmath.mpf(0), first
    while True:
        term = mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * v))
        total += term
        if j > 0 and term < total * mpmath.mpf(10) ** -55:
            return total
        j += 1


@pytest.mark.parametrize("scale", LAPLACE, ids=str)
@pytest.mark.parametrize("depth", [0, 1, 10, 690])
def test_laplace(scale, depth):
    law = DiscreteLaplace(scale=scale)
    k = math.floor(depth * scale)
    a = mpmath.exp(-1 / number(scale))
    encloses(law.survival_bounds(k), laplace_tail(scale, k))
    encloses(law.cdf_bounds(-k - 1), laplace_tail(scale, k))
    encloses(law.survival_bounds(-k - 1), 1 - laplace_tail(scale, k))
    encloses(law.pmf_bounds(-k), (1 - a) / (1 + a) * a**k)
    encloses(law.log_survival_bounds(k), mpmath.log(laplace_tail(scale, k)))
    encloses(law.moments().variance, 2 * a / (1 - a) ** 2)


@pytest.mark.theorem("gaussian-tail")
@pytest.mark.parametrize("variance", GAUSSIAN, ids=str)
@pytest.mark.parametrize("depth", [0, 1, 3, 10, 37])
def test_gaussian(variance, depth):
    law = DiscreteGaussian(variance=variance)
    k = math.floor(depth * math.sqrt(variance))
    total = 2 * gaussian_sum(variance, 1) + 1
    tail = gaussian_sum(variance, k + 1) / total
    encloses(law.survival_bounds(k), tail)
    encloses(law.cdf_bounds(-k - 1), tail)
    encloses(law.survival_bounds(-k - 1), 1 - tail)
    encloses(law.pmf_bounds(-k), mpmath.exp(-(k**2) / (2 * number(variance))) / total)
    encloses(law.log_survival_bounds(k), mpmath.log(tail))


@pytest.mark.theorem("gaussian-tail")
@pytest.mark.parametrize("variance", [Fraction(2**16 + 1), Fraction(10**9), Fraction(10**24, 7)])
@pytest.mark.parametrize("depth", [0, Fraction(1, 2), 1, 5, 15])
@pytest.mark.parametrize("bits", [64, 100])
def test_wide_gaussian_tails_do_not_need_their_terms(variance, depth, bits):
    k = math.floor(depth * math.isqrt(math.floor(variance)))
    ratio = tail_ratio(variance, k, bits)
    assert (ratio.high - ratio.low) * 2**bits <= ratio.low
    # the oracle: Euler-Maclaurin at 60 digits with far more orders, and mpmath's own erfc
    v = number(variance)
    start = mpmath.mpf(k) / mpmath.sqrt(2 * v)
    integral = mpmath.sqrt(mpmath.pi * v / 2) * mpmath.erfc(start) * mpmath.exp(start**2)
    total, before, here = integral + mpmath.mpf(1) / 2, mpmath.mpf(1), -mpmath.mpf(k) / v
    for order in range(1, 60, 2):
        total -= mpmath.bernoulli(order + 1) / mpmath.factorial(order + 1) * here
        for n in (order, order + 1):
            before, here = here, -(k * here + n * before) / v
    encloses(ratio, total)


@pytest.mark.theorem("gaussian-tail")
@pytest.mark.parametrize("k", [0, 1, 255, 256, 257, 700, 4095])
def test_the_methods_of_gaussian_tails_agree(k, monkeypatch):
    """Term by term, and by Euler-Maclaurin with either form of Mills' ratio."""
    from discreet.noise import gaussian as gaussian_tail  # noqa: PLC0415  private functions under test

    variance = Fraction(2**16)
    by_terms = gaussian_tail._term_by_term(variance, k, 80)
    by_formula = gaussian_tail._euler_maclaurin(variance, k, 80)
    assert by_terms.low <= by_formula.high
    assert by_formula.low <= by_terms.high
    for found in (by_terms, by_formula):
        assert (found.high - found.low) * 2**64 <= found.low


@pytest.mark.theorem("gaussian-tail")
def test_a_smaller_remainder_would_be_noticed(monkeypatch):
    """Mutant: Euler-Maclaurin without its remainder, cut after one term."""
    from discreet.noise import gaussian as gaussian_tail  # noqa: PLC0415  private functions under test

    variance, k = Fraction(2**16), 4000
    truth = gaussian_tail._term_by_term(variance, k, 120)
    monkeypatch.setattr(gaussian_tail, "_remainder", lambda *_: Fraction(0))
    cut = gaussian_tail._euler_maclaurin(variance, k, 12 * 3)
    assert cut.high < truth.low or truth.high < cut.low


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(2), Fraction(70), Fraction(10**7)])
def test_normalizer_is_a_theta_function(variance):
    if variance < 1000:
        true = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * number(variance))))
    else:  # the same by Poisson summation, where the direct series is slow
        true = mpmath.sqrt(2 * mpmath.pi * number(variance))
    encloses(normalizer(variance, 64), true)


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(2), Fraction(63), Fraction(70)])
def test_gaussian_variance(variance):
    v = number(variance)
    reach = int(40 * mpmath.sqrt(v)) + 40
    weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * v)) for k in range(reach)]
    total = 2 * sum(weights[1:]) + 1
    true = 2 * sum(k * k * weight for k, weight in enumerate(weights)) / total
    encloses(DiscreteGaussian(variance=variance).moments().variance, true)


def test_log_survival_where_probabilities_are_below_1e_300():
    laplace, gaussian = DiscreteLaplace(scale=2), DiscreteGaussian(variance=4)
    assert laplace.survival(1381) < 1e-300
    assert laplace.log_survival(1381) == pytest.approx(-691 - math.log1p(math.exp(-0.5)), rel=1e-15)
    assert laplace.log_survival(2 * 10**12) == pytest.approx(-1e12, rel=1e-9)
    assert gaussian.log_survival(10**6) == pytest.approx(-((10**6 + 1) ** 2) / 8, rel=1e-9)
    assert gaussian.survival(10**6) == 0.0


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_probabilities_are_consistent(law):
    """Sums of enclosures: tails differ by the mass between them, and all mass is one."""
    span = range(-60, 61)
    for k in span:
        mass, below, above = law.pmf_bounds(k), law.cdf_bounds(k), law.survival_bounds(k)
        assert below.low + above.low <= 1 <= below.high + above.high
        before = law.cdf_bounds(k - 1)
        assert before.low + mass.low <= below.high
        assert below.low <= before.high + mass.high
        assert 0 <= mass.low <= mass.high <= 1
    inside = Interval(
        sum(law.pmf_bounds(k).low for k in span), sum(law.pmf_bounds(k).high for k in span)
    )
    whole_low = inside.low + law.cdf_bounds(-61).low + law.survival_bounds(60).low
    whole_high = inside.high + law.cdf_bounds(-61).high + law.survival_bounds(60).high
    assert whole_low <= 1 <= whole_high
    assert whole_high - whole_low < Fraction(1, 2**50)


@pytest.mark.parametrize("law", EVERY, ids=str)
@given(p=st.fractions(min_value=Fraction(1, 10**9), max_value=1 - Fraction(1, 10**9)))
def test_quantiles_invert_the_cdf(law, p):
    k = law.quantile(p)
    assert law.cdf_bounds(k).high >= p
    assert law.cdf_bounds(k - 1).low < p


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_laws_are_values_that_can_be_pickled(law):
    again = pickle.loads(pickle.dumps(law))  # noqa: S301  our own bytes
    assert again == law
    assert again.pmf_bounds(1) == law.pmf_bounds(1)
    assert again.sample(5).shape == (5,)


def test_quantiles_at_a_tie_are_decided():
    assert Bernoulli(p="1/3").quantile("2/3") == 0
    assert Bernoulli(p="1/3").quantile(Fraction(2, 3) + Fraction(1, 10**30)) == 1
    assert Uniform(below=7).quantile("3/7") == 2
    assert Categorical(weights=[1, 1, 1]).quantile("1/3") == 0


@pytest.mark.parametrize("law", EVERY[:7], ids=str)
def test_quantiles_far_out(law):
    for power in (20, 100, 300):
        tail = Fraction(1, 10**power)
        k = law.quantile(1 - tail)
        assert law.survival_bounds(k).high <= tail
        assert law.survival_bounds(k - 1).low > tail
        assert law.quantile(tail) == -k


def test_quantiles_of_very_wide_laws():
    assert DiscreteGaussian(variance=10**24).quantile("0.975") == 1959963984540
    assert DiscreteLaplace(scale=10**12).quantile("0.975") == 2995732273554
    assert DiscreteLaplace(scale=Fraction(1, 10**20)).quantile("0.999") == 0


@pytest.mark.parametrize("law", EVERY, ids=str)
def test_moments_match_the_probabilities(law):
    """Sum k P[k] and k**2 P[k] over all but a thousandth of a millionth of the mass."""
    span = range(law.quantile("1e-12") - 1, law.quantile("0.999999999999") + 1)
    masses = {k: law.pmf(k) for k in span[:: max(1, len(span) // 2000)]}
    step = max(1, len(span) // 2000)  # wide laws are smooth: every few outcomes will do
    mean = step * math.fsum(k * mass for k, mass in masses.items())
    square = step * math.fsum(k * k * mass for k, mass in masses.items())
    found = law.moments()
    assert float(found.mean.low) == pytest.approx(mean, abs=1e-2 if step > 1 else 1e-9)
    assert float(found.variance.high) == pytest.approx(square - mean**2, rel=1e-6)
    assert found.variance.high - found.variance.low <= Fraction(1, 2**40)


def test_floats_are_the_nearest_to_the_enclosure():
    law = DiscreteLaplace(scale=2)
    for face, bounds in ((law.pmf, law.pmf_bounds), (law.cdf, law.cdf_bounds)):
        low, high = bounds(3).floats()
        assert low <= face(3) <= high


@pytest.mark.parametrize("p", [0, 1, "-0.1", "1.5"])
def test_quantiles_outside_the_unit_interval_are_refused(p):
    with pytest.raises(OutOfRange):
        DiscreteLaplace(scale=2).quantile(p)


def test_the_logarithm_of_no_chance_is_refused():
    with pytest.raises(OutOfRange):
        Uniform(below=3).log_survival(2)


@pytest.mark.parametrize("law", EVERY[:7], ids=str)
def test_negative_arguments_of_log_survival(law):
    assert law.log_survival(-5) == pytest.approx(math.log(law.survival(-5)), abs=1e-15)
