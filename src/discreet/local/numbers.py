"""Randomizers of numbers: the mean of many people's numbers, without bias.

Trust: kernel.

Definition.  Each code has a point from -1 to 1, rising with the code, and each of finitely many
reports has a level, so that the mean level of the reports about a code is its point, exactly.  A
number between two points goes to one of them by a coin (key ``stochastic-rounding``,
``NumberRange``), so that the mean level of its reports is the number.
Theorem (key ``number-estimate``; Duchi, Jordan and Wainwright 2018 for two points).  The average
of the levels of n reports estimates the average of their senders' numbers without bias.  Its
variance is the sum of the variances of single reports over n**2; that of a number x between points
s and t is (1 - w) q_s + w q_t - x**2, where w is the probability of t and q_s is the mean square of
the levels of s.
Proof.  Linearity; independence; the law of total expectation.

Two-point response: a number goes to one end of its range, and the end is reported privately.

Definition (Duchi, Jordan and Wainwright 2018).  The codes are the ends, -1 and 1; a report is the
true end with probability e^epsilon / (1 + e^epsilon), else the other one.  Its level is (e^epsilon
+ 1) / (e^epsilon - 1), with the sign of its end.
A number x has variance ((e^epsilon + 1) / (e^epsilon - 1))**2 - x**2 (key ``number-estimate``).
One bit a report; the worst variance falls to 1 and no further as epsilon grows.

Window response: reports near the truth weigh more, in a window that slides with it.

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
the points together with the levels.  Levels decide accuracy alone: the distribution does not know
them.

Levels of window response whose worst variance is the smallest, by a search.

Levels decide accuracy alone, and carry over to other machines as integers.

Definition.  Let code s have the distribution p_s, and let levels y have the mean 1 at the last
code.  The variance of code s is V_s(y) = sum of p_s y**2 - (sum of p_s y)**2, a convex quadratic in
y.
Theorem (key ``minimax-levels``).  For any weights l >= 0 of sum 1, no levels have a worst variance
below g(l) = min over y of sum of l_s V_s(y) = 1 / (c' Q**-1 c), where Q is the matrix of the
weighted sum and c' y the mean at the last code; so levels whose worst variance is g(l) are best.
Proof.  A weighted average is at most the largest; a quadratic form has its least value on c' y = 1
at y = Q**-1 c / (c' Q**-1 c).

The search raises g over the weights.  By symmetry only upper levels and upper codes are looked at.

The public range of a number, and its place on a randomizer's points by an exact coin.

The code of a number is what a randomizer hides; a number outside must not leave the
device in another way, such as an error that names it.

Definition.  The range from low to high is scaled to -1 ... 1.  A number between two neighboring
points goes to the upper one with probability w, where w is its place between them (0 at the lower
point, 1 at the upper), else to the lower one.
Theorem (key ``stochastic-rounding``).  The mean of the point that a number goes to is the number,
exactly.  As a code is drawn from a distribution that depends on the number alone, every guarantee
of a randomizer between codes holds between numbers (joint convexity of the hockey-stick
divergence).  The coin compares a uniform U with w by a float estimate if they are farther apart
than the estimate can be wrong, else in integers; every coin takes one word.
"""

from __future__ import annotations

import bisect
import functools
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import listed
from discreet.errors import NotExact, OutOfRange, WrongKind
from discreet.exact import Interval, decimal, freeze, whole
from discreet.local.randomizer import (
    IntegerReports,
    Reports,
    checked_codes,
    local_epsilon,
    value_count,
)
from discreet.loss import PrivacyLoss, Profile, Pure
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Number, at_confidence, steps_at
from discreet.mechanisms.randomized_response import inward_decay, respond, response_chances
from discreet.noise import SYSTEM, Bernoulli, Entropy, Uniform
from discreet.noise.bernoulli import CoinSizes, Enclosure, enclosed, flip
from discreet.noise.entropy import word_type


