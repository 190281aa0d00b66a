"""A14: are candidates chosen with the right weights where weights underflow?

Trust: public.  Ilvento 2020, Implementing the Exponential Mechanism with Base-2 Differential
Privacy.

Scores lie a thousand apart, so weights reach from 1 to far below the smallest float.  The words
that the samplers could draw are followed, all of them up to an unexplored chance below 2**-41, and
the law that comes out is compared with weights that are computed here, as rationals from the series
of the exponential: at most 2**-40 of total variation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

from discreet.noise import exact_law, exponential_weights, permute_and_flip
from discreet.noise.bernoulli import CoinSizes
from discreet_audit.findings import Finding

_SIZES: Final = CoinSizes(word_bits=3, step_bits=3)
_RUNS: Final = 20_000
_PAIR: Final = 2
_UNEXPLORED: Final = Fraction(1, 1 << 42)
_BOUND: Final = Fraction(1, 1 << 40)
_CASES: Final = (
    ((1000, -1000, 999), Fraction(1)),
    ((-1000, -1000, 1000), Fraction(1, 2)),
    ((1000, 1000, 1000), Fraction(3)),
    ((1000, 999, 998, -1000), Fraction(1, 3)),
    ((0, 1000), Fraction(1, 1000)),
    ((-1000, 1000), Fraction(1, 100)),
)
_LONG: Final = (
    ((1000, 900, 800, 700, 600, -1000), Fraction(1, 100)),
    ((10**6, 0), Fraction(1, 10**6)),
    ((2**62, -(2**62) + 1), Fraction(1)),
)


def attack(*, quick: bool) -> Finding:
    """Follow all words of both samplers, and compare laws."""
    cases = _CASES if quick else (*_CASES, *_LONG)
    distances: dict[str, Fraction] = {}
    for scores, rate in cases:
        weights = [_exp(rate * (score - max(scores))) for score in scores]
        named = f"{scores} at {rate}"
        law = exponential_law(weights)
        distances[f"weights of {named}"] = variation(exponential_weights, scores, rate, law)
        if len(scores) == _PAIR:  # more coins have too many words to follow
            law = flip_law(weights)
            distances[f"flips of {named}"] = variation(permute_and_flip, scores, rate, law)
    worst = max(distances, key=lambda name: distances[name])
    return Finding(
        claimed="total variation from exact rational chances at most 2**-40",
        measured=f"{len(distances)} selections: at most {float(distances[worst]):.3g} "
        f"(2**-40 is {float(_BOUND):.3g})",
        passed=distances[worst] <= _BOUND,
        numbers={"selections": len(distances), "largest_variation": float(distances[worst])},
        not_covered="long lists of candidates, and more than two that flip coins; the widths of "
        "words that real draws use",
    )


def variation(
    sampler: Callable[..., int], scores: Sequence[int], rate: Fraction, law: Sequence[Fraction]
) -> Fraction:
    """Return how far a sampler is from a law, at most, with what was not explored."""
    exact = exact_law(
        lambda entropy: sampler(scores=scores, rate=rate, entropy=entropy, sizes=_SIZES),
        unexplored=_UNEXPLORED,
        max_runs=_RUNS,
    )
    gaps = (abs(exact.mass.get(place, Fraction(0)) - chance) for place, chance in enumerate(law))
    return (sum(gaps, Fraction(0)) + exact.unexplored) / 2


def exponential_law(weights: Sequence[Fraction]) -> list[Fraction]:
    """Return chances in proportion to weights.

    >>> exponential_law([Fraction(1), Fraction(3)])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def flip_law(weights: Sequence[Fraction]) -> list[Fraction]:
    """Return the chances of permute-and-flip, by all sets of the others that show heads.

    >>> flip_law([Fraction(1), Fraction(1, 2)])
    [Fraction(3, 4), Fraction(1, 4)]
    """
    places = range(len(weights))
    chances: list[Fraction] = []
    for winner in places:
        others = [place for place in places if place != winner]
        chance = Fraction(0)
        for size in range(len(others) + 1):
            for heads in combinations(others, size):
                part = weights[winner]
                for place in others:
                    part *= weights[place] if place in heads else 1 - weights[place]
                chance += part / (size + 1)
        chances.append(chance)
    return chances


def _exp(x: Fraction) -> Fraction:
    """Return e**x for x <= 0 to within 2**-60, by its series; what is below that counts as 0.

    >>> float(_exp(Fraction(-1)))
    0.36787944117144233
    """
    if x < -60:
        return Fraction(0)
    halvings = 8
    small = x / 2**halvings
    term = total = Fraction(1)
    for power in range(1, 40):
        term = term * small / power
        total += term
    for _ in range(halvings):
        total = Fraction(round(total * total * (1 << 200)), 1 << 200)
    return total
