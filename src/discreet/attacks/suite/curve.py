"""The curve of reconstruction: how many bits are guessed, by how much noise there is.

Trust: public.

Noise is measured in roots of n, the number of people.  Far below 1 the attacks guess nearly all,
far above 1 they toss coins; a release at price epsilon is far above, and its share is below
e^epsilon / (1 + e^epsilon) whatever the attack (key ``reconstruction-ceiling``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, Final, final

from discreet.attacks.reconstruction import ceiling, fourier, linear, recovered, with_noise
from discreet.attacks.suite.releases import fair_bits
from discreet.loss import Pure
from discreet.mechanisms import Laplace
from discreet.noise import KeyedEntropy

__all__ = ["NOISES", "Point", "curve"]

NOISES: Final = tuple(round(10 ** (k / 6), 4) for k in range(-9, 10))
"""From 3 % of a root to 30 roots."""

_PEOPLE: Final = 2048
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
    for people, attack in ((_PEOPLE, "Fourier"), (_FEWER, "linear program")):
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
    bits = fair_bits(_PEOPLE, entropy=coins)
    sets = fourier.questions(_PEOPLE)
    for epsilon in _PRICES:
        scale = _PEOPLE // epsilon
        counts = sets.astype("int64") @ bits
        answers = Laplace(scale=scale).run(counts, entropy=coins).astype("float64")
        guess = fourier.guess(answers, people=_PEOPLE)
        yield Point(
            attack=f"release, epsilon {epsilon}",
            noise=sqrt(2) * scale / sqrt(_PEOPLE),
            share=recovered(bits, guess),
            ceiling=ceiling(Pure(epsilon=epsilon)),
        )
