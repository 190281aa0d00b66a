"""Noisy comparisons with a threshold: their exact distribution, and how far they can be wrong.

Trust: public.  No release rests on it: a bug misstates an error bar, or misleads a test, an audit
or a figure of the gallery.  Proofs are in docs/proofs/mechanisms.md.

Definition.  Let rho and nu_1, nu_2, ... be independent integers.  Value v_i is *above* if
v_i + nu_i >= threshold + rho, and the stream ends with the c-th value above.  Given rho = t the
comparisons are independent, so a pattern of belows and aboves has the probability

    sum over t of  P[rho = t] * product over belows of P[nu <  threshold + t - v_i]
                              * product over aboves of P[nu >= threshold + t - v_i].

Theorem (key ``threshold-law``).  ``chance`` encloses that sum, up to a reach on both sides in fixed
point, and beyond by the tails of rho.  An impossible pattern has the probability zero, exactly.

Definition.  A run is *right within alpha* if every value answered above is at least
threshold - alpha and every value answered below is at most threshold + alpha.
Theorem (key ``threshold-accuracy``).  With k queries, chosen adaptively or not, a run is right
within alpha with a probability of at least

    sum over t of  P[rho = t] * P[t - alpha - 1 <= nu <= t + alpha]**k.

The sum is enclosed over blocks of t.  Blocks have one element up to scale 128, and the result is
the smallest alpha; beyond, it is safe and at most scale/128 (rounded up) above the smallest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

from discreet.arrays import listed
from discreet.errors import OutOfRange
from discreet.exact import Interval, whole
from discreet.mechanisms.mechanism import enclosed_power
from discreet.noise import DiscreteLaplace, Distribution
from discreet.noise.distribution import first_true

Pattern: TypeAlias = tuple[bool, ...]
"""The answers of a run: False for below, True for above."""

Enclosure: TypeAlias = tuple[int, int]

BITS: Final = 128
_PLACES: Final = 2 * BITS
_MOST_PATTERNS: Final = 1 << 12  # outcomes that are listed
_LONGEST_REACH: Final = 1 << 16  # terms of the sum over rho


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
    threshold_noise: Distribution
    query_noise: Distribution

    def patterns(self, count: int, start: Pattern = ()) -> Iterator[Pattern]:
        """Yield every pattern that ``count`` values can lead to: sum of C(count, j), j <= c."""
        if len(start) == count or sum(start) == self.answers:
            yield start
            return
        for above in (False, True):
            yield from self.patterns(count, (*start, above))

    def law(self, values: Sequence[int]) -> dict[Pattern, Interval]:
        numbers = stream(values)
        count = sum(math.comb(len(numbers), j) for j in range(self.answers + 1))
        if count > _MOST_PATTERNS:
            raise OutOfRange(f"the stream has {count} outcomes; give a shorter stream.")
        return {pattern: self.chance(pattern, numbers) for pattern in self.patterns(len(numbers))}

    def chance(self, pattern: Pattern, values: Sequence[int]) -> Interval:
        """Enclose the probability of one pattern on a stream of values."""
        reach = _reach(self.threshold_noise)
        low = high = 0
        for t in range(-reach, reach + 1):
            term = _product(_mass(self.threshold_noise, t), self._factors(pattern, values, t))
            low, high = low + term[0], high + term[1]
        beyond = _beyond(self.threshold_noise, reach)
        for t, outcome in ((reach + 1, True), (-reach - 1, False)):
            matching = [index for index, above in enumerate(pattern) if above == outcome]
            factors = self._factors(
                tuple(outcome for _ in matching), [values[index] for index in matching], t
            )
            high += _product((0, beyond), factors)[1]
        one = 1 << _PLACES
        return Interval(Fraction(low, one), Fraction(min(high, one), one))

    def _factors(self, pattern: Pattern, values: Sequence[int], t: int) -> Iterator[Enclosure]:
        """Yield the probability of each answer, given rho = t."""
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


def _product(start: Enclosure, factors: Iterator[Enclosure]) -> Enclosure:
    """Multiply enclosures at scale 2**_PLACES, rounding outward."""
    low, high = start
    for factor in factors:
        low = low * factor[0] >> _PLACES
        high = -(-high * factor[1] >> _PLACES)
    return low, high


@functools.lru_cache(maxsize=64)
def _reach(law: Distribution) -> int:
    reach = law.quantile(1 - Fraction(1, 1 << BITS))
    if reach > _LONGEST_REACH:
        raise OutOfRange("the noise is too wide for an exact distribution; use a larger epsilon.")
    return reach


@functools.lru_cache(maxsize=1 << 14)
def _mass(law: Distribution, k: int) -> Enclosure:
    return _fixed(law.pmf_bounds(k, BITS))


@functools.lru_cache(maxsize=1 << 14)
def _sides(law: Distribution, k: int) -> tuple[Enclosure, Enclosure]:
    return _fixed(law.cdf_bounds(k - 1, BITS)), _fixed(law.survival_bounds(k - 1, BITS))


@functools.lru_cache(maxsize=64)
def _beyond(law: Distribution, reach: int) -> int:
    right = law.survival_bounds(reach, BITS).high
    left = law.cdf_bounds(-reach - 1, BITS).high
    return math.ceil(max(left, right) * (1 << _PLACES))


def _fixed(chance: Interval) -> Enclosure:
    one = 1 << _PLACES
    return math.floor(chance.low * one), math.ceil(chance.high * one)


_BLOCKS: Final = 128  # of the noise of the threshold, in a scale
_BITS: Final = 64  # to begin with


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The noises of a run, the number of queries, and perhaps of numeric answers.

    >>> from discreet.noise import DiscreteLaplace
    >>> narrow, wide = DiscreteLaplace(scale=2), DiscreteLaplace(scale=4)
    >>> noises = Accuracy(threshold_noise=narrow, query_noise=wide, queries=100)
    >>> noises.smallest(Fraction(19, 20))
    31
    """

    threshold_noise: DiscreteLaplace
    query_noise: DiscreteLaplace
    queries: int
    answer_noise: DiscreteLaplace | None = None
    answers: int = 0

    def smallest(self, confidence: Fraction) -> int:
        """Return the smallest alpha that holds with this confidence (see above)."""
        start = self.query_noise.quantile(1 - (1 - confidence) / (2 * self.queries))
        return first_true(
            lambda alpha: self._holds(alpha, confidence), near=start, step=1 + start // 16
        )

    def _holds(self, alpha: int, confidence: Fraction) -> bool:
        """Decide whether alpha holds; if the finest blocks blur the answer, say no."""
        finest = -(-self.threshold_noise.scale // _BLOCKS)
        width, depth, bits = 16 * finest, (1 - confidence) / 64, _BITS
        while True:
            low, high = self._chance(alpha, width, depth, bits)
            if low >= confidence or high < confidence:
                return low >= confidence
            if width > finest:
                width //= 4
            elif width > 1:
                return False
            else:
                depth, bits = depth / (1 << bits), 2 * bits

    def _chance(
        self, alpha: int, width: int, depth: Fraction, bits: int
    ) -> tuple[Fraction, Fraction]:
        """Enclose the probability, leaving out at most ``depth`` of the noise of the threshold."""
        law, one = self.threshold_noise, 1 << bits
        blocks = -(-law.quantile(1 - depth / 2) // width) + 1
        beyond = [law.survival_bounds(width * j, bits) for j in range(blocks + 1)]
        within = [law.survival_bounds(width * j - 1, bits) for j in range(blocks + 1)]
        low = high = Fraction(0)
        near = self._factor(1, alpha, bits)[1]
        for j in range(blocks):  # t in (width*j, width*(j+1)], and its mirror image 1 - t
            tails = beyond[j], within[j], beyond[j + 1], within[j + 1]
            least = tails[0].low + tails[1].low - tails[2].high - tails[3].high
            most = tails[0].high + tails[1].high - tails[2].low - tails[3].low
            far = self._factor(width * (j + 1), alpha, bits)
            low += max(least, Fraction(0)) * far[0] / one
            high += most * (near if width > 1 else far[1]) / one
            near = far[1]
        high += beyond[-1].high + within[-1].high
        least_answers, most_answers = self._answers_within(alpha, bits)
        return low * least_answers / one, high * most_answers / one

    def _factor(self, t: int, alpha: int, bits: int) -> tuple[int, int]:
        """Enclose P[t - alpha - 1 <= nu <= t + alpha]**queries, for t >= 1, at scale 2**bits."""
        right = self.query_noise.survival_bounds(t + alpha, bits)
        left = self.query_noise.survival_bounds(alpha + 1 - t, bits)
        inside = 1 - right.high - left.high, 1 - right.low - left.low
        return _power(inside, self.queries, bits)

    def _answers_within(self, alpha: int, bits: int) -> tuple[int, int]:
        """Enclose the probability that all numeric answers are within alpha."""
        if self.answer_noise is None:
            return 1 << bits, 1 << bits
        tail = self.answer_noise.survival_bounds(alpha, bits)
        return _power((1 - 2 * tail.high, 1 - 2 * tail.low), self.answers, bits)


def _power(inside: tuple[Fraction, Fraction], exponent: int, bits: int) -> tuple[int, int]:
    """Enclose the power of an enclosed probability, rounding outward at scale 2**bits."""
    places = 2 * bits + exponent.bit_length()
    one = 1 << places
    base_low, base_high = max(0, math.floor(inside[0] * one)), max(0, math.ceil(inside[1] * one))
    low, high = enclosed_power(base_low, min(base_high, one), exponent, places)
    return low >> (places - bits), -(-high >> (places - bits))
