"""Confidence intervals for the share of people who hold a value, from the reports that support it.

Trust: public.  Proofs are in docs/proofs/local.md.

Definition.  n people report, independently.  A report supports a value with probability p if its
sender holds the value, and with probability q < p otherwise; C reports support it.

*In the population*: the n people are drawn independently from a population; a share f of it holds
the value.  C is binomial with probability r = q + f (p - q); the interval is that of Clopper and
Pearson for r (key ``clopper-pearson``), carried over to f.

*Among those who reported*: M of the n people hold the value, and f = M / n.  C is the sum of M
coins of probability p and n - M coins of probability q.
Theorem (key ``two-coin-interval``).  Leave out every M for which C or more supports have
probability at most a, and every M for which C or fewer do.  The remaining set is an interval, and
it misses the true M with probability at most 2a.

Theorem (key ``hostile-reports``; Cheu, Smith and Ullman 2021, Manipulation Attacks in Local
Differential Privacy).  An attacker, who knows all others, makes at most m of the n reports.  Let
[low, high] be an interval of level 1 - a for the n - m honest people, with its low end from C - m
supports and its high end from C.  Then from (n - m) low / n to ((n - m) high + m) / n is one of
the same level for all n people, and for the honest ones alone.

Sums of estimated shares with weights, and how far they are off.

Definition.  A weighted sum of the estimated shares of k values is unbiased for that of the shares.
Its interval is the normal one, with the variance below: n is the number of reports.
Theorem (key ``weighted-shares``).  Given the values of all senders, n times the variance is at most
k / (k - 1) times the sum of w_v**2 V_v, with V_v that of one share, if the supports of two values
are independent, or those of a fixed number of values that are drawn evenly.  If the senders are
themselves drawn from many, the variance of w over those is added, at most the mean of w**2; if they
are a part s of them, 1 - s times that.
Proof.  Independent supports have the sum itself.  A set of fixed size is exchangeable but for the
sender's value, so that indicators have correlations of -1/(k - 1) at least, and the largest
eigenvalue of their correlation matrix is k/(k - 1).  The last factor is that of drawing without
replacement.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import Interval, decimal, float_down, float_up, whole

Target = Literal["population", "reported"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TARGETS: Final = ("population", "reported")
_OUTWARD: Final = 1e-12  # the relative error of a library's beta quantiles, with room to spare
_ABSOLUTE: Final = 1e-14  # that of a tail which a Fourier transform adds up
_SMALL: Final = 1 << 12
_PER_DEVIATION: Final = 32
_REACH: Final = 8  # standard deviations, beyond which there is less than _ABSOLUTE
_KEPT: Final = 64  # distributions: neighboring counts, tried in order, mostly need the same ones


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Coins:
    """The probabilities of support: p of holders of a value, q of all others, rounded both ways.

    >>> from fractions import Fraction
    >>> coins = Coins.of((Interval("0.75", "0.75"), Interval("0.25", "0.25")))
    >>> coins.inflation, coins.deflation
    (1.5, 1.5)
    """

    low: tuple[float, float]
    high: tuple[float, float]

    @classmethod
    def of(cls, chances: tuple[Interval, Interval]) -> Coins:
        """Take p and q as a randomizer states them."""
        p, q = chances
        low, high = (float_down(p.low), float_down(q.low)), (float_up(p.high), float_up(q.high))
        if not (q.low >= 0 and high[1] < low[0] and p.high <= 1):
            raise OutOfRange(
                "the chance of support is not larger for those who hold a value; use a randomizer "
                "with an epsilon above zero."
            )
        return cls(low=low, high=high)

    @property
    def p(self) -> float:
        """The probability that a report supports its sender's value."""
        return (self.low[0] + self.high[0]) / 2

    @property
    def q(self) -> float:
        """The probability that it supports any other value."""
        return (self.low[1] + self.high[1]) / 2

    @property
    def inflation(self) -> float:
        """By how much one hostile report can raise an estimated count: (1 - q) / (p - q)."""
        return (1 - self.q) / (self.p - self.q)

    @property
    def deflation(self) -> float:
        """By how much it can lower one, if its sender holds the value: p / (p - q)."""
        return self.p / (self.p - self.q)

    def shares(self, supports: Integers, people: int) -> Floats:
        """Return the unbiased estimates (C / n - q) / (p - q)."""
        return np.asarray((supports / people - self.q) / (self.p - self.q))

    def variance(self, share: Floats | float) -> Floats:
        """Return n times the variance of an estimate, given how many hold the value."""
        p, q = self.p, self.q
        own = np.clip(share, 0, 1) * p * (1 - p) + (1 - np.clip(share, 0, 1)) * q * (1 - q)
        return np.asarray(own / (p - q) ** 2)


