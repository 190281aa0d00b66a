"""Dropping options: what is dropped is dominated, and what is merged lies above."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.statement import Option, pruned
from discreet.loss.composition import Composition
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.pure_pairs import (
    BoundedRangePair,
    DiscreteLaplacePair,
    LaplacePair,
    ResponsePair,
)

EPSILONS = (0.0, 0.6)
SMALL = st.sampled_from(
    [Fraction(1, 5), Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 2)]
)
STEPS = st.integers(1, 3)
PAIRS = st.one_of(
    st.builds(ResponsePair, SMALL),
    st.builds(LaplacePair, SMALL),
    st.builds(BoundedRangePair, SMALL),
    st.builds(GaussianPair, SMALL),
    st.builds(DiscreteLaplacePair, st.sampled_from([Fraction(2), Fraction(3)]), STEPS),
    st.builds(DiscreteGaussianPair, st.sampled_from([Fraction(4), Fraction(9)]), STEPS),
)
PRODUCTS = st.lists(st.tuples(PAIRS, st.integers(1, 2)), min_size=1, max_size=2).map(
    lambda pairs: Composition(tuple(pairs))
)


def covered(kept, composition):
    """Return whether at each epsilon some option that was kept loses as much, both ways."""
    for turned in (False, True):
        ways = [o.composition.reverse() if turned else o.composition for o in kept]
        one = composition.reverse() if turned else composition
        for epsilon in EPSILONS:
            most = max(way.delta(epsilon).high for way in ways)
            if most < one.delta(epsilon).low * (1 - 1e-9):
                return False
    return True


@pytest.mark.theorem("dominance")
@settings(max_examples=6, deadline=None)
@given(st.lists(PRODUCTS, min_size=2, max_size=3), st.integers(1, 3))
def test_what_is_dropped_or_merged_is_below_what_is_kept(compositions, most):
    kept = pruned([Option(each) for each in compositions], most=most)
    assert len(kept) <= most
    assert all(covered(kept, composition) for composition in compositions)


@pytest.mark.theorem("randomized-response")
def test_a_bound_in_one_direction_is_not_enough():
    small = Fraction(95, 1000)
    told = FinitePair((small, 1 - small), (Fraction(0), Fraction(1)))  # adding tells little,
    pure = Composition(((ResponsePair(Fraction(1)), 1),))
    adding = Composition(((told.reverse(), 1),))  # removing everything, with a small chance
    assert len(pruned([Option(pure), Option(adding)])) == 2


@pytest.mark.theorem("wider-laplace")
@pytest.mark.parametrize("a", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("more", [Fraction(1, 100), Fraction(1, 10), Fraction(19, 100)])
def test_wider_laplace_noise_is_narrower_noise_plus_noise(a, more):
    b = a + more
    weight = a / b * (1 - b) ** 2 / (1 - a) ** 2
    assert 0 < weight < 1
    for cosine in (Fraction(-1), Fraction(-1, 3), Fraction(0), Fraction(2, 7), Fraction(1)):

        def transform(ratio, at=cosine):
            return (1 - ratio) ** 2 / (1 - 2 * ratio * at + ratio**2)

        assert transform(a) * (weight + (1 - weight) * transform(b)) == transform(b)


def test_attained_options_yield_to_attained_ones_alone():
    large, small = (Composition(((LaplacePair(Fraction(size)), 1),)) for size in (2, 1))
    assert pruned([Option(large), Option(small)]) == [Option(large)]
    bound = Option(large, attained=False)
    assert len(pruned([bound, Option(small)])) == 2


def test_too_many_options_are_merged_and_no_longer_real():
    options = [
        Option(Composition(((GaussianPair(Fraction(k)), 1), (ResponsePair(Fraction(60 - k)), 1))))
        for k in range(1, 40)
    ]
    assert len(pruned(options)) == len(options)  # none dominates another
    few = pruned(options, most=5)
    assert len(few) <= 5
    assert not any(option.attained for option in few)
