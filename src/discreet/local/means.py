"""The mean of many people's numbers, with an interval that holds without assumptions.

Trust: public.  It sees reports that are private already; a bug here costs accuracy, not privacy.

Definition.  n independent reports have levels y_i in an interval of length R; the mean of y_i is
the number of its sender, in units of the public range (key ``number-estimate``).  S**2 is the
sample variance of all levels.
Theorem (key ``deviation-bound``; Maurer and Pontil 2009, theorem 10).  The root of the expected
S**2, which is at least the root of the mean variance, exceeds S + R sqrt(2 ln(1/a) / (n - 1)) with
a probability of at most a.
Theorem (key ``normal-interval``; Shevtsova 2010).  The standardized sum of independent terms is
within 0.56 R / (s sqrt(n)) of the normal distribution, if each has a variance of at least s**2:
third moments are at most R times the variances.
Theorem (key ``empirical-bernstein``; Maurer and Pontil 2009, theorem 4).  The mean is within
S sqrt(2 L / n) + 7 R L / (3 (n - 1)) of its expectation on one side, L = ln(2/a), but with a
probability of at most a.
If the distance from the normal distribution is below an eighth of the probability to miss, the
interval is the normal one: the probability left over is divided between both ends, with the largest
deviation that is possible but with a tenth of the probability to miss.  Otherwise it is that of
Bernstein.  Which of them is used depends on n alone.

Targets.  *In the population* reports are drawn alike, and their variance includes that of numbers.
*Among those who reported* only noise varies: no report's variance is above the worst one.
Hostile: each of m reports is anywhere in the interval of levels, and its sender anywhere in the
range; then only the worst variance is used, because hostile levels would spoil the sample's.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, final

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.local.intervals import TARGETS, Integers, Target, miss_chance
from discreet.local.numbers import NumberRandomizer
from discreet.notebook import Shown

_NORMAL: Final = 0.56
_SHARE: Final = 8
_TENTH: Final = 10


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate(Shown):
    """An estimated mean, with a confidence interval for the true one.

    >>> from discreet.local.numbers import TwoPoint
    >>> import numpy as np
    >>> coin = TwoPoint(epsilon=1)
    >>> print(MeanEstimate.of(coin, np.array([40_000, 60_000]), low=0, high=100))
    71.6 (70.9 to 72.4): 100,000 reports, the mean in the population with confidence 95 %
    """

    mean: float
    low: float
    high: float
    people: int
    confidence: Fraction
    target: Target
    hostile: int

    @classmethod
    def of(  # noqa: PLR0913  all but two are named
        cls,
        randomizer: NumberRandomizer,
        tally: Integers,
        *,
        low: object = -1,
        high: object = 1,
        confidence: object = "0.95",
        target: Target = "population",
        hostile: int = 0,
    ) -> MeanEstimate:
        """Estimate the mean of numbers between low and high from the tally of their reports."""
        start, stop = decimal(low, name="low"), decimal(high, name="high")
        if start >= stop or target not in TARGETS:
            raise WrongKind(
                "low is not below high, or the target is none; give low < high, and "
                "target='population' or target='reported'."
            )
        people, miss = int(tally.sum()), miss_chance(confidence)
        centre = float(randomizer.mean(tally))
        attackers = whole(hostile, name="hostile", low=0, high=people)
        reach = mean_reach(randomizer, tally, miss=float(miss), target=target, hostile=attackers)
        ends = (max(centre - reach, -1.0), min(centre + reach, 1.0))
        scaled = [
            float(start) + (end + 1) / 2 * float(stop - start)
            for end in (centre, min(ends[0], 1.0), max(ends[1], -1.0))
        ]
        return cls(
            mean=scaled[0],
            low=scaled[1],
            high=scaled[2],
            people=people,
            confidence=1 - miss,
            target=target,
            hostile=attackers,
        )

    def __str__(self) -> str:
        whose = "in the population" if self.target == "population" else "of those who reported"
        attack = f", even if {self.hostile:,} are hostile" if self.hostile else ""
        return (
            f"{self.mean:.3g} ({self.low:.3g} to {self.high:.3g}): {self.people:,} reports, the "
            f"mean {whose} with confidence {float(100 * self.confidence):g} %{attack}"
        )


def mean_reach(
    randomizer: NumberRandomizer, tally: Integers, *, miss: float, target: Target, hostile: int = 0
) -> float:
    """Return how far the mean may be from its estimate, in units if numbers are -1 to 1.

    >>> from discreet.local.numbers import TwoPoint
    >>> import numpy as np
    >>> tally = np.array([500_000, 500_000])
    >>> round(mean_reach(TwoPoint(epsilon=1), tally, miss=0.05, target="population"), 5)
    0.00439
    """
    people = int(tally.sum())
    honest = people - hostile
    if honest < 2:
        raise OutOfRange(
            "there are fewer than two reports that are not hostile; collect more reports."
        )
    span = _levels(randomizer)
    worst = span.worst_noise if target == "reported" else span.worst_square
    sample = math.inf if hostile else math.sqrt(float(randomizer.sample_variance(tally)))
    reach = _reach(span, honest, miss, sample=sample, worst=math.sqrt(worst))
    return (honest * reach + hostile * (span.largest + 1)) / people


def _reach(span: _Levels, people: int, miss: float, *, sample: float, worst: float) -> float:
    distance = _NORMAL * span.length / (span.least_deviation * math.sqrt(people))
    if distance < miss / _SHARE:
        slack = math.sqrt(2 * math.log(_TENTH / miss) / (people - 1))
        deviation = min(sample + span.length * slack, worst)
        tail = miss * (1 - 1 / _TENTH) / 2 - distance
        return NormalDist().inv_cdf(1 - tail) * deviation / math.sqrt(people)
    level = math.log(4 / miss)
    bernstein = min(sample, span.length) * math.sqrt(2 * level / people)
    return bernstein + 7 * span.length * level / (3 * (people - 1))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Levels:
    """The public facts about levels, before any report."""

    length: float
    largest: float
    least_deviation: float
    worst_noise: float
    worst_square: float


@functools.lru_cache(maxsize=32)
def _levels(randomizer: NumberRandomizer) -> _Levels:
    """Between two points the variance of a number is concave, and its mean square is linear."""
    levels, points = randomizer.levels(), randomizer.points()
    noise = [randomizer.variance(point).high for point in points]
    squares = (variance + point**2 for variance, point in zip(noise, points, strict=True))
    return _Levels(
        length=float(max(levels) - min(levels)),
        largest=float(max(map(abs, levels))),
        least_deviation=math.sqrt(min(noise)),
        worst_noise=float(randomizer.variance().high),
        worst_square=float(max(squares)),
    )
