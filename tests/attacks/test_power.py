"""The power of a row: what it says it would have shown, it shows."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.attacks.claims import ApproximateClaim
from discreet.attacks.estimate import estimate_epsilon, judged_bound
from discreet.attacks.guessed_bits import guessed
from discreet.attacks.subjects import Batches
from discreet.errors import WrongKind
from discreet.mechanisms import Laplace
from discreet_audit.suite.power import shown_factor
from tests.attacks.test_suite import measured

LEVEL = Fraction(1, 10**8)


def judged(hits, n, *, claim=1.0, delta=0.0):
    """Judge an event in which so many answers are."""
    promise = ApproximateClaim(delta=str(delta), epsilon=str(claim))
    found = judged_bound(promise, "an event", hits, n, level=LEVEL, pair="")
    return replace(found, curve=())


SHAPES = [
    ((5000, 1839), 10_000, 1.0, 0.0),
    ((500_000, 183_900), 1_000_000, 1.0, 0.0),
    ((1000, 400), 10_000, 1.0, 0.0),
    ((9000, 7000), 10_000, 1.0, 0.0),  # what is outside the event says more
    ((60_000, 20_000), 100_000, 1.2, 0.1),
]


@pytest.mark.parametrize(("hits", "n", "claim", "delta"), SHAPES)
def test_a_loss_of_that_factor_is_refuted_and_a_smaller_one_is_not(hits, n, claim, delta):
    """The audit itself judges the counts that are expected at the factor."""
    row = judged(hits, n, claim=claim, delta=delta)
    assert not row.violates
    factor = shown_factor(row)
    assert 1 < factor < 4
    inside = math.log((hits[0] / n - delta) / (hits[1] / n))
    outside = math.log(((n - hits[1]) / n - delta) / ((n - hits[0]) / n))

    def at(multiple):
        if inside > outside:
            rare = round((hits[0] - delta * n) * math.exp(-multiple * inside))
            return judged((hits[0], rare), n, claim=claim, delta=delta)
        rare = round((n - hits[1] - delta * n) * math.exp(-multiple * outside))
        return judged((n - rare, hits[1]), n, claim=claim, delta=delta)

    assert at(1.02 * factor).violates
    assert not at(0.98 * factor).violates


def test_noise_with_a_scale_that_is_too_small_is_refuted_from_the_factor_on():
    """Draws, not counts: Laplace noise with a scale divided by twice the factor and by its root."""
    n, claim = 20_000, 2.0
    true = Laplace(scale=1)
    row = estimate_epsilon(true, (0, 1), n, claim=claim, level=LEVEL)
    factor = shown_factor(row)
    assert 2 < factor < 2.4  # half of the claim is lost, and the margin is small
    for multiple, violated in ((1.3 * factor, True), (0.8 * factor, False)):
        broken = Laplace(scale=1 / Fraction(multiple).limit_denominator(100))
        found = estimate_epsilon(broken, (0, 1), n, claim=claim, level=LEVEL)
        assert found.violates is violated


def test_more_answers_show_smaller_mistakes():
    factors = [
        shown_factor(judged((n // 2, round(n / 2 / math.e) + 1), n))
        for n in (1000, 10_000, 100_000, 1_000_000)
    ]
    assert all(more < less for less, more in pairwise(factors))
    assert factors[-1] < 1.02


def test_a_claim_that_has_slack_takes_a_larger_mistake():
    """However many answers there are: three times the loss is still within the claim."""
    row = judged((500_000, round(500_000 * math.exp(-1 / 3))), 1_000_000)
    assert 3 < shown_factor(row) < 3.1
    law = measured(n=0, level=0.0, lower=1 / 3)
    assert shown_factor(law) == pytest.approx(3)
    assert shown_factor(replace(law, lower=0.0)) == math.inf


def test_where_nothing_was_seen_only_the_lack_of_noise_shows():
    assert shown_factor(judged((500, 500), 1000)) == math.inf
    assert shown_factor(judged((400, 500), 1000)) == math.inf  # the event is the wrong way round


def test_a_point_of_the_curve_that_shows_more_counts():
    row = judged((50_000, 20_000), 100_000, claim=3.0)
    assert shown_factor(row) > 2
    sharper = replace(row, curve=((0.0, row.lower, 3.0), (0.1, 0.5, 0.7), (0.4, 0.0, None)))
    assert shown_factor(sharper) < 1.1


@pytest.mark.parametrize("n", [10, 20, 70, 120])
@pytest.mark.parametrize("kind", ["answers", "guesses"])
def test_a_row_shows_something_if_answers_without_noise_violate_its_claim(kind, n):
    """It is compared with the audits themselves, on answers that have no noise at all."""
    if kind == "answers":
        exact = Batches(lambda value, count: np.full(count, value))
        found = estimate_epsilon(exact, (0, 1), n, claim=1, level=LEVEL)
        none = replace(found, hits=(n // 2, n // 2))
    else:
        found = guessed(np.arange(n) % 2, np.arange(n) % 2, claim=1, level=LEVEL)
        none = replace(found, hits=(n // 2, n - n // 2))
    factor = shown_factor(none, guesses=kind == "guesses")
    assert (factor is not None) == found.violates
    assert factor in {None, math.inf}


def test_guesses_show_what_better_guesses_would_refute():
    n, right = 4000, 2400
    bits, wrong = np.arange(n) % 2, np.arange(n) >= right
    row = guessed(bits, bits ^ wrong, claim=1, level=LEVEL)
    factor = shown_factor(row, guesses=True)
    assert 2 < factor < 3
    for multiple, violated in ((1.02 * factor, True), (0.98 * factor, False)):
        share = 1 / (1 + (1600 / 2400) ** multiple)
        better = guessed(bits, bits ^ (np.arange(n) >= share * n), claim=1, level=LEVEL)
        assert better.violates is violated


@pytest.mark.parametrize("changes", [{"parameter": "rho"}, {"parameter": "mu"}])
def test_other_parameters_are_refused(changes):
    with pytest.raises(WrongKind):
        shown_factor(measured(**changes))
    with pytest.raises(WrongKind):
        shown_factor(measured(delta=1e-5), guesses=True)