class NumberRandomizer(IntegerReports, ABC):
    """A randomizer whose codes are points from -1 to 1, and whose reports are levels."""

    __slots__ = ()

    @abstractmethod
    def points(self) -> tuple[Fraction, ...]:
        """Return the number of each code, rising from -1 to 1."""

    @abstractmethod
    def levels(self) -> tuple[Fraction, ...]:
        """Return the level of each report."""

    @abstractmethod
    def law(self, code: int) -> tuple[Fraction, ...]:
        """Return the exact probability of each report about a code."""

    @abstractmethod
    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities, under -1, of reports likelier under -1 and under 1."""

    @abstractmethod
    def mean_squares(self) -> tuple[Fraction, ...]:
        """Return the mean square of the level of a report about each code."""

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between any two numbers.  It is tight: -1 and 1 are the worst."""
        if steps_at(distance) == 0:
            return Pure(epsilon=0)
        telling, misleading = self.telling_chances()
        rest = 1 - telling - misleading
        if rest == 0:
            return Pure(epsilon=self.epsilon)
        return Profile.of(FinitePair((telling, misleading, rest), (misleading, telling, rest)))

    def error(self, *, confidence: Number) -> Fraction:
        """Return how far the level of one report is from its sender's point, at most."""
        wanted, levels = at_confidence(confidence), self.levels()
        reach = Fraction(0)
        for code, point in enumerate(self.points()):
            law, inside = self.law(code), Fraction(0)
            misses = (abs(level - point) for level in levels)
            for miss, chance in sorted(zip(misses, law, strict=True)):
                inside += chance
                if inside >= wanted:
                    reach = max(reach, miss)
                    break
        return reach

    def reference_pmf(self, value: int) -> dict[int, Interval]:
        """Return the probability of every report."""
        code = whole(value, name="the code of a value", low=0, high=self.values - 1)
        return {report: Interval(p, p) for report, p in enumerate(self.law(code))}

    def variance(self, number: Number | None = None) -> Interval:
        """Return the variance of one report's level, coins of rounding included.

        Of reports about this number from -1 to 1; without one, about the worst number.
        """
        if number is None:
            return _point(_worst_variance(self))
        x = decimal(number, name="number")
        if not -1 <= x <= 1:
            raise OutOfRange(
                "the number is not between -1 and 1; scale it first: -1 is the lower end, 1 the "
                "upper one."
            )
        points, squares = self.points(), self.mean_squares()
        place = max(at for at in range(len(points) - 1) if points[at] <= x)
        weight = (x - points[place]) / (points[place + 1] - points[place])
        return _point((1 - weight) * squares[place] + weight * squares[place + 1] - x**2)

    def mean(self, tally: NDArray[np.int64]) -> Fraction:
        """Estimate the average number, from -1 to 1, without bias; it can be outside this range."""
        reports = self._reports(tally)
        levels = self.levels()
        total = sum((int(c) * y for c, y in zip(tally, levels, strict=True) if c), Fraction(0))
        return total / reports

    def sample_variance(self, tally: NDArray[np.int64]) -> Fraction:
        """Estimate the variance of one report in the population of senders, without bias.

        Over n it estimates the squared error of the mean as an estimate about that population,
        and is at least the squared error about those who reported, on average.
        """
        reports, average = self._reports(tally), self.mean(tally)
        if reports < 2:
            raise OutOfRange(
                "there is only one report; collect at least two reports, or use the worst case, "
                "variance()."
            )
        levels = self.levels()
        squares = (int(c) * (y - average) ** 2 for c, y in zip(tally, levels, strict=True) if c)
        return sum(squares, Fraction(0)) / (reports - 1)

    def _reports(self, tally: NDArray[np.int64]) -> int:
        total = int(tally.sum())
        if tally.shape != (self.outcomes,) or total < 1:
            raise OutOfRange(
                "the tally counts no reports, or other ones; give the sum of tally(reports) over "
                "all batches, with at least one report."
            )
        return total


def _point(value: Fraction) -> Interval:
    return Interval(value, value)


@functools.lru_cache(maxsize=32)
def _worst_variance(randomizer: NumberRandomizer) -> Fraction:
    """Maximize over all numbers: between two points the variance is concave."""
    corners = zip(randomizer.points(), randomizer.mean_squares(), strict=True)
    worst = Fraction(0)
    for (x, square), (after, next_square) in pairwise(corners):
        gap = after - x
        top = ((next_square - square) / (2 * gap) - x) / gap
        weight = min(max(top, Fraction(0)), Fraction(1))
        here = (1 - weight) * square + weight * next_square - (x + weight * gap) ** 2
        worst = max(worst, here)
    return worst


