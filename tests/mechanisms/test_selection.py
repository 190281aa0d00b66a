"""Exponential mechanism, permute-and-flip and noisy max against the literature's numbers."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.loss import Profile, Pure, ZeroConcentrated
from discreet.loss.pure_pairs import BoundedRangePair
from discreet.mechanisms import Exponential, ScoreChange
from discreet_course.permute_and_flip import PermuteAndFlip

F = Fraction
SCORES = (3, 2, 0, -1)


def law(mechanism, scores=SCORES):
    return [chance.nearest() for chance in mechanism.reference_pmf(scores).values()]


@pytest.mark.theorem("exponential-mechanism")
def test_the_exponential_mechanism_on_four_scores():
    """Row M3, at epsilon 1 and sensitivity 1, that is, scale 2."""
    chances = law(Exponential(candidates=4, scale=2))
    assert chances == pytest.approx([0.508907, 0.308668, 0.113552, 0.068873], abs=1e-6)


@pytest.mark.theorem("permute-and-flip-privacy")
def test_permute_and_flip_on_four_scores():
    chances = law(PermuteAndFlip(candidates=4, scale=2))
    assert chances == pytest.approx([0.595462, 0.268555, 0.085503, 0.050480], abs=1e-6)
    expected = sum(p * (3 - u) for p, u in zip(chances, SCORES, strict=True))
    assert expected == pytest.approx(0.727, abs=1e-3)


@pytest.mark.theorem("permute-and-flip-privacy")
def test_permute_and_flip_is_never_worse():
    for scores in itertools.product(range(4), repeat=3):
        both = [law(kind(candidates=3, scale=2), scores) for kind in (PermuteAndFlip, Exponential)]
        errors = [sum(p * (max(scores) - u) for p, u in zip(c, scores, strict=True)) for c in both]
        assert errors[0] <= errors[1] + 1e-12


@pytest.mark.theorem("exponential-mechanism")
def test_losses():
    general = Exponential(candidates=9, scale=2)
    monotone = Exponential(candidates=9, scale=2, change=ScoreChange.MONOTONE)
    assert general.loss(distance=1) == Profile.of_symmetric(BoundedRangePair(F(1)))
    assert monotone.loss(distance=1) == Profile.of_symmetric(BoundedRangePair(F(1, 2)))
    assert general.concentrated(distance=1) == ZeroConcentrated(rho=F(1, 8))
    assert general.loss(distance=F(1, 3)).pure_bound() == F(1, 3)
    assert general.loss(distance=1).power(10).epsilon(delta=0) == 10
    assert general.loss(distance=2) == general.loss(distance=1).group(2)
    assert general.loss(distance=0).delta(epsilon=0) == 0
    assert Pure(epsilon=1).dominates(general.loss(distance=1))


@pytest.mark.theorem("exponential-mechanism")
def test_ten_selections():
    """Ten times epsilon 1: rho is 1.25, and epsilon 8.845889 at delta 1e-6, below the sum 10."""
    ten = Exponential(candidates=9, scale=2).concentrated().power(10)
    assert ten == ZeroConcentrated(rho=F(5, 4))
    assert ten.epsilon(delta=1e-6) == pytest.approx(8.845889348, abs=1e-6)
    tight = Exponential(candidates=9, scale=2).loss().power(10)
    assert tight.epsilon(delta=1e-6) == pytest.approx(8.1159153, abs=1e-6)


@pytest.mark.theorem("exponential-mechanism")
def test_the_range_of_the_log_ratio_is_bounded_and_its_divergence_concentrated():
    choose = Exponential(candidates=3, scale=2)
    vectors = list(itertools.product(range(3), repeat=3))
    laws = {scores: law(choose, scores) for scores in vectors}
    for here, there in itertools.permutations(vectors, 2):
        epsilon = max(abs(a - b) for a, b in zip(here, there, strict=True))
        p, q = laws[here], laws[there]
        ratios = [math.log(a / b) for a, b in zip(p, q, strict=True)]
        assert max(ratios) - min(ratios) <= epsilon + 1e-12
        for order in (1.5, 2, 8):
            moment = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
            assert math.log(moment) / (order - 1) <= order * epsilon**2 / 8 + 1e-12


@pytest.mark.theorem("exponential-mechanism")
def test_no_smaller_epsilon_holds_for_all_scores():
    choose = Exponential(candidates=2, scale=2)
    here, there = law(choose, (1, 40)), law(choose, (0, 41))
    assert math.log(here[0] / there[0]) == pytest.approx(1, abs=1e-8)


def test_more_candidates_cost_accuracy():
    """Row M3: the error grows with the logarithm of the number of candidates."""
    errors = [
        Exponential(candidates=k, scale=2).error(confidence=0.95) for k in (2, 10, 10**3, 10**6)
    ]
    assert errors == [5, 10, 19, 33]
    flips = [
        PermuteAndFlip(candidates=k, scale=2).error(confidence=0.95) for k in (2, 10, 10**3, 10**6)
    ]
    assert all(a <= b for a, b in zip(flips, errors, strict=True))


def test_a_single_candidate_is_selected_without_error():
    for kind in (Exponential, PermuteAndFlip):
        only = kind(candidates=1, scale=2)
        assert only.run([7]) == 0
        assert only.error(confidence=0.999) == 0


def test_fractions_are_scores_too():
    for kind in (Exponential, PermuteAndFlip):
        halves = law(kind(candidates=3, scale=1), (F(1, 2), F(0), F(1)))
        assert halves == pytest.approx(law(kind(candidates=3, scale=2), (1, 0, 2)), rel=1e-12)
        assert kind(candidates=2, scale=1).run([F(1, 3), F(10**6, 3)]) == 1
