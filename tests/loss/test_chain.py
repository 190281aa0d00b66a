"""Groups of finite pairs: exact, attained by chains, and never below them."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss import Profile, Pure
from discreet.loss.envelope import _profile, finite_envelope
from discreet.loss.finite import FinitePair


def response(ratio):
    keep = Fraction(ratio) / (1 + Fraction(ratio))
    return FinitePair((keep, 1 - keep), (1 - keep, keep))


@pytest.mark.theorem("group-profile")
def test_a_group_of_responses_is_the_known_profile():
    """RR(1/2) for two people has delta(1/2) = 0.244918662."""
    root = Fraction(16487212707001281, 10**16)  # e**0.5, rounded
    grouped = Profile.of(response(root)).group(2)
    assert grouped.delta(epsilon="0.5") == pytest.approx(0.244918662, abs=1e-8)
    exact = Pure(epsilon="0.5").group(2)
    assert grouped.epsilon(delta=0) == pytest.approx(exact.epsilon(delta=0), rel=1e-12)


@st.composite
def chains(draw):
    """Draw a chain of laws and the pairs of its steps."""
    size, length = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    weights = st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any)
    laws = [draw(weights) for _ in range(length)]
    return [tuple(Fraction(w, sum(law)) for w in law) for law in laws]


@pytest.mark.theorem("group-profile")
@given(
    laws=chains(), ratios=st.lists(st.fractions(min_value=0, max_value=9), min_size=4, max_size=4)
)
def test_the_ends_of_a_chain_are_within_the_group(laws, ratios):
    steps = [FinitePair(p, q) for p, q in pairwise(laws)]
    one = finite_envelope(steps)
    group = one.group(len(steps))
    ends = FinitePair(laws[0], laws[-1])
    for ratio in (*ratios, Fraction(0), Fraction(1)):
        assert _profile(ends, ratio) <= _profile(group, ratio)
    assert one.group(1) == one


@pytest.mark.theorem("group-profile")
def test_a_chain_attains_the_group():
    """p_(j+1) = min(1, c p_j + d) on one event: the tight chain of (epsilon, delta)."""
    c, d, size = Fraction(3, 2), Fraction(1, 50), 3
    rest = 1 - d
    keep = rest * c / (1 + c)
    pair = FinitePair((d, keep, rest - keep, Fraction(0)), (Fraction(0), rest - keep, keep, d))
    chance = Fraction(0)
    for _ in range(size):
        chance = min(Fraction(1), c * chance + d)
    assert _profile(pair.group(size), c**size) == chance
