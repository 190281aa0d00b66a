"""Privacy loss distributions go out and come in as bounds of the same losses, both ways."""

import json
import math
from fractions import Fraction
from itertools import product

import dp_accounting.pld.privacy_loss_distribution as pld
import numpy as np
import pytest
from dp_accounting.pld.common import DifferentialPrivacyParameters
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.loss import Approximate, GaussianDP, Laplace, Profile, Pure, from_pld, to_pld
from discreet.loss.finite import FinitePair

DELTA = 1e-6
LOSSES = [
    GaussianDP(mu="0.5"),
    Laplace(scale=2),
    Pure(epsilon="0.75"),
    Approximate(epsilon="0.5", delta="1e-9"),  # with an infinite loss
]
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0)
THIRD = FinitePair(
    (Fraction(11, 15), Fraction(2, 15), Fraction(2, 15)),
    (Fraction(2, 15), Fraction(11, 15), Fraction(2, 15)),
)
MADE = {  # by dp_accounting, and the loss of what it was made for
    "gaussian": (
        pld.from_gaussian_mechanism(1.5, value_discretization_interval=1e-3),
        GaussianDP(mu="2/3"),
    ),
    "laplace": (
        pld.from_laplace_mechanism(2.0, value_discretization_interval=1e-3),
        Laplace(scale=2),
    ),
    "buckets": (
        pld.from_laplace_mechanism(2.0, value_discretization_interval=1e-2, use_connect_dots=False),
        Laplace(scale=2),
    ),
    "sampled": (
        pld.from_gaussian_mechanism(1.0, sampling_prob=0.1, value_discretization_interval=1e-2),
        None,
    ),
    "response": (pld.from_randomized_response(0.4, 3), Profile.of(THIRD)),
    "approximate": (
        pld.from_privacy_parameters(DifferentialPrivacyParameters(1.0, 1e-3)),
        Approximate(epsilon=1, delta="1e-3"),
    ),
    "nothing": (pld.identity(), Pure(epsilon=0)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_distributions_bound_the_loss_alone_and_composed(loss):
    exported = to_pld(loss, points=300)
    for times in (1, 4):
        theirs = exported if times == 1 else exported.self_compose(times)
        ours = loss.power(times)
        for epsilon in (0.0, 0.25, 0.5, 1.0, 2.0):
            bracket = ours.delta_interval(epsilon)
            assert theirs.get_delta_for_epsilon(epsilon) >= bracket.low
        assert theirs.get_epsilon_for_delta(DELTA) <= ours.epsilon(DELTA) * 1.04 + 0.01


def test_a_distribution_of_asymmetric_losses_bounds_both_sides():
    loss = GaussianDP(mu=1).sampled(rate="0.1")
    exported = to_pld(loss, points=200)
    for epsilon in (0.1, 0.3, 0.6):
        assert exported.get_delta_for_epsilon(epsilon) >= loss.delta_interval(epsilon).low


@pytest.mark.theorem("imported-distribution")
@pytest.mark.parametrize("name", MADE)
def test_what_is_read_is_above_the_truth_and_not_above_dp_accounting(name):
    theirs, truth = MADE[name]
    optimistic = pld.from_gaussian_mechanism(
        1.0,
        pessimistic_estimate=False,
        value_discretization_interval=1e-3,
        sampling_prob=0.1,
        use_connect_dots=False,
    )
    for times in (1, 5):
        ours = from_pld(theirs).power(times)
        composed = theirs.self_compose(times)
        for epsilon in EPSILONS:
            delta = composed.get_delta_for_epsilon(epsilon)
            if truth is None:  # the sample, whose own interval takes long
                least = optimistic.self_compose(times).get_delta_for_epsilon(epsilon)
            else:
                least = truth.power(times).delta_interval(epsilon).low
            assert least * (1 - 1e-9) <= ours.delta(epsilon) <= delta * (1 + 1e-4) + 1e-13
        read = from_pld(composed)  # after Fourier transforms
        assert read.epsilon(DELTA) == pytest.approx(
            composed.get_epsilon_for_delta(DELTA), rel=1e-6, abs=1e-9
        )


def test_each_direction_is_the_one_that_it_was():
    sampled, _ = MADE["sampled"]
    loss = from_pld(sampled)
    sides = {"remove": sampled._pmf_remove, "add": sampled._pmf_add}
    for epsilon in (0.05, 0.1, 0.2):
        deltas = {name: side.get_delta_for_epsilon(epsilon) for name, side in sides.items()}
        assert deltas["remove"] > 1.2 * deltas["add"]  # or nothing would be shown
        assert loss.remove[0].delta_above(epsilon) == pytest.approx(deltas["remove"], rel=1e-8)
        assert loss.add[0].delta_above(epsilon) == pytest.approx(deltas["add"], rel=1e-8)


def profile(law, other, epsilon):
    """Return the exact hockey-stick divergence, up to one rounding of e**epsilon."""
    return float(
        sum(max(p - Fraction(math.exp(epsilon)) * q, 0) for p, q in zip(law, other, strict=True))
    )


def rounded_up(p, q, step):
    """Return the plain form of one direction: every loss moves up to the lattice."""
    places = [math.ceil(math.log(a / b) / step) if b else None for a, b in zip(p, q, strict=True)]
    start = min(place for place in places if place is not None)
    masses = [0.0] * (max(place for place in places if place is not None) - start + 1)
    for place, mass in zip(places, p, strict=True):
        if place is not None:
            masses[place - start] += float(mass)
    infinite = sum(float(mass) for place, mass in zip(places, p, strict=True) if place is None)
    return {"lower_loss": start, "probs": masses, "infinity_mass": infinite}


weights = st.lists(st.integers(1, 20), min_size=2, max_size=4)


@pytest.mark.theorem("imported-distribution")
@settings(max_examples=8, deadline=None)
@given(weights, weights, st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
def test_an_imported_law_is_nowhere_below_the_two_laws_that_it_was_made_of(one, two, step, lost):
    size = min(len(one), len(two))
    p = [Fraction(n, sum(one[:size])) for n in one[:size]]
    q = [Fraction(n, sum(two[:size])) for n in two[:size]]
    if lost:  # an outcome that the second law never shows
        p, q = [mass * Fraction(9, 10) for mass in p] + [Fraction(1, 10)], [*q, Fraction(0)]
        back = {**rounded_up(q[:-1], p[:-1], step)}
    else:
        back = rounded_up(q, p, step)
    plain = {
        "discretization": step,
        "pessimistic_estimate": True,
        "remove": rounded_up(p, q, step),
        "add": back,
    }
    loss = from_pld(json.loads(json.dumps(plain)))
    for times in (1, 2):
        laws = [[math.prod(masses) for masses in product(law, repeat=times)] for law in (p, q)]
        composed = loss.power(times)
        for epsilon in (0.0, 0.6):
            assert composed.remove[0].delta_above(epsilon) >= profile(*laws, epsilon) * (1 - 1e-12)
            assert composed.add[0].delta_above(epsilon) >= profile(*laws[::-1], epsilon) * (
                1 - 1e-12
            )
    assert loss.tradeoff(Fraction(1, 10)) <= least_misses(p, q, Fraction(1, 10)) + 1e-12


def least_misses(p, q, alarm):
    """Return the exact trade-off: accuse where p/q is largest, with false-alarm chance alarm."""
    order = sorted(
        zip(p, q, strict=True), key=lambda pair: -pair[0] / pair[1] if pair[1] else -math.inf
    )
    missed = Fraction(1)
    for a, b in order:
        share = min(Fraction(1), alarm / b) if b else Fraction(1)
        missed, alarm = missed - share * a, alarm - share * b
    return float(missed)


def test_missing_mass_counts_as_infinite():
    side = {"lower_loss": 0, "probs": [0.5, 0.25], "infinity_mass": 0.125}
    loss = from_pld({"discretization": 1.0, "pessimistic_estimate": True, "remove": side})
    assert loss.delta(epsilon=30) == pytest.approx(0.25)
    assert loss.delta(epsilon=0) == pytest.approx(0.25 + 0.25 * -math.expm1(-1))
    far = {"lower_loss": 0, "probs": [0.5, *[0.0] * 300, 0.5], "infinity_mass": 0}
    loss = from_pld({"discretization": 1.0, "pessimistic_estimate": True, "remove": far})
    assert loss.delta(epsilon=250) == pytest.approx(0.5)  # losses that far away count as infinite


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_that_goes_out_and_comes_back_is_larger_by_little(loss):
    back = from_pld(to_pld(loss, points=2000))
    for epsilon in (0.0, 0.3, 0.7, 1.5):
        assert back.delta(epsilon) >= loss.delta_interval(epsilon).low
    assert loss.interval(DELTA).low <= back.epsilon(DELTA) <= loss.epsilon(DELTA) * 1.01 + 0.002


def test_imported_losses_compose_with_others_and_in_groups():
    gaussian, own = from_pld(MADE["gaussian"][0]), MADE["gaussian"][1]
    assert gaussian.compose(Pure(epsilon=1)).epsilon(DELTA) == pytest.approx(
        own.compose(Pure(epsilon=1)).epsilon(DELTA), rel=1e-4
    )
    assert gaussian.group(2).epsilon(DELTA) == pytest.approx(own.group(2).epsilon(DELTA), rel=1e-3)
    sample = gaussian.sampled(rate="0.1").power(10).epsilon(DELTA)
    assert sample == pytest.approx(own.sampled(rate="0.1").power(10).epsilon(DELTA), rel=2e-3)


SIDE = {"lower_loss": -1, "probs": [0.25, 0.0, 0.75], "infinity_mass": 0.0}
PLAIN = {"discretization": 1.0, "pessimistic_estimate": True, "remove": SIDE}


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (
            pld.from_laplace_mechanism(1.0, pessimistic_estimate=False, use_connect_dots=False),
            "pessimistic",
        ),
        ({**PLAIN, "pessimistic_estimate": False}, "pessimistic"),
        ({**PLAIN, "pessimistic_estimate": "no"}, "pessimistic"),
        ({**PLAIN, "discretization": 0}, "discretization"),
        ({**PLAIN, "discretization": float("nan")}, "discretization"),
        ({**PLAIN, "remove": {**SIDE, "probs": [0.5, 0.75]}}, "at most 1"),
        ({**PLAIN, "remove": {**SIDE, "probs": [-0.5, 0.75]}}, "between 0 and 1"),
        ({**PLAIN, "remove": {**SIDE, "probs": [float("nan"), 0.75]}}, "between 0 and 1"),
        ({**PLAIN, "remove": {**SIDE, "infinity_mass": 0.5}}, "at most 1"),
        ({**PLAIN, "add": {**SIDE, "infinity_mass": 0.5}}, "at most 1"),
        ({**PLAIN, "remove": {**SIDE, "lower_loss": 0.5}}, "lower_loss"),
        ({**PLAIN, "remove": {**SIDE, "probs": ["many"]}}, "not read"),
        ({"discretization": 1.0, "remove": SIDE}, "not read"),
        (np.ones(3), "not read"),
        (None, "not read"),
        ("a distribution", "not read"),
    ],
)
def test_what_cannot_be_trusted_is_refused(data, match):
    with pytest.raises(DiscreetError, match=match):
        from_pld(data)


def test_a_loss_without_an_epsilon_is_not_exported():
    with pytest.raises(DiscreetError, match="loss above 200"):
        to_pld(GaussianDP(mu=100))
