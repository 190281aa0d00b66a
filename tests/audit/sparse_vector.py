"""The six published variants of the sparse vector technique: exact laws, and draws.

Four of them may never protect anybody.

Lyu, Su and Li 2017, Understanding the Sparse Vector Technique, figure 1: two of the six are
private, four are not.  Each is its law on a stream, with threshold 0, sensitivity 1 and integer
noise; and a program that draws it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import Interval
from discreet.mechanisms.threshold_law import Comparison
from discreet.noise import DiscreteLaplace
from tests.audit.twins import Twin

_ZERO = Interval(Fraction(0), Fraction(0))
_ONE = Interval(Fraction(1), Fraction(1))
_REACH = 128
_NOT_ASKED = -1

Stream = Sequence[int]
Law = dict[Any, Interval]
Outcomes = NDArray[np.int64]
"""One row for each run: 1 above, 0 below, -1 after the end."""


class Variant(NamedTuple):
    """A published variant: its number, who published it, and what is wrong, if anything is."""

    number: int
    source: str
    fault: str | None
    law: Callable[..., Law]

    def __str__(self):
        return f"variant {self.number}: {self.source}"


@final
@dataclass(frozen=True)
class Nothing:
    """No noise at all."""

    def pmf_bounds(self, k, bits):
        """Return the chance of a value."""
        return _ONE if k == 0 else _ZERO

    def cdf_bounds(self, k, bits):
        """Return the chance of at most a value."""
        return _ONE if k >= 0 else _ZERO

    def survival_bounds(self, k, bits):
        """Return the chance of more than a value."""
        return _ONE if k < 0 else _ZERO


def _laplace(scale):
    return DiscreteLaplace(scale=Fraction(scale))


def _comparison(threshold_scale, query_noise, answers):
    return Comparison(
        threshold=0,
        answers=answers,
        threshold_noise=_laplace(threshold_scale),
        query_noise=query_noise,
    )


# --- laws ---------------------------------------------------------------------------------------


def _lyu_su_li(stream, *, epsilon=1, answers=1):
    half = Fraction(epsilon, 2)
    return dict(_comparison(1 / half, _laplace(2 * answers / half), answers).law(stream))


def _dwork_roth(stream, *, epsilon=1, answers=1):
    """A fresh noisy threshold after each above: a product over the segments."""
    half = Fraction(epsilon, 2)
    segment = _comparison(answers / half, _laplace(2 * answers / half), 1)
    chances = {}
    for pattern in _comparison(1, _laplace(1), answers).patterns(len(stream)):
        chance, start = _ONE, 0
        ends = [place + 1 for place, above in enumerate(pattern) if above]
        for end in dict.fromkeys([*ends, len(pattern)]):
            part = segment.chance(pattern[start:end], stream[start:end])
            chance = Interval(chance.low * part.low, chance.high * part.high)
            start = end
        chances[pattern] = chance
    return chances


def _roth(stream, *, epsilon=1, window=range(-2, 3)):
    """Release q + nu of the comparison itself, and halt.

    The chance of (below, ..., below, v) is a sum over thresholds t <= v, enclosed with a remainder
    for t < -reach, where belows are as likely as at -reach at most.
    """
    half = Fraction(epsilon, 2)
    rho, nu = _laplace(1 / half), _laplace(1 / half)
    chances = {}
    for length, v in product(range(len(stream)), window):
        low = high = Fraction(0)
        for t in range(-_REACH, v + 1):
            factors = [nu.cdf_bounds(t - q - 1, 128) for q in stream[:length]]
            mass = rho.pmf_bounds(t, 128)
            low += mass.low * math.prod((factor.low for factor in factors), start=Fraction(1))
            high += mass.high * math.prod((factor.high for factor in factors), start=Fraction(1))
        far = [nu.cdf_bounds(-_REACH - q - 1, 128).high for q in stream[:length]]
        high += rho.cdf_bounds(-_REACH - 1, 128).high * math.prod(far, start=Fraction(1))
        last = nu.pmf_bounds(v - stream[length], 128)
        chances[(None,) * length + (v,)] = Interval(low * last.low, high * last.high)
    return chances


def _lee_clifton(stream, *, epsilon=1, answers=1):
    first, second = Fraction(epsilon, 4), Fraction(3 * epsilon, 4)
    return dict(_comparison(1 / first, _laplace(1 / second), answers).law(stream))


def _stoddard(stream, *, epsilon=1, answers=1):
    return dict(_comparison(1 / Fraction(epsilon, 2), Nothing(), len(stream)).law(stream))


def _chen(stream, *, epsilon=1, answers=1):
    half = Fraction(epsilon, 2)
    return dict(_comparison(1 / half, _laplace(1 / half), len(stream)).law(stream))


VARIANTS = (
    Variant(1, "Lyu, Su and Li 2017", None, _lyu_su_li),
    Variant(2, "Dwork and Roth 2014", None, _dwork_roth),
    Variant(3, "Roth 2011", "the noise of the comparison is released", _roth),
    Variant(4, "Lee and Clifton 2014", "query noise does not grow with the answers", _lee_clifton),
    Variant(5, "Stoddard and others 2014", "queries have no noise", _stoddard),
    Variant(6, "Chen and others 2015", "the number of answers has no end", _chen),
)
PRIVATE = tuple(variant for variant in VARIANTS if variant.fault is None)
BROKEN = tuple(variant for variant in VARIANTS if variant.fault is not None)


# --- draws --------------------------------------------------------------------------------------


def _compared(stream, n, entropy, *, threshold, query):
    """Return noisy answers, and whether each is at or above the noisy threshold of its run."""
    level = threshold.sample(n, entropy)[:, None]
    noisy = np.tile(np.asarray(stream, np.int64), (n, 1))
    if query is not None:
        noisy = noisy + query.sample(noisy.size, entropy).reshape(noisy.shape)
    return noisy, noisy >= level


def _until(above, answers):
    """Say above and below until enough were above."""
    before = np.cumsum(above, axis=1) - above
    return np.where(before >= answers, _NOT_ASKED, above.astype(np.int64))


def _draw_three(stream, n, entropy):
    """Release the noisy answer itself where the first is above, and where that was."""
    noisy, above = _compared(stream, n, entropy, threshold=_laplace(2), query=_laplace(2))
    first = np.where(above.any(axis=1), above.argmax(axis=1), len(stream))
    value = noisy[np.arange(n), np.minimum(first, len(stream) - 1)]
    return np.stack([first, np.where(first < len(stream), value, 0)], axis=1)


def _draw_four(stream, n, entropy):
    query = _laplace(Fraction(4, 3))
    _, above = _compared(stream, n, entropy, threshold=_laplace(4), query=query)
    return _until(above, 5)


def _draw_five(stream, n, entropy):
    return _compared(stream, n, entropy, threshold=_laplace(2), query=None)[1].astype(np.int64)


def _draw_six(stream, n, entropy):
    answers = _compared(stream, n, entropy, threshold=_laplace(2), query=_laplace(2))
    return answers[1].astype(np.int64)


def _crossing(belows, aboves):
    return (0,) * belows + (1,) * aboves, (1,) * belows + (0,) * aboves


_DRAWN = {
    3: (_draw_three, _crossing(5, 1)),
    4: (_draw_four, _crossing(8, 8)),
    5: (_draw_five, _crossing(1, 1)),
    6: (_draw_six, _crossing(8, 8)),
}

TWINS = tuple(
    Twin(
        name=f"sparse vector, {variant.source}",
        fault=variant.fault or "",
        draw=draw,
        neighbors=pair,
    )
    for variant in BROKEN
    for draw, pair in (_DRAWN[variant.number],)
)
"""The broken ones, with neighbors that give them away."""
