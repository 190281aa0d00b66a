"""Dropping scenarios: what is dropped is dominated, and what is merged lies above."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.worst_case.frontier import (
    MOMENT_ORDERS,
    Frontier,
    compose_scenarios,
    times,
)
from discreet.loss.composition import Composition
from discreet.loss.pairs.bounded_range import BoundedRangePair
from discreet.loss.pairs.finite import FinitePair
from discreet.loss.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.pairs.laplace import DiscreteLaplacePair, LaplacePair
from discreet.loss.pairs.pair import Pair
from discreet.loss.pairs.randomized_response import ResponsePair
from discreet.loss.renyi.curve import RenyiCurve

EPSILONS = (0.0, 0.2, 0.6, 1.4)
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
BAGS = st.lists(st.tuples(PAIRS, st.integers(1, 2)), min_size=1, max_size=3)


def composition(pairs: list[tuple[Pair, int]]) -> Composition:
    return Composition(tuple(pairs))


def never_below(larger: Composition, smaller: Composition) -> None:
    reversed_ = larger.reverse(), smaller.reverse()
    for one, other in ((larger, smaller), reversed_):
        for epsilon in EPSILONS:
            assert one.delta(epsilon).high >= other.delta(epsilon).low * (1 - 1e-9)


@pytest.mark.theorem("dominance")
@settings(max_examples=40, deadline=None)
@given(one=BAGS, other=BAGS)
def test_what_is_dropped_is_dominated(
    one: list[tuple[Pair, int]], other: list[tuple[Pair, int]]
) -> None:
    frontier = Frontier()
    first, second = composition(one), composition(other)
    if frontier.dominates(frontier.option(first), frontier.option(second)):
        never_below(first, second)


@pytest.mark.theorem("randomized-response")
def test_randomized_response_stands_above_several_that_sum_to_it() -> None:
    frontier = Frontier()
    parts = [(ResponsePair(Fraction(1, 2)), 1), (LaplacePair(Fraction(1, 4)), 2)]
    one = frontier.option(composition([(ResponsePair(Fraction(1)), 1)]))
    less = frontier.option(composition([(ResponsePair(Fraction(99, 100)), 1)]))
    several = frontier.option(composition(parts))
    assert frontier.dominates(one, several)
    assert not frontier.dominates(less, several)
    never_below(frontier.composition(one), frontier.composition(several))


@pytest.mark.theorem("randomized-response")
def test_a_bound_in_one_direction_is_not_enough() -> None:
    frontier = Frontier()
    small = Fraction(95, 1000)
    told = FinitePair((small, 1 - small), (Fraction(0), Fraction(1)))  # adding tells little,
    pure = composition([(ResponsePair(Fraction(1)), 1)])
    adding = composition([(told.reverse(), 1)])  # removing everything, with a small chance
    assert not frontier.dominates(frontier.option(pure), frontier.option(adding))
    rest = composition(
        [(FinitePair((Fraction(1, 2),) * 2, (Fraction(1, 20), Fraction(19, 20))), 1)]
    )
    odds = math.log(3)
    assert adding.compose(rest).delta(odds).low > pure.compose(rest).delta(odds).high


@pytest.mark.theorem("log-concave-moves")
@pytest.mark.theorem("wider-laplace")
def test_one_long_move_stands_above_several_shorter_ones() -> None:
    frontier = Frontier()
    far = frontier.option(composition([(DiscreteLaplacePair(Fraction(2), 3), 1)]))
    apart = [(DiscreteLaplacePair(Fraction(2), 1), 1), (DiscreteLaplacePair(Fraction(5), 2), 1)]
    near = frontier.option(composition(apart))
    assert frontier.dominates(far, near)
    assert not frontier.dominates(near, far)
    never_below(frontier.composition(far), frontier.composition(near))


@pytest.mark.theorem("wider-laplace")
@pytest.mark.parametrize("a", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("more", [Fraction(1, 100), Fraction(1, 10), Fraction(19, 100)])
def test_wider_laplace_noise_is_narrower_noise_plus_noise(a: Fraction, more: Fraction) -> None:
    b = a + more
    weight = a / b * (1 - b) ** 2 / (1 - a) ** 2
    assert 0 < weight < 1
    for cosine in (Fraction(-1), Fraction(-1, 3), Fraction(0), Fraction(2, 7), Fraction(1)):

        def transform(ratio: Fraction, at: Fraction = cosine) -> Fraction:
            return (1 - ratio) ** 2 / (1 - 2 * ratio * at + ratio**2)

        assert transform(a) * (weight + (1 - weight) * transform(b)) == transform(b)


@settings(max_examples=10, deadline=None)
@given(one=BAGS, other=BAGS)
def test_a_merged_option_lies_above_both(
    one: list[tuple[Pair, int]], other: list[tuple[Pair, int]]
) -> None:
    frontier = Frontier()
    options = [frontier.option(composition(each)) for each in (one, other)]
    merged = frontier.upper_bound(options)
    assert merged.attained == (len({option.bag for option in options}) == 1 and merged in options)
    large = frontier.composition(merged)
    bounds = [large.delta(epsilon).high for epsilon in EPSILONS]
    for option in options:
        small = frontier.composition(option)
        for epsilon, bound in zip(EPSILONS, bounds, strict=True):
            assert bound >= small.delta(epsilon).low * (1 - 1e-9)


def test_too_many_options_are_merged_and_no_longer_real() -> None:
    frontier = Frontier()
    options = [
        frontier.option(
            Composition(((GaussianPair(Fraction(k)), 1), (ResponsePair(Fraction(60 - k)), 1)))
        )
        for k in range(1, 40)
    ]
    assert len(frontier.pruned(options)) == len(options)  # none dominates another
    few = frontier.pruned(options, most=5)
    assert len(few) <= 5
    assert not any(option.attained for option in few)


@given(BAGS, BAGS)
@settings(max_examples=50, deadline=None)
def test_bags_compose_as_compositions_do(
    one: list[tuple[Pair, int]], other: list[tuple[Pair, int]]
) -> None:
    frontier = Frontier()
    first, second = (frontier.option(composition(each)) for each in (one, other))
    together = compose_scenarios(times(first, 3), second)
    expected = composition(one).power(3).compose(composition(other))
    assert frontier.composition(together) == expected
    known = frontier.option(expected).moments
    assert together.moments == pytest.approx(known, rel=1e-9)


def test_chains_of_options_may_be_longer_than_the_stack() -> None:
    frontier = Frontier()
    one = frontier.option(Composition(((LaplacePair(Fraction(1, 10**6)), 1),)))
    together = one
    for _ in range(3000):
        together = compose_scenarios(together, one)
    assert together.moments == pytest.approx([3001 * moment for moment in one.moments])


def test_equal_scenarios_are_equal_whether_or_not_they_were_compared() -> None:
    bag = Composition(((LaplacePair(Fraction(1)), 2),))
    frontier = Frontier()
    one, other = frontier.option(bag), frontier.option(bag)
    assert one.moments == bag.log_moments(MOMENT_ORDERS)
    assert one == other
    assert hash(one) == hash(other)


def test_curves_are_kept_apart_from_pairs() -> None:
    frontier = Frontier()
    line = RenyiCurve(rho=Fraction(1, 10))
    dots = RenyiCurve(orders=(Fraction(2), Fraction(8)), values=(Fraction(1, 5), Fraction(1)))
    option = frontier.option(Composition((), line + dots))
    twice = frontier.composition(times(option, 2))
    assert twice.renyi == (line + dots).times(2)
    steep = frontier.option(Composition((), RenyiCurve(rho=Fraction(1, 5))))
    flat = frontier.option(Composition((), line))
    assert frontier.dominates(steep, flat)
    assert not frontier.dominates(flat, steep)
