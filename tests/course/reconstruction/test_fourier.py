"""The Fourier attack: what is proven about wrong guesses, and the bars with and without privacy."""

from itertools import product
from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from discreet.loss import Approximate, Pure
from discreet.noise import KeyedEntropy
from discreet_course.reconstruction import (
    ceiling,
    fourier,
    holding,
    recovered,
    releasing,
    with_noise,
)

PEOPLE = 2000


def fixed(label):
    return KeyedEntropy(key=bytes(32), label=label)


def coins(people, label="bits"):
    return fixed(label).words(people, 64) % 2


@pytest.mark.parametrize("people", [1, 2, 3, 7, 8, 100])
def test_exact_answers_give_everybody_away(people):
    bits = coins(people)
    assert recovered(bits, fourier.attack(holding(bits), people=people)) == 1


def test_the_transform_is_the_product_with_all_signs():
    signs = 2.0 * fourier.questions(64) - 1
    values = coins(64) * 3.5 - 1
    assert np.allclose(fourier.transform(values), signs @ values)
    assert np.array_equal(signs @ signs, 64 * np.eye(64))


@pytest.mark.theorem("fourier-attack")
def test_no_error_up_to_a_limit_makes_more_guesses_wrong_than_proven():
    """All errors of -1, 0 and 1 in eight answers, for two secrets."""
    for bits in ([0] * 8, [1, 0, 1, 1, 0, 0, 1, 0]):
        true = holding(bits)(fourier.questions(8))
        errors = np.array(list(product((-1.0, 0.0, 1.0), repeat=8)))
        for scale in (0.2, 0.5):
            worst = max(
                sum(fourier.guess(true + scale * error, people=8) != np.array(bits))
                for error in errors
            )
            assert worst <= 16 * scale**2 + 1


@pytest.mark.theorem("fourier-attack")
@pytest.mark.parametrize("share", [0.1, 0.15, 0.25, 0.5])
def test_normal_errors_are_survived_as_often_as_predicted(share):
    """At 2,048 people, five standard deviations: false alarms 6e-7 each."""
    people = 1 << 11
    bits, deviation = coins(people), share * sqrt(people)
    curator = with_noise(bits, deviation=deviation, entropy=fixed(f"noise {share}"))
    predicted = NormalDist().cdf(sqrt(people) / (4 * deviation))
    found = recovered(bits, fourier.attack(curator, people=people))
    assert abs(found - predicted) <= 5 * sqrt(predicted * (1 - predicted) / people) + 1 / people


def test_noise_below_a_tenth_of_the_root_gives_95_percent_away():
    bits = coins(PEOPLE)
    curator = with_noise(bits, deviation=sqrt(PEOPLE) / 10, entropy=fixed("a tenth"))
    assert recovered(bits, fourier.attack(curator, people=PEOPLE)) >= 0.95


@pytest.mark.theorem("reconstruction-ceiling")
@pytest.mark.parametrize("epsilon", [1, 4])
def test_a_private_release_stays_below_what_theory_allows(epsilon):
    """Noise is real.  Guesses are far below the ceiling: five deviations of a coin, 3e-7."""
    bits = coins(PEOPLE)
    share = recovered(bits, fourier.attack(releasing(bits, epsilon=epsilon), people=PEOPLE))
    assert share <= ceiling(Pure(epsilon=epsilon)) + 5 / sqrt(4 * PEOPLE)


@pytest.mark.theorem("reconstruction-ceiling")
def test_the_ceiling_is_reached_by_randomized_response():
    """Each bit is told with chance e/(1+e): the best guess is what is told."""
    assert ceiling(Pure(epsilon=1)) == pytest.approx(0.7310585786, abs=1e-9)
    loose = Approximate(epsilon=1, delta="0.1")
    assert ceiling(loose, delta=0.1) == pytest.approx(0.7310585786 + 0.1 / 3.718281828, abs=1e-8)
    assert ceiling(Pure(epsilon=100)) == 1
