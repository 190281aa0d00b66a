"""The six published variants of the sparse vector technique, and the exact check of them all.

Lyu, Su and Li 2017, figure 1: two of the six are private, four are not.  Each is its exact law on
a stream, with threshold 0, sensitivity 1 and integer noise.  ``worst`` looks at all neighbors and
all outcomes, and returns the pair and the outcome with the largest ratio, enclosed.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.certified import log
from discreet.exact import Interval, float_down, float_up
from discreet.mechanisms.threshold_law import Comparison
from discreet.noise import DiscreteLaplace

ZERO, ONE = Interval(Fraction(0), Fraction(0)), Interval(Fraction(1), Fraction(1))


class Witness(NamedTuple):
    """Two neighbors and an outcome, and an enclosure of the logarithm of the ratio."""

    stream: tuple[int, ...]
    neighbor: tuple[int, ...]
    outcome: tuple[Any, ...]
    at_least: float
    at_most: float


class Variant(NamedTuple):
    number: int
    source: str
    fault: str | None
    law: Callable[..., dict]

    def __str__(self):
        return f"variant {self.number}: {self.source}"


def neighbors(length, values, *, monotone=False):
    """Yield all ordered pairs of streams that differ by at most one in each place."""
    for stream in itertools.product(values, repeat=length):
        for neighbor in itertools.product(values, repeat=length):
            moves = {there - here for here, there in zip(stream, neighbor, strict=True)}
            if moves <= {-1, 0, 1} and not (monotone and moves >= {-1, 1}):
                yield stream, neighbor


def worst(law, pairs):
    """Return the witness with the largest ratio P[outcome | stream] / P[outcome | neighbor].

    Its enclosure holds for the whole set of pairs: no ratio is above ``at_most``.
    """
    known = functools.cache(law)
    best, ceiling = (Fraction(-1), None), Fraction(0)
    for stream, neighbor in pairs:
        here, there = known(stream), known(neighbor)
        for outcome in here.keys() | there.keys():
            p, q = here.get(outcome, ZERO), there.get(outcome, ZERO)
            low = p.low / q.high if q.high else (math.inf if p.low else 0)
            high = p.high / q.low if q.low else (math.inf if p.high else 0)
            ceiling = max(ceiling, high)
            if low > best[0]:
                best = low, (stream, neighbor, outcome)
    return Witness(*best[1], _log(best[0])[0], _log(ceiling)[1])


def _log(ratio):
    if ratio == math.inf:
        return math.inf, math.inf
    low, high = log(Fraction(ratio), 64)
    return float_down(Fraction(low, 1 << 64)), float_up(Fraction(high, 1 << 64))


@dataclass(frozen=True)
class Nothing:
    """No noise at all."""

    def pmf_bounds(self, k, bits):
        return ONE if k == 0 else ZERO

    def cdf_bounds(self, k, bits):
        return ONE if k >= 0 else ZERO

    def survival_bounds(self, k, bits):
        return ONE if k < 0 else ZERO


def laplace(scale):
    return DiscreteLaplace(scale=Fraction(scale))


def comparison(threshold_scale, query_noise, answers):
    return Comparison(
        threshold=0,
        answers=answers,
        threshold_noise=laplace(threshold_scale),
        query_noise=query_noise,
    )


def lyu_su_li(stream, *, epsilon=1, answers=1):
    half = Fraction(epsilon, 2)
    return comparison(1 / half, laplace(2 * answers / half), answers).law(stream)


def dwork_roth(stream, *, epsilon=1, answers=1):
    """A fresh noisy threshold after each above: a product over the segments."""
    half = Fraction(epsilon, 2)
    segment = comparison(answers / half, laplace(2 * answers / half), 1)
    chances = {}
    for pattern in comparison(1, laplace(1), answers).patterns(len(stream)):
        chance, start = ONE, 0
        ends = [at + 1 for at, above in enumerate(pattern) if above]
        for end in dict.fromkeys([*ends, len(pattern)]):
            part = segment.chance(pattern[start:end], stream[start:end])
            chance = Interval(chance.low * part.low, chance.high * part.high)
            start = end
        chances[pattern] = chance
    return chances


def roth(stream, *, epsilon=1, window=range(-2, 3)):
    """Release q + nu of the comparison itself, and halt.

    The chance of (below, ..., below, v) is a sum over thresholds t <= v, enclosed with a remainder
    for t < -reach, where belows are as likely as at -reach at most.
    """
    half = Fraction(epsilon, 2)
    rho, nu = laplace(1 / half), laplace(1 / half)
    reach = 128
    chances = {}
    for length, v in itertools.product(range(len(stream)), window):
        low = high = Fraction(0)
        for t in range(-reach, v + 1):
            factors = [nu.cdf_bounds(t - q - 1, 128) for q in stream[:length]]
            mass = rho.pmf_bounds(t, 128)
            low += mass.low * math.prod(factor.low for factor in factors)
            high += mass.high * math.prod(factor.high for factor in factors)
        high += rho.cdf_bounds(-reach - 1, 128).high * math.prod(
            nu.cdf_bounds(-reach - q - 1, 128).high for q in stream[:length]
        )
        last = nu.pmf_bounds(v - stream[length], 128)
        chances[(None,) * length + (v,)] = Interval(low * last.low, high * last.high)
    return chances


def lee_clifton(stream, *, epsilon=1, answers=1):
    first, second = Fraction(epsilon, 4), Fraction(3 * epsilon, 4)
    return comparison(1 / first, laplace(1 / second), answers).law(stream)


def stoddard(stream, *, epsilon=1, answers=1):
    return comparison(1 / Fraction(epsilon, 2), Nothing(), len(stream)).law(stream)


def chen(stream, *, epsilon=1, answers=1):
    half = Fraction(epsilon, 2)
    return comparison(1 / half, laplace(1 / half), len(stream)).law(stream)


VARIANTS = [
    Variant(1, "Lyu, Su and Li 2017", None, lyu_su_li),
    Variant(2, "Dwork and Roth 2014", None, dwork_roth),
    Variant(3, "Roth 2011", "the noise of the comparison is released", roth),
    Variant(4, "Lee and Clifton 2014", "query noise does not grow with the answers", lee_clifton),
    Variant(5, "Stoddard and others 2014", "queries have no noise", stoddard),
    Variant(6, "Chen and others 2015", "the number of answers has no end", chen),
]
PRIVATE = [variant for variant in VARIANTS if variant.fault is None]
BROKEN = [variant for variant in VARIANTS if variant.fault is not None]
