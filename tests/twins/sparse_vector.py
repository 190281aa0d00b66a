"""The exact check of the sparse vector technique: all neighbors, all outcomes, the largest ratio.

The variants themselves, private and broken, are in ``tests.audit.sparse_vector``.
"""

import functools
import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.certified import log
from discreet.exact import Interval, float_down, float_up

ZERO = Interval(Fraction(0), Fraction(0))


class Witness(NamedTuple):
    """Two neighbors and an outcome, and an enclosure of the logarithm of the ratio."""

    stream: tuple[int, ...]
    neighbor: tuple[int, ...]
    outcome: tuple[Any, ...]
    at_least: float
    at_most: float


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