def share_bounds(  # noqa: PLR0913  all are named
    supports: Integers, *, people: int, coins: Coins, miss: float, target: Target, hostile: int = 0
) -> tuple[Floats, Floats]:
    """Return low and high ends, each interval missing its share with probability at most ``miss``.

    >>> coins = Coins.of((Interval("0.75", "0.75"), Interval("0.25", "0.25")))
    >>> counts = np.array([500, 250])
    >>> low, high = share_bounds(counts, people=1000, coins=coins, miss=0.05, target="reported")
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.446, 0.0], [0.554, 0.054])
    """
    if target not in TARGETS:
        raise WrongKind(
            "the target is neither 'population' nor 'reported'; give target='population' or "
            "target='reported'."
        )
    attackers = whole(hostile, name="hostile", low=0, high=people)
    honest = people - attackers
    if honest == 0:
        return np.zeros(len(supports)), np.ones(len(supports))
    least, most = np.maximum(supports - attackers, 0), np.minimum(supports, honest)
    if target == "population":
        low, high = _binomial(least, most, honest, coins, miss / 2)
    else:
        low, high = _two_coins(least, most, honest, coins, miss / 2)
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    return low * (honest / people), (high * honest + attackers) / people


def _binomial(
    least: Integers, most: Integers, people: int, coins: Coins, miss: float
) -> tuple[Floats, Floats]:
    """Invert the binomial distribution of counts, rounded so that both ends move outward."""
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # noqa: PLC0415  slow

    low = np.where(least == 0, 0, betaincinv(np.maximum(least, 1), people - least + 1, miss))
    above = people - most
    high = np.where(above == 0, 0, betaincinv(np.maximum(above, 1), most + 1, miss))
    (low_p, low_q), (high_p, high_q) = coins.low, coins.high
    return (
        (low * (1 - _OUTWARD) - high_q) / (high_p - high_q),
        (1 - high * (1 - _OUTWARD) - low_q) / (low_p - low_q),
    )


def _two_coins(
    least: Integers, most: Integers, people: int, coins: Coins, miss: float
) -> tuple[Floats, Floats]:
    """Invert the distribution of two kinds of coins."""
    variance = float(max(coins.variance(0), coins.variance(1)))
    exact = people <= _SMALL
    step = 1 if exact else max(1, int(math.sqrt(people * variance) / _PER_DEVIATION))

    @functools.lru_cache(maxsize=_KEPT)
    def below(holders: int) -> tuple[int, Floats]:
        return _tails(holders, people, *coins.low)

    @functools.lru_cache(maxsize=_KEPT)
    def above(holders: int) -> tuple[int, Floats]:
        p, q = coins.high
        return _tails(holders, people, 1 - p, 1 - q)  # how many coins do not support

    def excluded(count: int, holders: int) -> bool:
        return _at_most(above(holders), people - count) <= miss  # count supports or more

    def mirrored(count: int, others: int) -> bool:
        return _at_most(below(people - others), count) <= miss  # count supports or fewer

    low = _each(least, lambda count: _last(excluded, count, people, step))
    high = people - _each(most, lambda count: _last(mirrored, count, people, step))
    return low / people, high / people


