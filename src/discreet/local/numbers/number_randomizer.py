"""Randomizers of numbers: the mean of many people's numbers, without bias.

Trust: kernel.

Definition.  Codes stand for rising points from -1 to 1, and each of finitely many reports for a
level, so that the mean level of the reports about a code is its point, exactly.  A number between
two points goes to one of them by a coin (key ``stochastic-rounding``, ``NumberRange``), so that the
mean level of its reports is the number.
Theorem (key ``number-estimate``; Duchi, Jordan and Wainwright 2018 for two points).  The average
of the levels of n reports estimates the average of their senders' numbers without bias.  Its
variance is the sum of the variances of single reports over n**2; that of a number x between points
s and t is (1 - w) q_s + w q_t - x**2, where w is the chance of t and q_s is the mean square of the
levels of s.
Proof.  Linearity; independence; the law of total expectation.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, whole
from discreet.local.randomizers.bit_rows import integer_rows, row_integers
from discreet.local.randomizers.randomizer import Bytes, Randomizer, Reports, checked_rows
from discreet.loss import PrivacyLoss, Profile, Pure
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Number, at_confidence, steps_at
from discreet.noise.entropy import word_type


class NumberRandomizer(Randomizer, ABC):
    """A randomizer whose codes are points from -1 to 1, and whose reports are levels."""

    __slots__ = ()

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Return how many different reports there are."""

    @abstractmethod
    def points(self) -> tuple[Fraction, ...]:
        """Return the number that each code stands for, rising from -1 to 1."""

    @abstractmethod
    def levels(self) -> tuple[Fraction, ...]:
        """Return the number that each report stands for."""

    @abstractmethod
    def law(self, code: int) -> tuple[Fraction, ...]:
        """Return the exact chance of each report about a code."""

    @abstractmethod
    def telling_chances(self) -> tuple[Fraction, Fraction]:
        """Return the chances, under -1, of reports that are likelier under -1, and under 1."""

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
        """Return the chance of every report."""
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
                what="the number is not between -1 and 1.",
                why="these are the ends of the public range, after scaling.",
                do="scale it first: -1 is the lower end, 1 the upper one.",
            )
        points, squares = self.points(), self.mean_squares()
        place = max(at for at in range(len(points) - 1) if points[at] <= x)
        weight = (x - points[place]) / (points[place + 1] - points[place])
        return _point((1 - weight) * squares[place] + weight * squares[place + 1] - x**2)

    def mean(self, tally: NDArray[np.int64]) -> Fraction:
        """Estimate the average number, from -1 to 1, without bias; it can lie beyond the ends."""
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
                what="there is only one report.",
                why="how much reports differ cannot be seen from one.",
                do="collect at least two reports, or use the worst case, variance().",
            )
        levels = self.levels()
        squares = (int(c) * (y - average) ** 2 for c, y in zip(tally, levels, strict=True) if c)
        return sum(squares, Fraction(0)) / (reports - 1)

    def _reports(self, tally: NDArray[np.int64]) -> int:
        total = int(tally.sum())
        if tally.shape != (self.outcomes,) or total < 1:
            raise OutOfRange(
                what="the tally counts no reports, or other ones.",
                why="a mean is an average of reports.",
                do="give the sum of tally(reports) over all batches, with at least one report.",
            )
        return total

    @property
    def bits(self) -> int:
        """Return how many bits name a report."""
        return (self.outcomes - 1).bit_length()

    @property
    def raised(self) -> int:
        """Return 1: a report is one of the things that are counted."""
        return 1

    def tally(self, reports: Reports) -> NDArray[np.int64]:
        """Count each report."""
        return np.bincount(reports, minlength=self.outcomes).astype(np.int64, copy=False)

    def pack(self, reports: Reports) -> Bytes:
        """Write each report in bytes, the lowest first."""
        return integer_rows(reports, self.report_bytes)

    def unpack(self, rows: Bytes) -> tuple[Reports, NDArray[np.bool_]]:
        """Read reports; what is none is not valid."""
        reports = row_integers(checked_rows(rows, self.report_bytes), word_type(self.bits))
        valid = reports < self.outcomes
        return reports[valid], valid


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
