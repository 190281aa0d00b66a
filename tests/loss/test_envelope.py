"""One pair above several: exact for finite pairs, and what adaptive choice needs."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss import Composition, Profile, Pure
from discreet.loss.envelope import _profile, finite_envelope
from discreet.loss.pairs.finite import FinitePair
from discreet.loss.pairs.laplace import LaplacePair


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
    import math  # noqa: PLC0415  one use

    return math.nextafter(math.log(ratio), 0)


@pytest.mark.theorem("adaptive-choice")
def test_the_published_adaptive_choice_is_covered():
    """RR(1/2), then RR(1) or Laplace(1.2) as the first answer suggests: delta(0.6) is 0.288456."""
    laplace = Profile.of_symmetric(LaplacePair(Fraction(6, 5)))
    choice = Pure(epsilon=1).profile().join(laplace)
    total = Pure(epsilon="0.5").compose(choice)
    assert total.delta(epsilon="0.6") >= 0.28845586456532
    assert total.delta(epsilon="0.6") == pytest.approx(0.28845586456532, abs=2e-3)
