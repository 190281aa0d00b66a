"""Reconstruction: attacks that name everybody elsewhere, on releases of ours.

Everybody has a fair bit.  What is guessed of them after a release of price epsilon bounds epsilon
(key ``guessed-bits``), and must not be above the price.
"""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.guessed_bits import guessed
from discreet.noise import SYSTEM
from discreet.session import open as opened
from discreet.units import row
from discreet_course.reconstruction import differencing, fourier, linear, releasing, tracker
from discreet_course.reconstruction.curators import privately
from tests.audit.clinic import SHARE

OTHERS = 40
ANN = {"table": "people", "secret": "ill", "person": "name = 'Ann'"}


def fair_bits(people):
    """Draw a fair bit for everybody."""
    return (SYSTEM.words(people, 64) % 2).astype(np.uint8)


@pytest.mark.theorem("reconstruction-ceiling")
@pytest.mark.parametrize("epsilon", [1, 4])  # 2000 right guesses would not refute epsilon 5
def test_the_fourier_attack_does_not_reconstruct_a_release(found, epsilon):
    bits = fair_bits(2000)
    guess = fourier.attack(releasing(bits, epsilon=epsilon), people=2000)
    measured = guessed(bits, guess, claim=epsilon, level=SHARE)
    found.promise("reconstruction", f"Fourier attack on 2000 counts, ε {epsilon} in all", measured)


def test_the_linear_program_does_not_reconstruct_a_release(found, quick):
    n = 200 if quick else 2000
    bits = fair_bits(n)
    guess = linear.attack(releasing(bits, epsilon=4), people=n, questions=4 * n)
    measured = guessed(bits, guess, claim=4, level=SHARE)
    found.promise("reconstruction", f"linear program on {4 * n} counts, ε 4 in all", measured)


def difference(ask):
    return differencing.attack(ask, **ANN)


def track(ask):
    return tracker.attack(ask, **ANN, trackers=["old"])


@pytest.mark.parametrize(("attack", "questions"), [(difference, 2), (track, 6)])
def test_sql_does_not_tell_whether_ann_is_ill(found, quick, attack, questions):
    """The questions cost 1 in all; the attack is made anew for every fair bit."""

    def guess(*, ill):
        with opened(people(ill=ill), unit=row(), tables="people", test_mode=True) as session:
            return attack(privately(session, epsilon=Fraction(1, questions)))

    bits = fair_bits(20 if quick else 300)
    guesses = [guess(ill=bool(bit)) for bit in bits]
    measured = guessed(bits, guesses, claim=1, level=SHARE)
    found.promise("reconstruction", f"{attack.__name__} through SQL, ε 1 in all", measured)


def people(*, ill):
    others = [f"other {number}" for number in range(OTHERS)]
    return pa.table(
        {
            "name": ["Ann", *others],
            "ill": [ill, *(number % 2 == 0 for number in range(OTHERS))],
            "old": [True, *(number % 3 == 0 for number in range(OTHERS))],
        }
    )
