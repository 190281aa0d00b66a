"""How far a noisy comparison can be wrong.

Trust: public.  A bug here misstates an error bar; it costs no privacy.

Definition.  A run is *right within alpha* when every value answered above is at least
threshold - alpha and every value answered below is at most threshold + alpha.
Theorem (key ``threshold-accuracy``).  With k queries, chosen adaptively or not, a run is right
within alpha with a chance of at least

    sum over t of  P[rho = t] * P[t - alpha - 1 <= nu <= t + alpha]**k.

Proof.  A value below threshold - alpha is answered above only where nu - rho > alpha, and one above
threshold + alpha is answered below only where nu - rho < -alpha - 1.  The sum is the chance that
no nu_i - rho does either, an event about the noise alone, whatever was asked.

The sum is enclosed over blocks of t: the factor falls with |t - 1/2|, because an interval of fixed
length loses mass as it moves away from the center of a symmetric unimodal law.  Blocks have one
element up to scale 128, and the result is the smallest alpha; beyond, it is safe and at most
scale/128 (rounded up) above the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.exact import fixed_down, fixed_up
from discreet.noise import DiscreteLaplace

__all__ = ["Accuracy"]

_BLOCKS: Final = 128
_BITS: Final = 64


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
        outside, inside = self._bracket(confidence)
        while inside - outside > 1:
            middle = (inside + outside) // 2
            if self._holds(middle, confidence):
                inside = middle
            else:
                outside = middle
        return inside

    def _bracket(self, confidence: Fraction) -> tuple[int, int]:
        """Return an alpha that does not hold and one that does, near a first guess."""
        start = self.query_noise.quantile(1 - (1 - confidence) / (2 * self.queries))
        step = 1 + start // 16
        if self._holds(start, confidence):
            while start >= step and self._holds(start - step, confidence):
                start, step = start - step, 2 * step
            return max(start - step, -1), start
        while not self._holds(start + step, confidence):
            start, step = start + step, 2 * step
        return start, start + step

    def _holds(self, alpha: int, confidence: Fraction) -> bool:
        """Decide whether alpha holds; where the finest blocks blur the answer, say no."""
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
        """Enclose the chance, leaving out at most ``depth`` of the noise of the threshold."""
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
        """Enclose the chance that all numeric answers are within alpha."""
        if self.answer_noise is None:
            return 1 << bits, 1 << bits
        tail = self.answer_noise.survival_bounds(alpha, bits)
        return _power((1 - 2 * tail.high, 1 - 2 * tail.low), self.answers, bits)


def _power(inside: tuple[Fraction, Fraction], exponent: int, bits: int) -> tuple[int, int]:
    """Enclose the power of an enclosed probability, rounding outward at scale 2**bits."""
    places = 2 * bits + exponent.bit_length()
    low, high = 1 << places, 1 << places
    base_low = fixed_down(max(inside[0], Fraction(0)), fraction_bits=places)
    base_high = min(fixed_up(max(inside[1], Fraction(0)), fraction_bits=places), 1 << places)
    for digit in f"{exponent:b}":
        low, high = low * low >> places, -(-high * high >> places)
        if digit == "1":
            low, high = low * base_low >> places, -(-high * base_high >> places)
    return low >> (places - bits), -(-high >> (places - bits))
