"""Distances, widths, rates and counts far outside of what anybody asks for."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.accounting import Leaf, account
from discreet.errors import DiscreetError, OutOfRange
from discreet.loss import Composition, Profile, Pure
from discreet.loss.envelope import grouped
from discreet.loss.finite import Atoms
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair
from discreet.loss.pair import LARGEST_LOSS, LARGEST_PLACE
from discreet.loss.pure_pairs import DiscreteLaplacePair
from discreet.mechanisms import Exponential, Gaussian, Laplace, RandomizedResponse

F = Fraction

WIDTHS = ["1e-300", "1e-30", "1e-9", "0.01", 1, 9, 1000, 2**60, 10**30]
DISTANCES = [
    1,
    2,
    100,
    10**6,
    2**50 - 1,
    2**50 + 2,
    2**53 + 1,
    2**62,
    2**63 - 1,
    2**63,
    2**63 + 1,
    2**64,
    2**64 + 1,
    10**20,
    10**30,
    10**100,
    10**400,
]
MECHANISMS = {
    "gaussian": lambda width: Gaussian(variance=width),
    "laplace": lambda width: Laplace(scale=width),
    "exponential": lambda width: Exponential(candidates=4, scale=width),
    "response": lambda width: RandomizedResponse(epsilon=width),
    "responses": lambda width: RandomizedResponse(epsilon=width, categories=(0, 1, 2)),
}
USES = {
    "once": lambda loss: loss,
    "twice": lambda loss: loss.power(2),
    "often": lambda loss: loss.power(10**6),
    "most often": lambda loss: loss.power(10**12),
    "again and again": lambda loss: loss.power(10**12).power(10**12),
    "too often": lambda loss: loss.power(10**30),
    "beside Laplace noise": lambda loss: loss.compose(Laplace(scale=3).loss()),
    "beside Gaussian noise": lambda loss: loss.compose(Gaussian(variance=9).loss()),
    "beside selection": lambda loss: loss.compose(Exponential(candidates=3, scale=3).loss()),
    "on a sample": lambda loss: loss.sampled(rate="0.1"),
    "on a tiny sample": lambda loss: loss.sampled(rate="1e-9"),
    "on a sample of nobody": lambda loss: loss.sampled(rate="1e-300"),
    "by a group": lambda loss: loss.group(10**12),
}


def answers(mechanism, width, use, distance):
    """Both enclosures, or None where that is refused; other errors and warnings come through."""
    if mechanism == "responses" and use == "by a group":
        return None  # a finite law is chained step by step
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            loss = USES[use](MECHANISMS[mechanism](width).loss(distance=distance))
            return loss.interval(delta="1e-6"), loss.delta_interval(epsilon=1)
        except DiscreetError:
            return None


@example("gaussian", 9, "once", (2**62, 2**63 + 1))
@example("gaussian", "1e-30", "once", (1, 2**63))
@example("gaussian", "1e-30", "often", (1, 2**53 + 1))
@example("gaussian", "1e-30", "once", (1, 10**400))
@example("laplace", "1e-30", "once", (1, 2**53 + 1))
@example("laplace", "1e-30", "twice", (1, 2**64 + 1))
@example("laplace", "1e-30", "once", (1, 10**400))
@example("exponential", 10**30, "again and again", (1, 2**64 + 1))
@example("response", "1e-9", "again and again", (1, 1))
@example("exponential", "1e-300", "once", (1, 10**30))
@example("exponential", "1e-9", "beside Gaussian noise", (1, 10**6))
@given(
    st.sampled_from(sorted(MECHANISMS)),
    st.sampled_from(WIDTHS),
    st.sampled_from(sorted(USES)),
    st.tuples(st.sampled_from(DISTANCES), st.sampled_from(DISTANCES)).map(sorted),
)
@settings(deadline=None, max_examples=60)
def test_a_longer_move_never_costs_less(mechanism, width, use, distances):
    near, far = (answers(mechanism, width, use, distance) for distance in distances)
    if near is not None and far is not None:
        assert near[0].low <= far[0].high
        assert near[1].low <= far[1].high


@given(
    st.sampled_from(sorted(MECHANISMS)),
    st.sampled_from(WIDTHS),
    st.sampled_from(DISTANCES),
    st.sampled_from(["often", "most often", "again and again", "twice", "by a group"]),
)
@settings(deadline=None, max_examples=30)
def test_more_releases_never_cost_less(mechanism, width, distance, use):
    once, more = (answers(mechanism, width, name, distance) for name in ("once", use))
    if once is not None and more is not None:
        assert once[0].low <= more[0].high
        assert once[1].low <= more[1].high


@pytest.mark.parametrize("distance", DISTANCES[3:], ids=lambda d: f"{d.bit_length()} bits, {d % 9}")
def test_what_moves_far_outside_of_the_noise_is_told(distance):
    least = {Gaussian(variance=9): F(distance) ** 2 / 19, Laplace(scale=3): F(distance) / 3 - 1}
    for mechanism, epsilon in least.items():
        loss = mechanism.loss(distance=distance)
        known = loss.epsilon(delta="1e-6")
        assert known == float("inf") or F(known) >= epsilon
        assert loss.delta(epsilon=1) > 1 - 1e-9
        assert loss.sampled(rate="0.1").delta(epsilon=1) > 0.1 * (1 - 1e-9)


def test_a_leaf_that_adds_many_records_is_not_free():
    price = account(Leaf(Gaussian(variance=9), added=10**20), relation="add_remove")
    assert price.epsilon(delta="1e-6") > 1e38


def test_products_of_lists_stop_where_places_are_too_large():
    far = Atoms.on_lattice(2**40, np.ones(1), F(1), error=0.0)
    assert far.above(F(1)) is not None
    assert far.above(F(1, 2**40)) is None
    assert far.below(F(1, 3 * 2**40) * 2) is None
    one = Atoms.on_lattice(LARGEST_PLACE // 2 + 1, np.ones(1), F(1), error=0.0)
    assert one.times(one) is None
    assert one.power(10**12) is None


def test_atoms_far_out_are_left_to_moments():
    assert DiscreteGaussianPair(F(9), LARGEST_PLACE).atoms() is not None
    assert DiscreteGaussianPair(F(9), LARGEST_PLACE + 1).atoms() is None
    assert DiscreteLaplacePair(F(9), 10**30).atoms() is None


@pytest.mark.parametrize("square", [2 * LARGEST_LOSS, 10**400], ids=["beyond", "far"])
def test_losses_beyond_the_largest_count_as_infinite(square):
    for far in (
        Composition(((GaussianPair(F(square)), 1),)),
        Composition(((DiscreteLaplacePair(F(1), square), 1),)),
        Composition(((GaussianPair(F(LARGEST_LOSS)), 1),)).compose(
            Composition(((GaussianPair(F(square - LARGEST_LOSS)), 1),))
        ),
    ):
        assert far.infinity().low > 1 - 1e-12
        assert far.log_moment(1.0) == float("inf")
        moved = grouped(far, 3)
        assert moved is not None
        assert moved.infinity().low > 1 - 1e-12
        assert Profile(remove=(far,), add=(far,)).epsilon(delta="0.5") == float("inf")


def test_counts_beyond_all_reason_are_refused():
    often = Pure(epsilon=1).profile().power(10**12).power(10**12).power(10**12).power(10**12)
    with pytest.raises(OutOfRange):
        often.power(10**12)
    most = often.power(100)
    with pytest.raises(OutOfRange):
        most.compose(most)
