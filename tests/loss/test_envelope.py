"""One pair above several: exact for finite pairs, and what adaptive choice needs."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import WrongKind
from discreet.loss import Composition, Profile, Pure
from discreet.loss.dominance import largest_only
from discreet.loss.envelope import _profile, finite_envelope, upper_envelope
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import GaussianPair
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import LaplacePair, ResponsePair


@st.composite
def finite_pairs(draw):
    size = draw(st.integers(2, 4))
    weights = st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)
    p, q = draw(weights), draw(weights)
    return FinitePair(tuple(Fraction(w, sum(p)) for w in p), tuple(Fraction(w, sum(q)) for w in q))


@pytest.mark.theorem("adaptive-choice")
@given(
    pairs=st.lists(finite_pairs(), min_size=1, max_size=4),
    ratios=st.lists(st.fractions(min_value=0, max_value=20), min_size=1, max_size=8),
)
def test_the_envelope_is_the_largest_profile_everywhere(pairs, ratios):
    envelope = finite_envelope(pairs)
    own = {p / q for pair in [*pairs, envelope] for p, q in zip(pair.p, pair.q, strict=True) if q}
    for ratio in {*ratios, *own, Fraction(0), Fraction(10**9)}:
        assert _profile(envelope, ratio) == max(_profile(pair, ratio) for pair in pairs)


def response(epsilon_ratio):
    keep = epsilon_ratio / (1 + epsilon_ratio)
    return FinitePair((keep, 1 - keep), (1 - keep, keep))


def game_value(first, choices, ratio):
    """Let an adversary choose the second pair after seeing the first outcome."""
    return sum(
        p * max(_profile(second, ratio * q / p) for second in choices)
        for p, q in zip(first.p, first.q, strict=True)
    )


@pytest.mark.theorem("adaptive-choice")
def test_composing_each_choice_apart_is_not_enough():
    """The second release adapts to the first: the largest of the products is below the truth."""
    first = response(Fraction(3, 2))
    sharp = FinitePair((Fraction(1, 20), Fraction(19, 20)), (Fraction(1, 200), Fraction(199, 200)))
    choices = [response(Fraction(5, 2)), sharp, sharp.reverse()]
    beaten = 0
    for at in range(10, 40):
        ratio = Fraction(at, 10)
        truth = game_value(first, choices, ratio)
        apart = max(game_value(first, [choice], ratio) for choice in choices)
        profile = Profile(
            remove=tuple(Composition(((choice, 1),)) for choice in choices),
            add=tuple(Composition(((choice.reverse(), 1),)) for choice in choices),
        )
        found = Profile.of(first).compose(profile)
        epsilon = Fraction(_log_down(ratio))
        assert found.delta(epsilon=epsilon) >= float(truth) * (1 - 1e-12)
        beaten += apart < truth
    assert beaten > 0


def _log_down(ratio):
    return math.nextafter(math.log(ratio), 0)


@pytest.mark.theorem("adaptive-choice")
def test_the_published_adaptive_choice_is_tight():
    """RR(1/2), then RR(1) or Laplace(1.2) as the first answer suggests: delta(0.6) is 0.288456."""
    laplace = Profile.of_symmetric(LaplacePair(Fraction(6, 5)))
    choice = Pure(epsilon=1).profile().join(laplace)
    total = Pure(epsilon="0.5").compose(choice)
    assert 0.28845586456532 <= total.delta(epsilon="0.6") <= 0.28845586456532 + 1e-8
    assert total.delta_interval(epsilon="0.6").width <= 1e-6
    static = max(
        Pure(epsilon="0.5").compose(one).delta(epsilon="0.6") for one in (Pure(epsilon=1), laplace)
    )
    assert static == pytest.approx(0.28174441378705, abs=1e-8)


def response_pair(epsilon):
    return Composition(((ResponsePair(Fraction(epsilon)), 1),))


def laplace_pair(epsilon):
    return Composition(((LaplacePair(Fraction(epsilon)), 1),))


def gaussian_pair(mu):
    return Composition(((GaussianPair(Fraction(mu) ** 2), 1),))


@pytest.mark.theorem("adaptive-choice")
def test_golden_values_of_a_join():
    found = upper_envelope([response_pair(1), laplace_pair("1.2")])
    assert found.delta(0.0).high == pytest.approx(0.46211715726, rel=1e-10)
    assert found.delta(1.1).high == pytest.approx(0.04877057549929, rel=1e-11)
    assert found.epsilon(0).high == pytest.approx(1.2)
    assert found == upper_envelope([laplace_pair("1.2"), response_pair(1), laplace_pair("0.3")])


@pytest.mark.theorem("adaptive-choice")
def test_the_golden_value_of_a_tree_of_joins():
    """Laplace, then a choice, then a sampled choice: 6.733746 at 1e-6."""
    first = upper_envelope([gaussian_pair("1.2"), response_pair(1).power(2)])
    inner = upper_envelope([laplace_pair(1), gaussian_pair(1)])
    sampled = Composition(((SampledPair(inner, Fraction(1, 5), Direction.REMOVE), 1),))
    total = laplace_pair("0.5").compose(first).compose(sampled).epsilon(1e-6)
    assert 6.733746 - 1e-6 <= total.high <= 6.733746 + 1e-5
    assert total.width <= 1e-4


@pytest.mark.theorem("adaptive-choice")
@settings(max_examples=20)
@given(finite_pairs(), finite_pairs(), st.fractions(min_value=0, max_value=2, max_denominator=9))
def test_a_join_with_a_curve_is_above_both_ways(one, two, epsilon):
    parts = [Composition(((pair, 1),)) for pair in (one, two)]
    whole = upper_envelope([*parts, laplace_pair(epsilon)])
    reversed_ = whole.reverse()
    for eps in (-1.0, -0.2, 0.0, 0.3, 1.1):
        ratio = Fraction(math.exp(eps))
        here, there = whole.delta(eps).high, reversed_.delta(eps).high
        slack = 1e-13 * math.exp(max(eps, 0.0))
        for pair in (one, two):
            assert here >= float(_profile(pair, ratio)) * (1 - 1e-12) - slack
            back = float(_profile(pair.reverse(), ratio))
            assert there >= back * (1 - 1e-12) - slack


def test_what_another_covers_is_dropped():
    assert upper_envelope([laplace_pair(1), laplace_pair("0.5")]) == laplace_pair(1)
    assert upper_envelope([gaussian_pair(1)]) == gaussian_pair(1)
    assert largest_only([laplace_pair(1), response_pair(1)]) == (response_pair(1),)
    with pytest.raises(WrongKind):
        upper_envelope([])


@pytest.mark.theorem("adaptive-choice")
def test_finite_pairs_join_in_their_order():
    one = FinitePair((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 10), Fraction(9, 10)))
    two = response(Fraction(3))
    found = upper_envelope([Composition(((one, 1),)), Composition(((two, 1),))])
    assert found.pairs == ((finite_envelope([one, two]), 1),)


def test_moments_of_a_join_are_bounded():
    found = upper_envelope([laplace_pair(1), gaussian_pair("0.8")])
    for t in (0.1, 1.0, 8.0, 60.0):
        parts = [laplace_pair(1).log_moment(t), gaussian_pair("0.8").log_moment(t)]
        assert max(parts) * (1 - 1e-12) <= found.log_moment(t)
        total = math.log(sum(math.exp(m - max(parts)) for m in parts)) + max(parts)
        assert found.log_moment(t) <= total * (1 + 1e-12)
