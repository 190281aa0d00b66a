"""Window response: reports near the truth weigh more, in a window that slides with it.

Trust: kernel.

Definition.  There are N = k + w - 1 reports, and code s has the window of the w reports s, ...,
s + w - 1.  Reports in the window weigh e^epsilon, all others 1.
Theorem (key ``window-response``).  All codes have the same total weight Z = w (e^epsilon - 1) + N,
so the loss is exactly epsilon between disjoint or overlapping windows alike; codes that are d apart
lose the pair ((d e^epsilon, d, rest) / Z, swapped), d at most w, so the ends lose most.
Let levels u be symmetric (u of report o and of N - 1 - o add up to 0) and u of o + w be above u of
o.  Then with the points x_s = (sum of u over window s) / U, U the same sum over the last window,
the level u Z / ((e^epsilon - 1) U) estimates x_s without bias, exactly, and x rises from -1 to 1.
Proof.  Outside and inside together weigh 1 and add up to 0; the window weighs e^epsilon - 1 more.

``linear`` levels give the piecewise mechanism (Wang et al. 2019) on integers.  ``minimax`` levels
make the worst variance as small as any do (key ``minimax-levels``, ``window_levels.py``): they move
the points together with the levels.  Levels decide accuracy alone: the law does not know them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import OutOfRange
from discreet.exact import whole
from discreet.local.numbers.number_randomizer import NumberRandomizer
from discreet.local.numbers.window_levels import minimax_levels
from discreet.local.randomizers.randomizer import Reports, checked_codes, local_epsilon, value_count
from discreet.mechanisms.mechanism import Number
from discreet.mechanisms.randomized_response import inward_decay
from discreet.noise import SYSTEM, Bernoulli, Entropy, Uniform
from discreet.noise.entropy import word_type

_MOST: Final = 1 << 12
_LARGEST_LEVEL: Final = 1 << 32
_DIGITS: Final = re.compile(r"[0-9]{1,10}")
USUAL_OUTCOMES: Final = 128


@final
@dataclass(frozen=True, slots=True, init=False)
class WindowResponse(NumberRandomizer):
    """Report one of N levels, most often one in the window of the number.

    >>> best = WindowResponse.minimax(epsilon=1)
    >>> round(best.variance().nearest(), 3), best.bits  # the published hybrid: 4.289
    (3.992, 7)
    >>> WindowResponse.linear(epsilon=1, values=129, width=127).points()[:2]
    (Fraction(-1, 1), Fraction(-63, 64))
    """

    name: ClassVar[str] = "window"

    epsilon: Fraction
    values: int
    width: int
    upper: tuple[int, ...]

    def __init__(
        self, *, epsilon: Number, values: int, width: int, upper: str | Iterable[int]
    ) -> None:
        """Take the loss, how many codes there are, the width of a window, and the levels.

        ``upper`` lists the upper half of the levels, the lowest first, up to a common factor; in
        descriptions it is a text of numbers.
        """
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))
        object.__setattr__(self, "values", value_count(values, high=_MOST))
        object.__setattr__(self, "width", whole(width, name="width", low=1, high=_MOST))
        numbers = upper.split(" ") if isinstance(upper, str) else listed(upper, name="upper")
        object.__setattr__(self, "upper", tuple(_level(number) for number in numbers))
        half, steps = self.outcomes // 2, self._steps()
        rises = len(self.upper) == half and all(
            before < after for before, after in zip(steps, steps[self.width :], strict=False)
        )
        if not rises:
            raise OutOfRange(
                what="the levels are not half as many as reports, or do not rise over a window.",
                why="points must rise with their codes, or a number has no place between them.",
                do="use WindowResponse.minimax or WindowResponse.linear.",
            )

    @classmethod
    def linear(cls, *, epsilon: Number, values: int, width: int) -> WindowResponse:
        """Return evenly spaced levels: the piecewise mechanism on integers.

        >>> WindowResponse.linear(epsilon=4, values=5, width=3).upper
        (2, 4, 6)
        """
        count = value_count(values) + whole(width, name="width", low=1) - 1
        upper = tuple(2 * report + 1 - count for report in range(count - count // 2, count))
        return cls(epsilon=epsilon, values=values, width=width, upper=upper)

    @classmethod
    def minimax(cls, *, epsilon: Number, outcomes: int = USUAL_OUTCOMES) -> WindowResponse:
        """Return the window and levels with the smallest worst variance, by a search."""
        count = whole(outcomes, name="outcomes", low=2, high=_MOST)
        exact = local_epsilon(epsilon)
        width, upper = minimax_levels(exact, count)
        return cls(epsilon=exact, values=count - width + 1, width=width, upper=upper)

    @property
    def outcomes(self) -> int:
        """Return N."""
        return self.values + self.width - 1

    def points(self) -> tuple[Fraction, ...]:
        """Return the sums of the levels in each window, scaled to end at 1."""
        sums = self._window_sums()
        return tuple(Fraction(total, sums[-1]) for total in sums)

    def levels(self) -> tuple[Fraction, ...]:
        """Return the levels, scaled to be unbiased."""
        scale = self._scale()
        return tuple(scale * step for step in self._steps())

    def law(self, code: int) -> tuple[Fraction, ...]:
        """Return the chances of all reports."""
        outside = self._outside()
        inside = outside / inward_decay(self.epsilon)
        return tuple(
            inside if code <= report < code + self.width else outside
            for report in range(self.outcomes)
        )

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the chances of the reports that only one end's window holds."""
        apart = min(self.width, self.values - 1)
        outside = self._outside()
        return apart * outside / inward_decay(self.epsilon), apart * outside

    def mean_squares(self) -> tuple[Fraction, ...]:
        """Return sums over windows, and over all reports."""
        squares = [0, *accumulate(step**2 for step in self._steps())]
        more = 1 / inward_decay(self.epsilon) - 1
        factor = self._outside() * self._scale() ** 2
        return tuple(
            factor * (squares[-1] + more * (squares[code + self.width] - squares[code]))
            for code in range(self.values)
        )

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one report for each person.

        Both a place in the window and one outside it are drawn for everybody.
        """
        starts = checked_codes(codes, self.values).astype(np.int64, copy=False)
        return self.draw(starts, entropy).astype(word_type(self.bits))

    def draw(self, starts: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """Draw reports about codes that were checked."""
        people, beyond = starts.size, self.outcomes - self.width
        stray = Bernoulli(p=beyond * self._outside()).flips(people, entropy)
        inside = starts + Uniform(below=self.width).sample(people, entropy)
        outside = Uniform(below=beyond).sample(people, entropy)
        outside += self.width * (outside >= starts)  # skip the window
        return np.where(stray, outside, inside)

    def describe(self) -> dict[str, str | int]:
        """Return name and parameters, ready for JSON."""
        return {
            "name": self.name,
            "epsilon": str(self.epsilon),
            "values": self.values,
            "width": self.width,
            "upper": " ".join(map(str, self.upper)),
        }

    def _outside(self) -> Fraction:
        """Return the chance of one report outside the window: 1 / Z."""
        decay = inward_decay(self.epsilon)
        return decay / (self.width + (self.outcomes - self.width) * decay)

    def _scale(self) -> Fraction:
        """Return what makes the steps unbiased levels: Z / ((e^epsilon - 1) U)."""
        decay = inward_decay(self.epsilon)
        total = self.width * (1 - decay) + self.outcomes * decay  # Z, times the decay
        return total / ((1 - decay) * self._window_sums()[-1])

    def _steps(self) -> tuple[int, ...]:
        """Return the symmetric levels, up to a factor."""
        middle = (0,) * (self.outcomes % 2)
        return tuple(-level for level in reversed(self.upper)) + middle + self.upper

    def _window_sums(self) -> list[int]:
        sums = [0, *accumulate(self._steps())]
        return [sums[code + self.width] - sums[code] for code in range(self.values)]


def _level(number: object) -> int:
    if isinstance(number, str) and _DIGITS.fullmatch(number):
        number = int(number)
    return whole(number, name="each level", low=0, high=_LARGEST_LEVEL)
