"""Mixed response: by a public coin, window response with even levels or two-point response.

Trust: kernel.

Definition.  With chance ``share`` a number is reported by ``WindowResponse.linear``, otherwise by
``TwoPoint``, after rounding its point to an end by a coin.  Which of the two is part of the report.
Theorem (key ``mixed-response``).  It is epsilon-DP, because each part is and the choice does not
depend on the number; its mean squares are the weighted averages of theirs, so the worst variance
over x is that of x = 0 or x = 1, up to the coins of rounding.
Windows have their worst variance at 1 and two points at 0, so a mixture beats both (the hybrid of
Wang et al. 2019 with window and share chosen for each other).
``WindowResponse.minimax`` beats it at every epsilon; it is kept to compare with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.exact import probability, whole
from discreet.local.numbers.number_randomizer import NumberRandomizer
from discreet.local.numbers.two_point import TwoPoint
from discreet.local.numbers.window import WindowResponse
from discreet.local.randomizers.randomizer import Reports, checked_codes, local_epsilon
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import respond
from discreet.noise import SYSTEM, Bernoulli, Entropy, Uniform
from discreet.noise.entropy import word_type

_USUAL: Final = 253
_SHARES: Final = 10_000


@final
@dataclass(frozen=True, slots=True, init=False)
class Mixed(NumberRandomizer):
    """Report a level of a window, or an end.

    >>> round(Mixed.searched(epsilon=2).variance().nearest(), 3)  # the published hybrid: 1.042
    0.982
    """

    name: ClassVar[str] = "mixed"

    epsilon: Fraction
    values: int
    width: int
    share: Fraction

    def __init__(self, *, epsilon: Number, values: int, width: int, share: object) -> None:
        """Take the loss, the window, and how often it is used."""
        window = WindowResponse.linear(epsilon=epsilon, values=values, width=width)
        object.__setattr__(self, "epsilon", window.epsilon)
        object.__setattr__(self, "values", window.values)
        object.__setattr__(self, "width", window.width)
        object.__setattr__(self, "share", probability(share, name="share"))

    @classmethod
    def searched(cls, *, epsilon: Number, outcomes: int = _USUAL) -> Mixed:
        """Return the window and the share with the smallest worst variance."""
        exact = local_epsilon(epsilon)
        reports = whole(outcomes, name="outcomes", low=3, high=1 << 12)
        _, width, share = min(
            _worst(float(exact), reports, width) for width in range(1, reports - 1)
        )
        exact_share = Fraction(round(share * _SHARES), _SHARES)
        return cls(epsilon=exact, values=reports - width + 1, width=width, share=exact_share)

    @property
    def window(self) -> WindowResponse:
        """Return the first part."""
        return WindowResponse.linear(epsilon=self.epsilon, values=self.values, width=self.width)

    @property
    def ends(self) -> TwoPoint:
        """Return the second part."""
        return TwoPoint(epsilon=self.epsilon)

    @property
    def outcomes(self) -> int:
        """Return the reports of the window and the two ends, which come last."""
        return self.values + self.width + 1

    def points(self) -> tuple[Fraction, ...]:
        """Return evenly spaced points."""
        return self.window.points()

    def levels(self) -> tuple[Fraction, ...]:
        """Return those of both parts."""
        return self.window.levels() + self.ends.levels()

    def law(self, code: int) -> tuple[Fraction, ...]:
        """Return the chances of all reports."""
        low, high = self.ends.law(0), self.ends.law(1)
        up = Fraction(code, self.values - 1)
        inside = tuple(self.share * chance for chance in self.window.law(code))
        ends = ((1 - up) * a + up * b for a, b in zip(low, high, strict=True))
        return inside + tuple((1 - self.share) * chance for chance in ends)

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the weighted averages of both parts."""
        parts = zip(self.window.telling_chances(), self.ends.telling_chances(), strict=True)
        telling, misleading = (self.share * a + (1 - self.share) * b for a, b in parts)
        return telling, misleading

    def mean_squares(self) -> tuple[Fraction, ...]:
        """Return the weighted averages of both parts; the ends' is the same for all codes."""
        ends = self.ends.mean_squares()[0]
        return tuple(
            self.share * square + (1 - self.share) * ends for square in self.window.mean_squares()
        )

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one report for each person; both parts are drawn for everybody."""
        starts = checked_codes(codes, self.values).astype(np.int64, copy=False)
        chosen = Bernoulli(p=self.share).flips(starts.size, entropy)
        inside = self.window.draw(starts, entropy)
        up = Uniform(below=self.values - 1).sample(starts.size, entropy) < starts
        ends = respond(up.astype(np.int64), self.epsilon, 2, entropy) + self.window.outcomes
        return np.where(chosen, inside, ends).astype(word_type(self.bits))

    def describe(self) -> dict[str, str | int]:
        """Return name and parameters, ready for JSON."""
        return {
            "name": self.name,
            "epsilon": str(self.epsilon),
            "values": self.values,
            "width": self.width,
            "share": str(self.share),
        }


def _worst(epsilon: float, reports: int, width: int) -> tuple[float, int, float]:
    """Return the worst variance at 0 and 1, the width, and the best share, in floats."""
    growth = math.expm1(epsilon)
    total, top = width * growth + reports, (reports - 1) / 2
    centre, reach = top - (width - 1) / 2, (width - 1) / 2  # the last window's middle
    scale = total / (growth * width * centre)
    everywhere = reports * (reports**2 - 1) / 12
    window = width * reach * (reach + 1) / 3

    def mean_square(middle: float) -> float:
        return scale**2 * (growth * (width * middle**2 + window) + everywhere) / total

    at_zero, at_one = mean_square(0.0), mean_square(centre)
    ends = ((growth + 2) / growth) ** 2
    shares = [0.0, 1.0] + ([1 / (at_one - at_zero)] if at_one - at_zero > 1 else [])
    return min(
        (max(s * at_zero + (1 - s) * ends, s * at_one + (1 - s) * ends - 1), width, s)
        for s in shares
    )
