"""The exact law of comparing a stream of values with one noisy threshold.

Trust: public.  Tests, audits and the gallery stand on it; no release does.

Definition.  Let rho and nu_1, nu_2, ... be independent integers.  Value v_i is *above* where
v_i + nu_i >= threshold + rho, and the stream ends with the c-th value above.  Given rho = t the
comparisons are independent, so a pattern of belows and aboves has the chance

    sum over t of  P[rho = t] * product over belows of P[nu <  threshold + t - v_i]
                              * product over aboves of P[nu >= threshold + t - v_i].

Theorem (key ``threshold-law``).  ``chance`` encloses that sum.  Terms up to a reach r on both sides
are summed in fixed point, rounded both ways.  In t > r the factor of an above falls with t, so the
rest is at most P[rho > r] times the factors of the aboves at r + 1; in t < -r the factor of a below
rises with t, so the rest is at most P[rho < -r] times the factors of the belows at -r - 1.  In
particular an impossible pattern has the chance zero, exactly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, TypeAlias, final

from discreet.arrays import listed
from discreet.errors import OutOfRange
from discreet.exact import Interval, fixed_down, fixed_up, whole

__all__ = ["Comparison", "Law", "Pattern", "stream"]

Pattern: TypeAlias = tuple[bool, ...]
"""The answers of a run: False for below, True for above."""

Enclosure: TypeAlias = tuple[int, int]

BITS: Final = 128
_PLACES: Final = 2 * BITS
_MOST_PATTERNS: Final = 1 << 12
_LONGEST_REACH: Final = 1 << 16


class Law(Protocol):
    """What is needed of the noise: enclosed probabilities, and how far to look."""

    def __hash__(self) -> int:
        """Let tables be kept by law."""
        ...

    def pmf_bounds(self, k: int, bits: int) -> Interval:
        """Enclose P[Z = k]."""
        ...

    def cdf_bounds(self, k: int, bits: int) -> Interval:
        """Enclose P[Z <= k]."""
        ...

    def survival_bounds(self, k: int, bits: int) -> Interval:
        """Enclose P[Z > k]."""
        ...

    def quantile(self, p: Fraction) -> int:
        """Return the smallest k with P[Z <= k] >= p."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A threshold, the noises on both sides of it, and how many aboves end the stream.

    >>> from discreet.noise import DiscreteLaplace
    >>> narrow, wide = DiscreteLaplace(scale=2), DiscreteLaplace(scale=4)
    >>> coin = Comparison(threshold=0, answers=1, threshold_noise=narrow, query_noise=wide)
    >>> {pattern: round(chance.nearest(), 4) for pattern, chance in coin.law([0, 1]).items()}
    {(False, False): 0.2117, (False, True): 0.2458, (True,): 0.5425}
    """

    threshold: int
    answers: int
    threshold_noise: Law
    query_noise: Law

    def patterns(self, count: int) -> Iterator[Pattern]:
        """Yield every pattern that ``count`` values can lead to: sum of C(count, j), j <= c."""
        return _patterns((), count, self.answers)

    def law(self, values: Sequence[int]) -> dict[Pattern, Interval]:
        """Enclose the chance of every pattern."""
        numbers = stream(values)
        count = sum(math.comb(len(numbers), j) for j in range(self.answers + 1))
        if count > _MOST_PATTERNS:
            raise OutOfRange(
                what=f"a stream of {len(numbers)} values has {count} outcomes.",
                why=f"an exact law is worked out for at most {_MOST_PATTERNS} of them.",
                do="give a shorter stream, or ask for the chance of one outcome.",
            )
        return {pattern: self.chance(pattern, numbers) for pattern in self.patterns(len(numbers))}

    def chance(self, pattern: Pattern, values: Sequence[int]) -> Interval:
        """Enclose the chance of one pattern on a stream of values."""
        reach = _reach(self.threshold_noise)
        low = high = 0
        for t in range(-reach, reach + 1):
            term = _product(_mass(self.threshold_noise, t), self._factors(pattern, values, t))
            low, high = low + term[0], high + term[1]
        beyond = _beyond(self.threshold_noise, reach)
        for t, outcome in ((reach + 1, True), (-reach - 1, False)):
            matching = [at for at, above in enumerate(pattern) if above == outcome]
            factors = self._factors(
                tuple(outcome for _ in matching), [values[at] for at in matching], t
            )
            high += _product((0, beyond), factors)[1]
        one = 1 << _PLACES
        return Interval(Fraction(low, one), Fraction(min(high, one), one))

    def _factors(self, pattern: Pattern, values: Sequence[int], t: int) -> Iterator[Enclosure]:
        """Yield the chance of each answer, given rho = t."""
        gap = self.threshold + t
        return (
            _sides(self.query_noise, gap - value)[above]
            for above, value in zip(pattern, values, strict=False)
        )


def stream(values: object) -> tuple[int, ...]:
    """Read a stream of integers.

    >>> stream([3, 4])
    (3, 4)
    """
    return tuple(whole(value, name="each value") for value in listed(values, name="values"))


def _patterns(start: Pattern, count: int, answers: int) -> Iterator[Pattern]:
    if len(start) == count or sum(start) == answers:
        yield start
        return
    for above in (False, True):
        yield from _patterns((*start, above), count, answers)


def _product(start: Enclosure, factors: Iterator[Enclosure]) -> Enclosure:
    """Multiply enclosures at scale 2**_PLACES, rounding outward."""
    low, high = start
    for factor in factors:
        low = low * factor[0] >> _PLACES
        high = -(-high * factor[1] >> _PLACES)
    return low, high


@functools.lru_cache(maxsize=64)
def _reach(law: Law) -> int:
    reach = law.quantile(1 - Fraction(1, 1 << BITS))
    if reach > _LONGEST_REACH:
        raise OutOfRange(
            what="the noise is too wide for an exact law.",
            why="the law is a sum over the noise of the threshold, term by term.",
            do="look at the law at a larger epsilon.",
        )
    return reach


@functools.lru_cache(maxsize=1 << 14)
def _mass(law: Law, k: int) -> Enclosure:
    return _fixed(law.pmf_bounds(k, BITS))


@functools.lru_cache(maxsize=1 << 14)
def _sides(law: Law, k: int) -> tuple[Enclosure, Enclosure]:
    """Enclose P[Z < k] and P[Z >= k]."""
    return _fixed(law.cdf_bounds(k - 1, BITS)), _fixed(law.survival_bounds(k - 1, BITS))


@functools.lru_cache(maxsize=64)
def _beyond(law: Law, reach: int) -> int:
    """Bound P[Z > reach] and P[Z < -reach]."""
    right = law.survival_bounds(reach, BITS).high
    left = law.cdf_bounds(-reach - 1, BITS).high
    return fixed_up(max(left, right), fraction_bits=_PLACES)


def _fixed(chance: Interval) -> Enclosure:
    low = fixed_down(chance.low, fraction_bits=_PLACES)
    return low, fixed_up(chance.high, fraction_bits=_PLACES)