@final
@dataclass(frozen=True, slots=True, init=False)
class TwoPoint(NumberRandomizer):
    """Report one of the two ends.

    >>> round(TwoPoint(epsilon=1).variance().nearest(), 3)
    4.683
    >>> TwoPoint(epsilon=1).run_each(np.array([0, 1, 1])).shape
    (3,)
    """

    name: ClassVar[str] = "two-point"

    epsilon: Fraction
    values: int

    def __init__(self, *, epsilon: Number, values: int = 2) -> None:
        """Take the loss of a report; there are two values, the ends of the range."""
        freeze(
            self,
            epsilon=local_epsilon(epsilon),
            values=whole(values, name="values", low=2, high=2),
        )

    @property
    def outcomes(self) -> int:
        """Return 2."""
        return 2

    def points(self) -> tuple[Fraction, ...]:
        """Return the ends."""
        return Fraction(-1), Fraction(1)

    def levels(self) -> tuple[Fraction, ...]:
        """Return the ends, moved apart."""
        kept, lied = response_chances(self.epsilon, 2)
        return -1 / (kept - lied), 1 / (kept - lied)

    def law(self, code: int) -> tuple[Fraction, ...]:
        """Return the probabilities of both ends."""
        kept, lied = response_chances(self.epsilon, 2)
        return (lied, kept) if code else (kept, lied)

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities of both ends."""
        return response_chances(self.epsilon, 2)

    def mean_squares(self) -> tuple[Fraction, ...]:
        """Return the square of the levels, which is the same for both."""
        square = self.levels()[1] ** 2
        return square, square

    def run_each(self, codes: NDArray[np.integer[Any]], *, entropy: Entropy = SYSTEM) -> Reports:
        """Return one end for each person."""
        ends = checked_codes(codes, 2).astype(np.int64, copy=False)
        return respond(ends, self.epsilon, 2, entropy).astype(np.uint8)


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
        freeze(
            self,
            epsilon=local_epsilon(epsilon),
            values=value_count(values, high=_MOST),
            width=whole(width, name="width", low=1, high=_MOST),
        )
        numbers = upper.split(" ") if isinstance(upper, str) else listed(upper, name="upper")
        freeze(self, upper=tuple(_level(number) for number in numbers))
        half, steps = self.outcomes // 2, self._steps()
        rises = len(self.upper) == half and all(
            before < after for before, after in zip(steps, steps[self.width :], strict=False)
        )
        if not rises:
            raise OutOfRange(
                "the levels are not half as many as reports, or do not rise over a window; use "
                "WindowResponse.minimax or WindowResponse.linear."
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
        """Return the probabilities of all reports."""
        outside = self._outside()
        inside = outside / inward_decay(self.epsilon)
        return tuple(
            inside if code <= report < code + self.width else outside
            for report in range(self.outcomes)
        )

    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the probabilities of the reports that only one end's window holds."""
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

        Both a place in the window and one outside it are drawn for every person.
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
        """Return the probability of one report outside the window: 1 / Z."""
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


Floats = NDArray[np.float64]

_SCALE: Final = 1 << 20
_STEPS: Final = 100
_RIDGE: Final = 1e-13