def _each(counts: Integers, bound: Callable[[int], int]) -> Integers:
    distinct, places = np.unique(counts, return_inverse=True)
    return np.array([bound(int(count)) for count in distinct], np.int64)[places]


def _last(is_excluded: Callable[[int, int], bool], count: int, people: int, step: int) -> int:
    """Return the number of holders after the last one that is tried and excluded, at least 0."""
    tried, unknown = -1, people // step + 1  # in steps; all up to ``tried`` are excluded
    while unknown - tried > 1:
        middle = (tried + unknown) // 2
        if is_excluded(count, middle * step):
            tried = middle
        else:
            unknown = middle
    return min(tried * step + 1, people) if tried >= 0 else 0


def _at_most(law: tuple[int, Floats], count: int) -> float:
    """Return P[C <= count], rounded up."""
    first, sums = law
    if count < first:
        return _ABSOLUTE
    return float(sums[min(count - first, len(sums) - 1)]) + _ABSOLUTE


def _tails(holders: int, people: int, p: float, q: float) -> tuple[int, Floats]:
    """Return the least count with a noticeable probability, and running sums from there."""
    one, first = _binomial_law(holders, p)
    other, second = _binomial_law(people - holders, q)
    size = len(first) + len(second) - 1
    padded = 1 << (size - 1).bit_length()
    law = np.fft.irfft(np.fft.rfft(first, padded) * np.fft.rfft(second, padded), padded)[:size]
    return one + other, np.maximum(law, 0).cumsum()


def _binomial_law(trials: int, chance: float) -> tuple[int, Floats]:
    """Return the binomial distribution near its mode, each term from the neighboring one."""
    if trials == 0 or not 0 < chance < 1:
        return trials * (chance >= 1), np.ones(1)
    mode = min(int((trials + 1) * chance), trials)
    reach = int(_REACH * math.sqrt(trials * chance * (1 - chance))) + 40
    first, last = max(mode - reach, 0), min(mode + reach, trials)
    hits = np.arange(first, last, dtype=float)
    steps = np.log((trials - hits) / (hits + 1)) + (math.log(chance) - math.log1p(-chance))
    heights = np.concatenate([[0.0], steps.cumsum()])
    law = np.exp(heights - heights[mode - first])
    return first, law / law.sum()


def sum_variance(
    weights: Floats, shares: Floats, coins: Coins, target: Target, *, part: float = 1.0
) -> float:
    """Bound n times the variance of a weighted sum, at the estimated shares.

    ``part`` is which part of all who reported is asked about these values.

    >>> from discreet.exact import Interval
    >>> coins = Coins.of((Interval("3/4", "3/4"), Interval("1/4", "1/4")))
    >>> sum_variance(np.array([1.0, 1, 0]), np.array([0.2, 0.3, 0.5]), coins, "reported")
    2.25
    """
    if target not in TARGETS:
        raise WrongKind(
            "the target is neither 'population' nor 'reported'; give target='population' or "
            "target='reported'."
        )
    count, clipped = max(len(weights), 2), np.clip(shares, 0, 1)
    noise = float((weights**2 * coins.variance(clipped)).sum()) * count / (count - 1)
    drawn = 1.0 if target == "population" else 1 - part
    return noise + drawn * float((weights**2 * clipped).sum())


def normal_reach(confidence: object) -> float:
    """Return how many standard deviations hold the truth with this confidence.

    >>> round(normal_reach("0.95"), 2)
    1.96
    """
    return NormalDist().inv_cdf(1 - float(miss_chance(confidence)) / 2)


def miss_chance(confidence: object) -> Fraction:
    """Read a confidence, and return the probability that an interval may miss.

    >>> miss_chance("0.95")
    Fraction(1, 20)
    """
    chance = decimal(confidence, name="confidence")
    if not Fraction(1, 2) <= chance < 1:
        raise OutOfRange(
            "confidence is not at least 0.5 and below 1; give a confidence such as '0.95'."
        )
    return 1 - chance
