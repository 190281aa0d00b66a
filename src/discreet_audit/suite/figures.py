"""Figures: what the same attacks do without protection, and the curve of reconstruction.

Trust: public.

The curve says how many bits are guessed, by how much noise there is.  Noise is measured in roots of
n, the number of people.  Far below 1 the attacks guess nearly all, far above 1 they toss coins; a
release at price epsilon is far above, and its share is below e^epsilon / (1 + e^epsilon) whatever
the attack (key ``reconstruction-ceiling``).

The figures without protection show that the attacks work: a release that withstands an attack which
names nobody anywhere withstands nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import exp, sqrt
from typing import Any, Final, final

import numpy as np

from discreet.attacks import tracing
from discreet.attacks.reconstruction import (
    ceiling,
    census,
    fourier,
    holding,
    linear,
    recovered,
    with_noise,
)
from discreet.attacks.tracing import Rows
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.noise import KeyedEntropy
from discreet_audit.suite.release_rows import fair_bits

NOISES: Final = tuple(round(10 ** (k / 6), 4) for k in range(-9, 10))
"""From 3 % of a root to 30 roots."""

_CURVE_PEOPLE: Final = 2048
_FEWER: Final = 256
_PRICES: Final = (1, 4, 16)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """An attack, the noise in roots of n, the share that it guessed, and the most it could."""

    attack: str
    noise: float
    share: float
    ceiling: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows."""
        return asdict(self)


def curve(*, label: str = "curve of reconstruction") -> Iterator[Point]:
    """Attack counts with more and more noise, and counts of private releases.

    All of it is drawn from a fixed stream, named by ``label``: a picture, and no evidence.
    """
    for people, attack in ((_CURVE_PEOPLE, "Fourier"), (_FEWER, "linear program")):
        coins = KeyedEntropy(key=bytes(32), label=f"{label}: {attack}")
        bits = fair_bits(people, entropy=coins)
        for noise in NOISES:
            curator = with_noise(bits, deviation=noise * sqrt(people), entropy=coins)
            if attack == "Fourier":
                guess = fourier.attack(curator, people=people)
            else:
                guess = linear.attack(curator, people=people, questions=4 * people, entropy=coins)
            yield Point(attack=attack, noise=noise, share=recovered(bits, guess))
    coins = KeyedEntropy(key=bytes(32), label=f"{label}: releases")
    bits = fair_bits(_CURVE_PEOPLE, entropy=coins)
    sets = fourier.questions(_CURVE_PEOPLE)
    for epsilon in _PRICES:
        scale = _CURVE_PEOPLE // epsilon
        counts = sets.astype("int64") @ bits
        answers = Laplace(scale=scale).run(counts, entropy=coins).astype("float64")
        guess = fourier.guess(answers, people=_CURVE_PEOPLE)
        yield Point(
            attack=f"release, epsilon {epsilon}",
            noise=sqrt(2) * scale / sqrt(_CURVE_PEOPLE),
            share=recovered(bits, guess),
            ceiling=ceiling(Pure(epsilon=epsilon)),
        )


_PEOPLE: Final = 2000
_ENOUGH: Final = 0.95
_ALARMS: Final = 0.01


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The share of people that an attack names, and where it must lie.

    >>> Figure(name="Fourier", share=0.99, least=0.95).passed
    True
    """

    name: str
    share: float
    least: float = 0.0
    most: float = 1.0

    @property
    def passed(self) -> bool:
        """Whether the share is where it must be."""
        return self.least <= self.share <= self.most

    @property
    def expected(self) -> str:
        """Where it must be, in words."""
        return f"at least {self.least:g}" if self.least else f"at most {self.most:.2g}"

    def to_json(self) -> dict[str, Any]:
        """Return all of it in types that JSON knows."""
        return {**asdict(self), "passed": self.passed}


def figures(*, long: bool) -> Iterator[Figure]:
    """Make the attacks."""
    yield from _bits(2000 if long else 500)
    yield from _traced("averages", 2500, lambda rows: rows)
    yield from _traced("tables of 70 traits and their pairs", 70, tracing.marginals)
    yield _seven()


def _bits(people: int) -> Iterator[Figure]:
    """Attack exact counts, and counts with noise of a tenth of a root."""
    coins = KeyedEntropy(key=bytes(32), label="figures of reconstruction")
    bits = fair_bits(_PEOPLE, entropy=coins)
    exact = recovered(bits, fourier.attack(holding(bits), people=_PEOPLE))
    yield Figure(name=f"Fourier attack, {_PEOPLE} people, exact counts", share=exact, least=1.0)
    noisy = with_noise(bits, deviation=sqrt(_PEOPLE) / 10, entropy=coins)
    share = recovered(bits, fourier.attack(noisy, people=_PEOPLE))
    yield Figure(
        name=f"Fourier attack, {_PEOPLE} people, noise of √n / 10", share=share, least=_ENOUGH
    )
    bits = fair_bits(people, entropy=coins)
    noisy = with_noise(bits, deviation=sqrt(people) / 10, entropy=coins)
    for name, squares in (("linear program", False), ("least squares", True)):
        guess = linear.attack(
            noisy, people=people, questions=4 * people, squares=squares, entropy=coins
        )
        yield Figure(
            name=f"{name}, {people} people, noise of √n / 10",
            share=recovered(bits, guess),
            least=_ENOUGH,
        )


def _traced(published: str, traits: int, columns: Callable[[Rows], Rows]) -> Iterator[Figure]:
    """Trace members of a study of 100 people by what is published about some 2,500 columns."""
    coins = KeyedEntropy(key=bytes(32), label="figures of tracing")
    count = 100
    rates = np.full(traits, 0.5)
    members = tracing.people(count, rates, entropy=coins)
    strangers = tracing.people(2000, rates, entropy=coins)
    sums = columns(members).sum(axis=0, dtype=np.int64)
    private = Laplace(scale=len(sums)).run(sums)  # one person moves every sum by at most 1
    for name, totals, limits in (
        (f"exact {published}", sums, {"least": _ENOUGH}),
        (f"{published} at epsilon 1", private, {"most": 10 * exp(1) * _ALARMS}),
    ):
        traced = tracing.trace(
            totals / count, rates, members=members, strangers=strangers, alarms=_ALARMS
        )
        yield Figure(name=f"tracing of members, {name}", share=traced.share, **limits)


def _seven() -> Figure:
    """Name all seven people of a published block."""
    tables = census.reconstruct(census.SEVEN_PEOPLE, census.SEVEN_TRAITS)
    share = float(len(tables) == 1)
    return Figure(name="block of seven people from its exact tables", share=share, least=1.0)