@final
@dataclass(frozen=True, slots=True, eq=False)
class LevelSearch:
    """The weighted variances of one window, for the upper half of its levels.

    ``means`` and ``squares`` have a row for each upper code and a column for each upper level, the
    lowest first: the mean of a code is ``means @ y``, its mean square ``squares @ y**2``.
    """

    means: Floats
    squares: Floats

    @staticmethod
    def of(epsilon: float, outcomes: int, width: int) -> LevelSearch:
        """Write down the distribution of a window.

        >>> LevelSearch.of(1.0, 4, 2).means.shape
        (2, 2)
        """
        codes, half = outcomes - width + 1, outcomes // 2
        growth = math.exp(min(epsilon, 600.0))
        report, start = np.arange(outcomes), np.arange(codes // 2, codes)[:, None]
        weights = np.where((start <= report) & (report < start + width), growth, 1.0)
        law = weights / (width * (growth - 1) + outcomes)
        upper, lower = law[:, outcomes - half :], law[:, :half][:, ::-1]
        return LevelSearch(upper - lower, upper + lower)

    def best(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the levels with the least weighted variance, and the variance of each code."""
        mixed = np.diag(weights @ self.squares) - (self.means * weights[:, None]).T @ self.means
        last = self.means[-1]
        solved = np.linalg.solve(mixed + _RIDGE * np.eye(len(last)), last)
        levels = solved / (last @ solved)
        return levels, self.squares @ levels**2 - (self.means @ levels) ** 2

    def solve(self) -> Floats:
        """Return levels that are best up to the tolerance of the search."""
        from scipy.optimize import minimize  # type: ignore[import-untyped]  # noqa: PLC0415  slow

        def negative_bound(logits: Floats) -> tuple[float, Floats]:
            weights = _softmax(logits)
            _, variances = self.best(weights)
            bound = float(weights @ variances)
            return -bound, -weights * (variances - bound)

        start = np.zeros(len(self.means))
        result = minimize(
            negative_bound, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}
        )
        return self.best(_softmax(result.x))[0]

    def worst(self, levels: Floats) -> float:
        """Return the largest variance of numbers at or between the upper points."""
        x, square = self.means @ levels, self.squares @ levels**2
        variances = [float((square - x**2).max())]
        gap = np.diff(x)
        if (gap <= 0).any():
            return math.inf
        top = np.clip((np.diff(square) / (2 * gap) - x[:-1]) / gap, 0.0, 1.0)
        between = (1 - top) * square[:-1] + top * square[1:] - (x[:-1] + top * gap) ** 2
        return max(variances + [float(value) for value in between])


def minimax_levels(epsilon: Fraction, outcomes: int) -> tuple[int, tuple[int, ...]]:
    """Return the width of the window and the upper half of the levels, up to a factor.

    >>> minimax_levels(Fraction(1), 2)
    (1, (1048576,))
    """
    return _minimax_levels(epsilon, outcomes)


@functools.lru_cache(maxsize=64)
def _minimax_levels(epsilon: Fraction, outcomes: int) -> tuple[int, tuple[int, ...]]:
    tried: dict[int, tuple[float, tuple[int, ...]]] = {}

    def worst(width: int) -> float:
        if width not in tried:
            search = LevelSearch.of(float(epsilon), outcomes, width)
            levels = search.solve()
            whole = tuple(round(level) for level in levels * (_SCALE / levels[-1]))
            usable = min(whole) >= 0
            tried[width] = (search.worst(levels) if usable else math.inf), whole
        return tried[width][0]

    low, high = 1, max(outcomes // 2, 1)
    while high - low > 2:  # the worst variance falls, then rises
        third = (high - low) // 3
        left, right = low + max(third, 1), high - third
        if worst(left) <= worst(right):
            high = right
        else:
            low = left
    width = min(range(low, high + 1), key=worst)
    return width, tried[width][1]


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum(), np.float64)


_GUARD: Final = 2.0**-30
_UNIT: Final = 2.0**-53


@final
@dataclass(frozen=True, slots=True, init=False)
class NumberRange:
    """All numbers from low to high.

    >>> from discreet.local.numbers import WindowResponse
    >>> ages, randomizer = NumberRange(low=0, high=120), WindowResponse.minimax(epsilon=1)
    >>> codes = ages.codes([30, 71.5, 120], randomizer.points())
    >>> codes.shape, int(codes[2]) == randomizer.values - 1
    ((3,), True)
    >>> ages.back(Fraction(1, 2))
    Fraction(90, 1)
    """

    low: Fraction
    high: Fraction

    def __init__(self, *, low: Number, high: Number) -> None:
        """Take the ends, which are public and were not chosen by looking at the numbers."""
        freeze(self, low=decimal(low, name="low"), high=decimal(high, name="high"))
        if self.low >= self.high:
            raise OutOfRange("low is not below high; give the smaller end as low.")

    def back(self, scaled: Fraction) -> Fraction:
        """Return the number that scaling takes to ``scaled``."""
        return self.low + (self.high - self.low) * (1 + scaled) / 2

    def stretch(self) -> Fraction:
        """Return how many units of the number one unit of the scale is."""
        return (self.high - self.low) / 2

    def codes(
        self, numbers: object, points: Sequence[Fraction], *, entropy: Entropy = SYSTEM
    ) -> NDArray[np.int64]:
        """Round each number to one of its two points by a coin, and return the point's code."""
        marks = [self.back(point) for point in points]
        rough = self._rough(numbers, marks)
        if rough is not None:
            places, shares = _near_floats(marks, rough)
            return _flip(marks, places, shares, lambda index: _number(rough[index]), entropy)
        distinct, which = _distinct(numbers)
        exact = self._inside(distinct)
        found = [_place(marks, number) for number in exact]
        places = np.array([at for at, _ in found], np.int64)[which]
        shares = np.array([float(share) for _, share in found], np.float64)[which]
        return _flip(marks, places, shares, lambda index: exact[which[index]], entropy)

    def describe(self) -> dict[str, str]:
        """Return the range, ready for JSON.

        >>> NumberRange(low="0.5", high=2).describe()
        {'low': '1/2', 'high': '2'}
        """
        return {"low": str(self.low), "high": str(self.high)}

    @staticmethod
    def of_description(description: Mapping[str, object]) -> NumberRange:
        """Make the range that describes itself so.

        >>> NumberRange.of_description({"low": "1/2", "high": "2"})
        NumberRange(low=Fraction(1, 2), high=Fraction(2, 1))
        """
        match description:
            case {"low": str() as low, "high": str() as high, **rest} if not rest:
                made = NumberRange(low=low, high=high)
                if made.describe() == description:
                    return made
        raise WrongKind(
            "a range of numbers cannot be read; use a description as describe() writes it."
        )

    def _rough(self, numbers: object, marks: list[Fraction]) -> NDArray[np.float64] | None:
        """Return an array of floats that are certainly inside and fine enough, or None."""
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1 or numbers.dtype != np.float64:
            return None
        size = max(abs(self.low), abs(self.high))
        margin, narrowest = 4 * _UNIT * float(size), min(b - a for a, b in pairwise(marks))
        inside = (numbers > float(self.low) + margin) & (numbers < float(self.high) - margin)
        fine = 32 * _UNIT * float(size / narrowest) < _GUARD
        return numbers if fine and bool(inside.all()) else None

    def _inside(self, numbers: list[Any]) -> list[Fraction]:
        exact = [_number(number) for number in numbers]
        if not all(self.low <= number <= self.high for number in exact):
            raise OutOfRange(
                "a number is outside the public range; clamp numbers to the range first."
            )
        return exact


def _distinct(numbers: object) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the different numbers of an array of integers, and which of them each one is."""
    if isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype.kind in "iu":
        different, which = np.unique(numbers, return_inverse=True)
        return different.tolist(), which.astype(np.int64, copy=False)
    members = listed(numbers, name="numbers")
    return members, np.arange(len(members))


def _near_floats(
    marks: list[Fraction], numbers: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each number's lower mark, and its share of the way to the next one.

    If a float is close to a mark, its side is decided exactly.
    """
    starts = np.array([float(mark) for mark in marks])
    places = np.searchsorted(starts[1:-1], numbers, side="right").astype(np.int64)
    shares = (numbers - starts[places]) / (starts[places + 1] - starts[places])
    for index in np.flatnonzero((shares < _GUARD) | (shares > 1 - _GUARD)):
        places[index], share = _place(marks, _number(numbers[index]))
        shares[index] = float(share)
    return places, shares


def _flip(
    marks: list[Fraction],
    places: NDArray[np.int64],
    shares: NDArray[np.float64],
    number: Callable[[int], Fraction],
    entropy: Entropy,
) -> NDArray[np.int64]:
    """Move each number to its lower or upper mark; ``number(i)`` is exact."""

    def chance(index: int) -> Enclosure:
        at = int(places[index])
        share = (number(index) - marks[at]) / (marks[at + 1] - marks[at])
        return functools.partial(enclosed, share)

    return places + flip(shares, chance, entropy, CoinSizes(guard=_GUARD))


def _place(marks: list[Fraction], number: Fraction) -> tuple[int, Fraction]:
    """Return the mark at or below a number, the last but one at most, and its share beyond it."""
    at = min(bisect.bisect_right(marks, number), len(marks) - 1) - 1
    return at, (number - marks[at]) / (marks[at + 1] - marks[at])


def _number(value: object) -> Fraction:
    try:
        return decimal(value.item() if isinstance(value, np.generic) else value, name="a number")
    except (WrongKind, OutOfRange, NotExact):
        raise OutOfRange(
            "what is to be reported is not a finite number; give integers, floats, fractions or "
            "decimal text."
        ) from None
