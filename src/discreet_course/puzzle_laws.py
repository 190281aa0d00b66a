"""The exact distributions of the puzzles: six small mechanisms with a fault, and one without.

Nothing here protects privacy: these programs are broken on purpose.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from itertools import product

Rows = tuple[int, ...]
Law = Mapping[Hashable, Fraction]


def _collected(pairs: Iterable[tuple[Hashable, Fraction]]) -> dict[Hashable, Fraction]:
    law: dict[Hashable, Fraction] = {}
    for output, chance in pairs:
        law[output] = law.get(output, Fraction(0)) + chance
    return law


def clamped_count(count: int, odds: int, most: int) -> dict[Hashable, Fraction]:
    """Return the distribution of a count with two-sided geometric noise, clamped to 0 ... most.

    >>> clamped_count(0, 2, 1)
    {0: Fraction(2, 3), 1: Fraction(1, 3)}
    """
    a, count = Fraction(1, odds), min(count, most)
    law: dict[Hashable, Fraction] = {
        y: (1 - a) / (1 + a) * a ** abs(y - count) for y in range(most + 1)
    }
    law[0], law[most] = a**count / (1 + a), a ** (most - count) / (1 + a)
    return law


def honest(rows: Rows) -> Law:
    """Return the distribution of a count of ones that keeps its promise, ln 2."""
    return clamped_count(sum(rows), 2, 4)


def shared_coin(rows: Rows) -> Law:
    """Return the distribution of randomized response where all people share one coin."""
    return _collected(
        [
            (rows, Fraction(3, 4)),
            (tuple(1 - bit for bit in rows), Fraction(1, 4)),
        ]
    )


def short_noise(rows: Rows) -> Law:
    """Return the distribution of a count with noise that ends at one."""
    total = sum(rows)
    return {
        total - 1: Fraction(1, 4),
        total: Fraction(1, 2),
        total + 1: Fraction(1, 4),
    }


def busy_patient(rows: Rows) -> Law:
    """Return the distribution of a count of visits (of patients), with noise for one visit."""
    return clamped_count(len(rows), 2, 4)


def bare_counts(rows: Rows) -> Law:
    """Return the distribution of comparing two exact counts with a noisy threshold."""
    thresholds = range(5)
    chances = clamped_count(2, 2, 4)
    return _collected(
        (tuple(count >= threshold for count in rows), chances[threshold])
        for threshold in thresholds
    )


def no_data(rows: Rows) -> Law:
    """Return the distribution of a noisy count that says so when the table is empty."""
    return {"no data": Fraction(1)} if not rows else clamped_count(len(rows), 2, 4)


def exact_size(rows: Rows) -> Law:
    """Return the distribution of a noisy sum that is divided by the exact number of rows."""
    noisy = clamped_count(sum(rows), 2, 4)
    size = max(len(rows), 1)
    return _collected([(Fraction(int(str(y)), size), chance) for y, chance in noisy.items()])


def bits(length: int) -> list[Rows]:
    """Return all tables of this many bits."""
    return [*product((0, 1), repeat=length)]
