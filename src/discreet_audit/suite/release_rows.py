"""Rows of reconstruction: attacks that name everybody elsewhere, on releases of ours.

Trust: public.

Everybody has a fair bit.  What is guessed of them after a release of price epsilon bounds epsilon
(key ``guessed-bits``), and must not be above the price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.guessed_bits import guessed
from discreet.attacks.measured import Measured
from discreet.attacks.reconstruction import differencing, fourier, linear, releasing, tracker
from discreet.attacks.reconstruction.curators import Ask, privately
from discreet.noise import SYSTEM, Entropy
from discreet.session import open as opened
from discreet.units import row
from discreet_audit.suite.rows import GUESSED, Row

__all__ = ["fair_bits", "release_rows"]

_PART: Final = GUESSED
_PRICES: Final = (1, 4)  # even if all of 2000 guesses are right, epsilon 5 is not refuted
_OTHERS: Final = 40
_ANN: Final = {"table": "people", "secret": "ill", "person": "name = 'Ann'"}


def release_rows() -> Iterator[Row]:
    """Return a row for every attack and price."""
    for epsilon in _PRICES:
        yield Row(
            part=_PART,
            name=f"Fourier attack on as many counts as people, epsilon {epsilon} in all",
            judge=_Fourier(epsilon),
            quick=2000,
            long=2000,
        )
    yield Row(
        part=_PART,
        name="linear program on four counts a person, epsilon 4 in all",
        judge=_linear_program,
        quick=1100,
        long=2000,
    )
    for name, attack in (("differencing", _difference), ("tracker", _track)):
        yield Row(
            part=_PART,
            name=f"{name} through SQL, epsilon 1 in all",
            judge=_ThroughSql(name, attack),
            quick=60,
            long=300,
        )


def fair_bits(people: int, *, entropy: Entropy = SYSTEM) -> NDArray[np.uint8]:
    """Draw a fair bit for everybody.

    >>> sorted(set(fair_bits(100).tolist()))
    [0, 1]
    """
    return (entropy.words(people, 64) % 2).astype(np.uint8)


class _Fourier:
    """Guess everybody's bit from one private release."""

    def __init__(self, epsilon: int) -> None:
        self.epsilon = epsilon

    def __call__(self, n: int, level: Fraction) -> Measured:
        bits = fair_bits(n)
        guess = fourier.attack(releasing(bits, epsilon=self.epsilon), people=n)
        return guessed(bits, guess, claim=self.epsilon, level=level)


def _linear_program(n: int, level: Fraction) -> Measured:
    bits = fair_bits(n)
    guess = linear.attack(releasing(bits, epsilon=4), people=n, questions=4 * n)
    return guessed(bits, guess, claim=4, level=level)


class _ThroughSql:
    """Guess whether Ann is ill, by questions to a session that cost 1 in all, again and again."""

    def __init__(self, name: str, attack: Callable[[Ask], bool]) -> None:
        self.name, self.attack = name, attack

    def __call__(self, n: int, level: Fraction) -> Measured:
        bits = fair_bits(n)
        guess = [self._guess(ill=bool(bit)) for bit in bits]
        return guessed(bits, guess, claim=1, level=level, event=f"answers of {self.name} right")

    def _guess(self, *, ill: bool) -> bool:
        questions = 2 if self.name == "differencing" else 6
        with opened(_people(ill=ill), unit=row(), tables="people", test_mode=True) as session:
            return self.attack(privately(session, epsilon=Fraction(1, questions)))


def _people(*, ill: bool) -> pa.Table:
    others = [f"other {number}" for number in range(_OTHERS)]
    return pa.table(
        {
            "name": ["Ann", *others],
            "ill": [ill, *(number % 2 == 0 for number in range(_OTHERS))],
            "old": [True, *(number % 3 == 0 for number in range(_OTHERS))],
        }
    )


def _difference(ask: Ask) -> bool:
    return differencing.attack(ask, **_ANN)


def _track(ask: Ask) -> bool:
    return tracker.attack(ask, **_ANN, trackers=["old"])
