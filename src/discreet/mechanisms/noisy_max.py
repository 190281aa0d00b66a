"""Report noisy max: the winner under noise, and by how much it won.

Trust: kernel.

Definition.  Add two-sided geometric noise to every score: y_i = u_i + Z_i.  Candidate i wins if
y_i > y_j for all j before it and y_i >= y_j for all j after it.  Its gap is what it had to spare:
y_i - max_j (y_j + [j before i]).
Theorem (key ``noisy-max-gap``; after Ding, Wang, Zhang and Kifer 2019).  If no score moves by more
than d, releasing winner and gap together is epsilon-DP with epsilon = 2 d / scale, or d / scale if
the scores are monotone.  Proof.  Fix the noise of all candidates but i.  Winner i with gap g means
that Z_i equals g + m - u_i, where m = max_j (y_j + [j before i]) does not depend on Z_i.  Between
neighbors m and u_i move by at most d each (in one direction, if monotone), so the value that Z_i
must take moves by at most 2 d (or d), and its chance by a factor of at most exp(epsilon).
Breaking ties by position costs nothing: it is part of the maximum.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple, final

from discreet.exact import Interval
from discreet.loss import Pure
from discreet.mechanisms.candidates import ScoreChange, Scores, SelectionMechanism, integer_scores
from discreet.mechanisms.exact_quantiles import BITS, decide_at_most, enclosed_power, first_true
from discreet.mechanisms.mechanism import Number, at_confidence, steps_at
from discreet.noise import SYSTEM, DiscreteLaplace, Entropy


@final
class Winner(NamedTuple):
    """The candidate that won, and by how much.

    >>> Winner(candidate=2, gap=5).gap
    5
    """

    candidate: int
    gap: int


@final
@dataclass(frozen=True, slots=True, init=False)
class NoisyMax(SelectionMechanism[Winner]):
    """Select the candidate with the largest noisy score, and say by how much it won.

    >>> choose = NoisyMax(candidates=4, scale=2)
    >>> choose.loss(distance=1)
    Pure(epsilon=Fraction(1, 1))
    >>> choose.error(confidence=0.95)
    9
    >>> choose.run([3, 2, 10**6, -1]).candidate
    2
    """

    least_candidates = 2

    def __init__(
        self, *, candidates: int, scale: Number, change: ScoreChange | str = ScoreChange.GENERAL
    ) -> None:
        """Take how many candidates there are, two or more, the scale, and how scores move."""
        SelectionMechanism.__init__(self, candidates=candidates, scale=scale, change=change)
        self._law()  # refuses what it cannot draw

    def loss(self, *, distance: Number = 1) -> Pure:
        """Return the pure loss between scores that differ by at most this much each."""
        return Pure(epsilon=self._range(steps_at(distance)))

    def error(self, *, confidence: Number) -> int:
        """Return how far the selected score is below the best, at most.

        The worst case is the best candidate in last place, all others exactly r + 1 below it.  The
        sum over the noise of the best takes time in proportion to the scale.
        """
        chance = at_confidence(confidence)
        return first_true(lambda r: decide_at_most(lambda bits: self._miss(r, bits), 1 - chance))

    def run(self, value: Scores, *, entropy: Entropy = SYSTEM) -> Winner:
        """Return the winner and its gap."""
        scores = integer_scores(value, candidates=self.candidates)
        noise = self._law().sample(self.candidates, entropy)
        noisy = [score + int(z) for score, z in zip(scores, noise, strict=True)]
        index = noisy.index(max(noisy))
        needed = max(y + (j < index) for j, y in enumerate(noisy) if j != index)
        return Winner(index, noisy[index] - needed)

    def reference_pmf(self, value: Scores) -> Callable[[Winner], Interval]:
        """Return the law of winner and gap, as a function."""
        scores = integer_scores(value, candidates=self.candidates)
        law = self._law()
        rest = 2 * self.candidates * law.survival_bounds(self._half_width()).high
        exactly = functools.cache(law.pmf_bounds)
        to_beat = functools.cache(functools.partial(self._to_beat, scores))

        def chance(outcome: Winner) -> Interval:
            index, gap = outcome
            if gap < 0:
                return Interval(Fraction(0), Fraction(0))
            shares = to_beat(index)
            noises = [exactly(m + gap - scores[index]) for m, _, _ in shares]
            ends = [end for noise in noises for end in (noise.low, noise.high)]
            parts = math.lcm(*(end.denominator for end in ends))
            low = high = 0  # in parts of both denominators
            for (_, least, most), noise in zip(shares, noises, strict=True):
                low += least * noise.low.numerator * (parts // noise.low.denominator)
                high += most * noise.high.numerator * (parts // noise.high.denominator)
            whole = parts << _SCALE
            return _coarse(Fraction(low, whole), Fraction(high, whole) + rest)

        return chance

    def _to_beat(self, scores: list[int], index: int) -> list[tuple[int, int, int]]:
        """Enclose the law of max_j (y_j + [j before index]), on all but a tiny part.

        Both ends of a chance are whole numbers, in parts of 2**_SCALE.
        """
        law, reach = self._law(), self._half_width()
        others = [u + (j < index) for j, u in enumerate(scores) if j != index]
        shares, before_low, before_high = [], 0, 0
        for m in range(min(others) - reach, max(others) + reach + 1):
            product = Interval.product(law.cdf_bounds(m - u) for u in others)
            low, high = _ends(product.low, product.high)
            shares.append((m, max(0, low - before_high), high - before_low))
            before_low, before_high = low, high
        return shares

    def _half_width(self) -> int:
        return self._law().decay.reach(BITS)

    def _law(self) -> DiscreteLaplace:
        return DiscreteLaplace(scale=self.scale)

    def _miss(self, r: int, bits: int) -> Interval:
        """Enclose 1 - E[F(Z + r)**(k - 1)], in integers at a scale of twice the bits."""
        law, scale = self._law(), 2 * bits
        reach, one = law.decay.reach(bits), 1 << scale
        powers = law.decay.progression(start=0, step=1, count=reach + r + 2, bits=scale)
        a_low, a_high = powers.low[1], powers.high[1]
        hit_low = hit_high = 0
        for z in range(-reach, reach + 1):
            y = z + r
            if y >= 0:
                low = one - -(-(powers.high[y + 1] << scale) // (one + a_low))
                high = one - (powers.low[y + 1] << scale) // (one + a_high)
            else:
                low = (powers.low[-y] << scale) // (one + a_high)
                high = -(-(powers.high[-y] << scale) // (one + a_low))
            low, high = enclosed_power(low, high, self.candidates - 1, scale)
            hit_low += low * powers.low[abs(z)] >> scale
            hit_high += (high * powers.high[abs(z)] >> scale) + 1
        weight_low = Fraction(one - a_high, one + a_high)
        weight_high = Fraction(one - a_low, one + a_low)
        beyond = 2 * law.survival_bounds(reach).high
        hit = Interval(
            weight_low * Fraction(hit_low, one), weight_high * Fraction(hit_high, one) + beyond
        )
        return Interval(1 - hit.high, 1 - hit.low)


_SCALE: Final = 2 * BITS  # keeps sums of rationals short


def _ends(low: Fraction, high: Fraction) -> tuple[int, int]:
    """Round outward, to whole parts of 2**_SCALE."""
    return math.floor(low * (1 << _SCALE)), math.ceil(high * (1 << _SCALE))


def _coarse(low: Fraction, high: Fraction) -> Interval:
    """Round outward to parts of 2**_SCALE."""
    least, most = _ends(low, high)
    return Interval(Fraction(least, 1 << _SCALE), Fraction(most, 1 << _SCALE))
