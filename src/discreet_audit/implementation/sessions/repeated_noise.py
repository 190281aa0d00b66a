"""A18: does noise repeat, where anybody could subtract it?

Trust: public.

One question about many public groups, each with one person, is answered twice: under two new
ledgers, by two draws of one question, by two processes, by a process and its fork, under a ledger
and a copy of its file, and by one program that gets other bits from the operating system while
everything else is the same.  Noise that follows from the question, the ledger, the data or the
program is the same in both.

Each noise Z is integer with a known law, and the two answers must be independent.  Of n groups the
numbers of those in which both noises are equal, have one sign, or are both small or both large are
then binomial, with chances that follow from the law.  Tails are enclosed exactly
(:func:`discreet.attacks.proportions.tail`), so the chance of a false alarm is what is stated.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from discreet.attacks.proportions import tail
from discreet.noise import Distribution
from discreet_audit.findings import Finding
from discreet_audit.implementation.sessions.asker import GROUPS, PRICES, law_of

_LEVEL: Final = Fraction(1, 10**6)
_TAIL: Final = Fraction(1, 1 << 40)


class Agreement(NamedTuple):
    """In how many groups two noises agree in something, and the chance of one group to do so."""

    what: str
    number: int
    chance: Fraction


def attack(*, quick: bool) -> Finding:
    """Answer twice in all ways, and compare the noises of all pairs."""
    rounds = 1 if quick else 8
    wrong: list[str] = []
    compared = 0
    closest = 1.0
    with tempfile.TemporaryDirectory() as folder:
        for number, price in enumerate(PRICES[:1] if quick else PRICES):
            law = law_of(number)
            tests = rounds * len(PRICES) * 64  # more than there are, so that levels add up
            for way, noises in _answers(Path(folder), number, rounds):
                for one, other in combinations(noises, 2):
                    compared += 1
                    for found in agreements(one, other, law):
                        chance = unlikely(found, len(one))
                        closest = min(closest, float(chance))
                        if chance < _LEVEL / tests:
                            wrong.append(f"{way} at {price}: {found.number} {found.what}")
    return Finding(
        claimed="answers to one question have independent noise, whatever they share but the bits",
        measured=f"{compared} pairs of answers of {GROUPS} groups: {len(wrong)} violations "
        f"(smallest p-value {closest:.2g}){': ' * bool(wrong)}{'; '.join(wrong[:3])}",
        passed=not wrong,
        numbers={
            "pairs": compared,
            "groups": GROUPS,
            "violations": len(wrong),
            "false_alarm_rate": float(_LEVEL),
        },
        not_covered="machines that are copied while they run: copies draw the same until they take "
        "new bits; noise that follows from something that differed each time here, such as a clock",
    )


def agreements(one: Sequence[int], other: Sequence[int], law: Distribution) -> list[Agreement]:
    """Return how often two noises agree, and the chances that the law gives to that.

    >>> from discreet.noise import DiscreteLaplace
    >>> [found.number for found in agreements([3, -1], [3, 2], DiscreteLaplace(scale=2))]
    [1, 1, 1]
    """
    x, y = np.asarray(one), np.asarray(other)
    middle = law.quantile("3/4")
    small = 1 - 2 * _chance_above(law, middle)
    zero = law.pmf_bounds(0).high
    return [
        Agreement("equal", int((x == y).sum()), _equal(law)),
        Agreement("of one sign", int(((x > 0) == (y > 0)).sum()), _both((1 - zero) / 2)),
        Agreement("of one size", int(((abs(x) > middle) == (abs(y) > middle)).sum()), _both(small)),
    ]


def unlikely(found: Agreement, n: int) -> Fraction:
    """Return twice the chance of so many agreements or more, or of so few or fewer.

    >>> float(unlikely(Agreement("equal", 10, Fraction(1, 2)), 10))
    0.001953125
    """
    above = tail(found.number, n, found.chance)
    below = tail(n - found.number, n, 1 - found.chance)
    return min(2 * min(above, below), Fraction(1))


def _equal(law: Distribution) -> Fraction:
    """Return the chance that two independent noises are equal, to a part of 2**-40."""
    total, k = law.pmf_bounds(0).high ** 2, 0
    while (mass := law.pmf_bounds(k := k + 1).high) > _TAIL:
        total += 2 * mass**2
    return _short(total)


def _chance_above(law: Distribution, k: int) -> Fraction:
    return law.survival_bounds(k).high


def _both(chance: Fraction) -> Fraction:
    return _short(chance**2 + (1 - chance) ** 2)


def _short(chance: Fraction) -> Fraction:
    return Fraction(round(chance * (1 << 60)), 1 << 60)


def _answers(folder: Path, price: int, rounds: int) -> Iterator[tuple[str, list[list[int]]]]:
    """Yield what every way of answering twice told, as the noise of all groups."""
    for number in range(rounds):
        place = folder / f"{price} {number}"
        place.mkdir()
        told = _told(place, price, "one")
        yield from told.items()
        other = _told(place, price, "alone")["answer"]
        yield "two processes", [told["two ledgers"][0], *other]
        bits = [_told(place, price, f"bits {name}")["answer"][0] for name in "ab"]
        yield "other bits from the operating system", bits


def _told(folder: Path, price: int, program: str) -> dict[str, Any]:
    """Run a program that answers in several ways, and read the noises."""
    module = "discreet_audit.implementation.sessions.asker"
    words = [sys.executable, "-m", module, str(folder), str(price), program]
    done = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    told: dict[str, Any] = json.loads(done.stdout)
    return told
