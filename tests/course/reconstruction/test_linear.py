"""Attacks by linear algebra: predicted shares, garbage, optimality, and the bars."""

from math import sqrt

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet_course.reconstruction import holding, linear, recovered, releasing, with_noise
from tests.course.reconstruction.test_fourier import coins, fixed


@pytest.mark.parametrize("squares", [True, False])
def test_exact_answers_give_everybody_away(squares):
    bits = coins(60)
    guess = linear.attack(
        holding(bits), people=60, questions=90, squares=squares, entropy=fixed("sets")
    )
    assert recovered(bits, guess) == 1


@pytest.mark.parametrize(("questions", "share"), [(256, 0.1), (512, 0.25), (1024, 0.5)])
def test_least_squares_guesses_what_is_predicted(questions, share):
    """Five secrets of 128 bits; five deviations of 640 coins and a point for small terms."""
    deviation, found = share * sqrt(128), []
    for turn in range(5):
        bits = coins(128, f"bits {turn}")
        curator = with_noise(bits, deviation=deviation, entropy=fixed(f"noise {turn} {share}"))
        guess = linear.attack(
            curator, people=128, questions=questions, squares=True, entropy=fixed(f"sets {turn}")
        )
        found.append(recovered(bits, guess))
    predicted = linear.expected(128, questions=questions, deviation=deviation)
    assert abs(np.mean(found) - predicted) <= 5 * sqrt(0.25 / 640) + 0.01


def test_the_linear_program_survives_garbage_that_least_squares_does_not():
    """Three answers of ten are random numbers."""
    bits, sets = coins(128), linear.random_halves(128, questions=1024, entropy=fixed("sets"))
    answers = holding(bits)(sets)
    garbage = np.array(fixed("where").words(1024, 64) % 10 < 3)
    answers = np.where(garbage, (fixed("what").words(1024, 64) % 128).astype(float), answers)
    assert recovered(bits, linear.linear_program(sets, answers).guess) == 1
    assert recovered(bits, linear.least_squares(sets, answers).guess) < 0.9


def test_what_is_found_is_as_good_as_what_a_general_solver_finds():
    bits = coins(30)
    sets = linear.random_halves(30, questions=60, entropy=fixed("sets"))
    answers = with_noise(bits, deviation=1.5, entropy=fixed("noise"))(sets)
    fit = linear.linear_program(sets, answers, gap=1e-4)
    matrix, eye = sets.astype(float), np.eye(60)
    solved = linprog(
        np.r_[np.zeros(30), np.ones(60)],
        A_ub=np.block([[matrix, -eye], [-matrix, -eye]]),
        b_ub=np.r_[answers, -answers],
        bounds=[(0, 1)] * 30 + [(0, None)] * 60,
    )
    found = np.abs(matrix @ fit.near - answers).sum()
    assert fit.gap <= 1e-4
    assert found * (1 - fit.gap) - 1e-6 <= solved.fun <= found + 1e-6


def test_noise_below_a_tenth_of_the_root_gives_95_percent_away():
    """2,000 people, one and a half questions for each."""
    people = 2000
    bits = coins(people)
    curator = with_noise(bits, deviation=sqrt(people) / 10, entropy=fixed("a tenth"))
    guess = linear.attack(curator, people=people, questions=3000, entropy=fixed("sets"))
    assert recovered(bits, guess) >= 0.95


def test_a_private_release_gives_hardly_anybody_away():
    """Noise is real: 500 fair coins and five deviations, 3e-7."""
    bits = coins(500)
    curator = releasing(bits, epsilon=1)
    guess = linear.attack(curator, people=500, questions=1000, entropy=fixed("sets"))
    assert recovered(bits, guess) <= 0.5 + 5 / sqrt(4 * 500) + 0.01
