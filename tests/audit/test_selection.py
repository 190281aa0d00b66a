"""Are candidates chosen with the right weights where weights underflow?

Ilvento 2020, Implementing the Exponential Mechanism with Base-2 Differential
Privacy.

Scores lie a thousand apart, so weights reach from 1 to far below the smallest float.  The words
that the samplers could draw are followed, all of them up to an unexplored chance below 2**-41, and
the law that comes out is compared with weights that are computed here, as rationals from the series
of the exponential: at most 2**-40 of total variation.
"""

from fractions import Fraction
from itertools import combinations

from discreet.attacks import exact_law
from discreet.noise import exponential_weights
from discreet.noise.bernoulli import CoinSizes
from discreet_course.permute_and_flip import permute_and_flip

_SIZES = CoinSizes(word_bits=3, step_bits=3)
_RUNS = 20_000
_PAIR = 2
_UNEXPLORED = Fraction(1, 1 << 42)
_BOUND = Fraction(1, 1 << 40)
_CASES = (
    ((1000, -1000, 999), Fraction(1)),
    ((-1000, -1000, 1000), Fraction(1, 2)),
    ((1000, 1000, 1000), Fraction(3)),
    ((1000, 999, 998, -1000), Fraction(1, 3)),
    ((0, 1000), Fraction(1, 1000)),
    ((-1000, 1000), Fraction(1, 100)),
)
_LONG = (
    ((1000, 900, 800, 700, 600, -1000), Fraction(1, 100)),
    ((10**6, 0), Fraction(1, 10**6)),
    ((2**62, -(2**62) + 1), Fraction(1)),
)


def test_candidates_are_chosen_with_exact_weights(found, quick):
    """Candidates are chosen with exact weights where weights underflow."""
    distances = {}
    for scores, rate in _CASES if quick else (*_CASES, *_LONG):
        weights = [_exp(rate * (score - max(scores))) for score in scores]
        law = exponential_law(weights)
        distances[scores, "weights"] = variation(exponential_weights, scores, rate, law)
        if len(scores) == _PAIR:  # more coins have too many words to follow
            law = flip_law(weights)
            distances[scores, "flips"] = variation(permute_and_flip, scores, rate, law)
    found.attack(
        f"{len(distances)} selections, total variation at most "
        f"{float(max(distances.values())):.2g}",
        [name for name, distance in distances.items() if distance > _BOUND],
        not_covered="long lists of candidates",
    )


def variation(sampler, scores, rate, law):
    """Return how far a sampler is from a law, at most, with what was not explored."""
    exact = exact_law(
        lambda entropy: sampler(scores=scores, rate=rate, entropy=entropy, sizes=_SIZES),
        unexplored=_UNEXPLORED,
        max_runs=_RUNS,
    )
    gaps = (abs(exact.mass.get(place, Fraction(0)) - chance) for place, chance in enumerate(law))
    return (sum(gaps, Fraction(0)) + exact.unexplored) / 2


def exponential_law(weights):
    """Return chances in proportion to weights.

    >>> exponential_law([Fraction(1), Fraction(3)])
    [Fraction(1, 4), Fraction(3, 4)]
    """
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def flip_law(weights):
    """Return the chances of permute-and-flip, by all sets of the others that show heads.

    >>> flip_law([Fraction(1), Fraction(1, 2)])
    [Fraction(3, 4), Fraction(1, 4)]
    """
    places = range(len(weights))
    chances = []
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


def _exp(x):
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
