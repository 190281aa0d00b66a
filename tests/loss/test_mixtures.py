"""Records that are sampled with others, or replaced in a sample."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss import Composition, GaussianDP
from discreet.loss.amplification import poisson_replaced, sampled_group
from discreet.loss.gaussian import GaussianPair
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import LaplacePair, ResponsePair
from tests.loss.finite_laws import EPSILONS, covers, laws, mixed, of, profile, times
from tests.loss.formulas import poisson_replace_profile

F = Fraction
RATES = st.sampled_from([F(1, 100), F(1, 4), F(9, 10)])


def gaussian(mu):
    return Composition(((GaussianPair(F(mu) ** 2), 1),))


def response(epsilon, delta=0):
    return Composition(((ResponsePair(F(epsilon), F(delta)), 1),))


# --- groups in a sample ---------------------------------------------------------------------------


@pytest.mark.theorem("sampled-groups")
@settings(max_examples=12)
@given(laws(4), RATES)
def test_groups_of_any_laws_are_within(found, rate):
    *parts, q = found
    k = len(parts)
    weights = [math.comb(k, j) * rate**j * (1 - rate) ** (k - j) for j in range(k + 1)]
    mixture = mixed(weights, [q, *parts])
    group = sampled_group([of(part, q) for part in parts], rate)
    covers(group, mixture, q)
    if len(q) < 4:
        covers(group.power(2), times(mixture, mixture), times(q, q), (0.0, 0.4, 1.5))


def exact_group(k, rate, mu, eps):
    """Test a mixture of Gaussians against N(0, 1) by a half line, both ways."""
    q, a = mpmath.mpf(rate), mpmath.exp(eps)
    w = [mpmath.binomial(k, j) * q**j * (1 - q) ** (k - j) for j in range(k + 1)]

    def ratio(y):
        return sum(w[j] * mpmath.exp(j * mu * y - (j * mu) ** 2 / 2) for j in range(k + 1))

    y = mpmath.findroot(lambda y: ratio(y) - a, (-60, 60), solver="bisect")
    ahead = sum(w[j] * mpmath.ncdf(j * mu - y) for j in range(k + 1)) - a * mpmath.ncdf(-y)
    if a * w[0] >= 1:
        return ahead, mpmath.mpf(0)
    y = mpmath.findroot(lambda y: 1 - a * ratio(y), (-60, 60), solver="bisect")
    back = mpmath.ncdf(y) - a * sum(w[j] * mpmath.ncdf(y - j * mu) for j in range(k + 1))
    return ahead, back


@pytest.mark.theorem("sampled-groups")
@pytest.mark.parametrize(
    ("k", "rate", "mu"), [(2, "0.1", "1"), (3, "0.01", "1"), (5, "0.3", "0.5")]
)
def test_groups_of_gaussians_are_exact(k, rate, mu):
    group = sampled_group([gaussian(F(mu) * j) for j in range(1, k + 1)], rate)
    reversed_ = group.reverse()
    for eps in (0.01, 0.2, 1.0, 3.0):
        ahead, back = exact_group(k, rate, mpmath.mpf(mu), eps)
        assert ahead <= group.delta(eps).high <= ahead * (1 + 3e-5)
        assert back <= reversed_.delta(eps).high <= back * (1 + 3e-5)


@pytest.mark.theorem("sampled-groups")
def test_a_group_of_one_is_a_sample():
    one = sampled_group([gaussian(1)], "0.1")
    for direction, side in ((Direction.REMOVE, one), (Direction.ADD, one.reverse())):
        sample = Composition(((SampledPair(gaussian(1), F(1, 10), direction), 1),))
        for eps in (0.0, 0.08, 0.5):
            assert (
                sample.delta(eps).low <= side.delta(eps).high <= sample.delta(eps).high * (1 + 3e-5)
            )


def test_groups_lose_more_than_one_and_less_than_unsampled():
    loss = GaussianDP(mu=1).sampled(rate="0.1")
    group = loss.group(3)
    for epsilon in ("0.1", "1"):
        one, three = loss.delta(epsilon=epsilon), group.delta(epsilon=epsilon)
        assert one < three < GaussianDP(mu=3).delta(epsilon=epsilon)
    assert loss.group(1) == loss
    assert sampled_group([gaussian(1), gaussian(2)], 1) == gaussian(2)
    assert math.isinf(group.remove[0].largest())
    assert group.add[0].largest() == pytest.approx(-3 * math.log(0.9), rel=1e-9)


@pytest.mark.theorem("sampled-groups")
def test_a_group_of_gaussians_has_no_largest_loss():
    """The mixture shows a Gaussian with some chance, so no epsilon bounds the loss at delta 0."""
    group = sampled_group([gaussian(1), gaussian(2)], "0.1")
    assert group.largest_below() == group.largest() == math.inf
    assert group.epsilon(0).low == group.epsilon(0).high == math.inf
    beside = sampled_group([response(1), gaussian(2)], "0.1")
    assert beside.largest_below() == math.inf
    assert group.reverse().epsilon(0).high == pytest.approx(-2 * math.log(0.9))


@pytest.mark.theorem("sampled-groups")
def test_a_largest_loss_known_from_one_side_stays_so():
    """A replaced record bounds its largest loss by zero from below and not from above."""
    replaced = poisson_replaced(gaussian(1), gaussian(1), gaussian(2), "0.1")
    assert (replaced.largest_below(), replaced.largest()) == (0.0, math.inf)
    group = sampled_group([replaced], "0.1")
    assert -1e-12 < group.largest_below() <= 0.0
    assert group.largest() == math.inf


@pytest.mark.theorem("sampled-groups")
def test_a_group_that_is_nearly_always_sampled_loses_what_it_loses_unsampled():
    """No record is left out with a chance below the least float; the bound is that of all in."""
    rate = 1 - F(1, 10**8)
    group = sampled_group([response(F(1, 10) * j) for j in range(1, 41)], rate)
    for eps in (0.0, 1.0, 3.9):
        high = group.delta(eps).high
        assert high == pytest.approx(response(4).delta(eps).high, rel=1e-9)
        assert group.reverse().delta(eps).high == pytest.approx(high, rel=1e-9)


# --- a record replaced in a sample ----------------------------------------------------------------


@pytest.mark.theorem("amplification")
@settings(max_examples=12)
@given(laws(3), RATES)
def test_replaced_records_are_within(found, rate):
    p, r, other = found
    first, second = mixed([1 - rate, rate], [r, p]), mixed([1 - rate, rate], [r, other])
    bound = poisson_replaced(of(p, r), of(r, other), of(p, other), rate)
    covers(bound, first, second)
    if len(p) < 4:
        covers(bound.power(2), times(first, first), times(second, second), (0.0, 0.4, 1.5))


@pytest.mark.theorem("amplification")
def test_replaced_gaussians_are_exact_and_below_the_published_bound():
    found = poisson_replaced(gaussian(1), gaussian(1), gaussian(2), "0.1").delta(0.3)
    assert 0.009696563149 <= found.high <= 0.009696563149 * (1 + 2e-5)
    one, two = GaussianDP(mu=1), GaussianDP(mu=2)
    published = poisson_replace_profile(
        lambda e: one.delta(epsilon=e), lambda e: two.delta(epsilon=e), rate="0.1", epsilon="0.3"
    )
    assert published == pytest.approx(0.016499159718, rel=1e-10)
    assert found.high < published


@pytest.mark.theorem("amplification")
@pytest.mark.parametrize("eps", [0.02, 0.1, 0.25])
def test_the_published_bound_is_never_beaten_by_this_one(eps):
    """Laplace noise at +1, 0 and -1: whatever is known, the free share is at least as good."""
    one, two = (Composition(((LaplacePair(F(e)), 1),)) for e in (1, 2))
    found = poisson_replaced(one, one, two, "0.1").delta(eps).high
    bound = poisson_replace_profile(
        lambda e: one.delta(float(e)).high,
        lambda e: two.delta(float(e)).high,
        rate="0.1",
        epsilon=F(eps),
    )
    assert found <= bound * (1 + 1e-5)


def test_replacing_everything_is_replacing():
    assert poisson_replaced(gaussian(1), gaussian(1), gaussian(2), 1) == gaussian(2)


@pytest.mark.theorem("amplification")
def test_a_chain_helps_where_the_records_are_not_compared():
    """Nothing is known of the two records together: the chain through none is finite."""
    unknown = response(0, 1)
    bound = poisson_replaced(gaussian(1), gaussian(1), unknown, "0.1")
    exact = poisson_replaced(gaussian(1), gaussian(1), gaussian(2), "0.1")
    for eps in (0.1, 0.5, 1.0):
        assert exact.delta(eps).high <= bound.delta(eps).high * (1 + 1e-9)
        assert bound.delta(eps).high <= 0.1


def test_profiles_agree_with_enumeration_at_all_ratios():
    p, q = (F(1, 2), F(1, 3), F(1, 6)), (F(1, 6), F(1, 3), F(1, 2))
    group = sampled_group([of(p, q)], F(1, 4))
    first = mixed([F(3, 4), F(1, 4)], [q, p])
    for eps in EPSILONS:
        truth = float(profile(first, q, F(math.exp(eps))))
        assert group.delta(eps).high == pytest.approx(truth, rel=1e-6, abs=1e-12)
