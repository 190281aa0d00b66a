"""Partition selection by coordinates that are released in any case: their noisy sum chooses.

Trust: kernel.  Proofs are in docs/proofs/mechanisms.md.

Definition.  Each group holds ``coordinates`` whole numbers.  A unit in it adds such numbers, none
of them negative, that add up to exactly ``most``, and whose squares add up to at most ``squared``;
it does so in at most ``groups`` groups.  So a group of n units holds numbers that add up to
n ``most``, and one short of ``fewest`` units is never shown.
Definition.  ``SumKeys``: if n >= ``fewest``, noise of its own is added to every coordinate, and the
group is shown, with all of its noisy coordinates, if these add up to at least ``threshold``.

Theorem (key ``sum-keys``).  Let S be the sum of as many independent noises as a group has
coordinates, d = threshold - ``fewest`` times ``most``, and q(j) = P[S >= d - (j - 1) ``most``].
Between tables k steps apart the loss is at most that of the noise on all coordinates of all groups,
and of a leak that reveals everything with the probability

    max(1 - (1 - q(1))**(k g), 1 - (1 - q(k))**g),    g = ``groups``,

and nothing otherwise, independently.  With s = 1, or s = 2 if a step can replace a unit, and the w
of ``key-moves`` for s g groups, the coordinates cost at most what Laplace noise costs on w numbers
that move by k ``most`` each, or Gaussian noise on a squared distance of w k**2 ``squared``.

Theorem (key ``sum-tail``).  Z is stochastically smaller than the continuous noise of the same scale
or variance, plus 1 (key ``paired-reach``; a variance of at least 1).  So P[S >= m] is at most, with
c noises and x = (m - c) / scale >= 0, or z = (m - c) / sqrt(c variance),

    exp(-x) times the sum over j < c of a(j) x**j / j!,
        a(j) = sum over i from j to c - 1 of C(i - j + c - 1, c - 1) / 2**(i - j + c),
    the tail of the normal law from z on;  below a variance of 1: exp(-m**2 / (2 c variance)).

Assumes: all coins come from ``entropy``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import INT64_MAX
from discreet.certified import exp_neg
from discreet.errors import OutOfRange
from discreet.exact import Interval, decimal, float_up, freeze, whole
from discreet.loss import Approximate, PrivacyLoss, Pure
from discreet.loss.elementary import normal_cdf
from discreet.mechanisms.additive import Gaussian, Laplace, checked_integer_noise, integers
from discreet.mechanisms.mechanism import Mechanism, Number, ReferenceLaw, at_confidence
from discreet.mechanisms.partition_selection import (
    any_of,
    read_delta,
    read_selection,
    worst_move,
)
from discreet.noise import SYSTEM, Entropy
from discreet.noise.distribution import first_true
from discreet.units import Relation

Points = Sequence[Sequence[int]] | NDArray[np.integer[Any]]
"""The coordinates of each group."""

_BITS: Final = 128
_MOST: Final = 1 << 61
_COORDINATES: Final = 1000
_DEEPEST: Final = 1 << 12  # exp(-4096)
_SMALL: Final = 1 << 40
_HALF: Final = Fraction(1, 2)
_RARE: Final = Fraction(1, 1 << 60)
_NEVER: Final = Interval(Fraction(0), Fraction(0))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShownSums:
    """Which groups are shown, and the noisy coordinates of those, in the same order."""

    shown: NDArray[np.bool_]
    coordinates: NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, init=False)
class SumKeys(Mechanism[Points, ShownSums]):
    """Release the coordinates of groups in which they add up to enough, with noise.

    >>> keys = SumKeys.for_delta(delta="1e-6", noise=Laplace(scale=8), coordinates=2, most=8,
    ...     squared=64, groups=1, relation="add_remove")
    >>> keys.threshold, keys.leak() <= Fraction(1, 10**6), keys.smallest("0.5")
    (133, True, 17)
    >>> keys.loss().epsilon(delta="1e-6") <= 1
    True
    >>> keys.run([[5, 3], [4000, 4000]]).shown
    array([False,  True])
    """

    noise: Laplace | Gaussian
    threshold: int
    coordinates: int
    most: int
    squared: int
    groups: int
    relation: Relation
    fewest: int

    def __init__(  # noqa: PLR0913  what is added up, and how it is hidden
        self,
        *,
        noise: Laplace | Gaussian,
        threshold: int,
        coordinates: int,
        most: int,
        squared: int,
        groups: int,
        relation: Relation | str,
        fewest: int = 1,
    ) -> None:
        """Take the noise of one coordinate, and the least noisy sum of a group that is shown.

        A unit is in at most ``groups`` groups, and its coordinates in each add up to ``most``.
        """
        plan = read_selection(groups=groups, relation=relation, fewest=fewest)
        share = whole(most, name="most", low=1, high=_MOST)
        plan |= {
            "noise": checked_integer_noise(noise),
            "threshold": whole(threshold, name="threshold", low=0, high=INT64_MAX),
            "coordinates": whole(coordinates, name="coordinates", low=1, high=_COORDINATES),
            "most": share,
            "squared": whole(squared, name="squared", low=1, high=2 * share * share),
        }
        if whole(fewest, name="fewest") * share > _MOST:
            raise OutOfRange("so many units count more than 64 bits hold; give a smaller fewest.")
        freeze(self, **plan)

    @classmethod
    def for_delta(cls, *, delta: Number, noise: Laplace | Gaussian, **plan: Any) -> Self:
        """Return the selection with the smallest threshold that leaks with probability delta."""
        chance = read_delta(delta)
        start = cls(noise=noise, threshold=0, **plan)
        least = start.fewest * start.most

        def enough(distance: int) -> bool:
            return replace(start, threshold=least + distance).leak() <= chance

        near = math.ceil(start.coordinates + float(noise.width))
        return replace(start, threshold=least + first_true(enough, near=near))

    @property
    def distance(self) -> int:
        """How far the threshold is above the smallest group that may be shown."""
        return self.threshold - self.fewest * self.most

    def leak(self, *, steps: int = 1) -> Fraction:
        """Bound the probability that this many units show in groups too small without them."""
        units = whole(steps, name="steps", low=1)
        one = any_of(units * self.groups, sum_tail(self.noise, self.coordinates, self.distance))
        if units == 1:
            return one
        far = self.distance - (units - 1) * self.most
        return max(one, any_of(self.groups, sum_tail(self.noise, self.coordinates, far)))

    def loss(self, *, distance: Number = 1) -> PrivacyLoss:
        """Return the loss between tables ``distance`` steps of the relation apart."""
        steps, places = worst_move(distance=distance, groups=self.groups, relation=self.relation)
        if steps == 0:
            return Pure(epsilon=0)
        if isinstance(self.noise, Laplace):
            noise = self.noise.loss(distance=steps * self.most).power(places)
        else:
            square = places * steps**2 * self.squared
            far = Fraction(math.isqrt(square << 2 * _BITS) + 1, 1 << _BITS)
            noise = self.noise.loss(distance=far, coordinates=places * self.coordinates)
        seen = Approximate(epsilon=0, delta=self.leak(steps=steps))
        return noise.compose(seen).profile().as_one()

    def error(self, *, confidence: Number) -> int:
        """Return how far the sum of a group is off, at most; that of a hidden one counts 0."""
        missed = 1 - at_confidence(confidence)
        far = first_true(lambda m: 2 * sum_tail(self.noise, self.coordinates, m) <= missed, low=1)
        return self.threshold + far

    def smallest(self, chance: Number) -> int:
        """Return units enough for a group to be shown with this probability, or with a half."""
        missed = 1 - decimal(chance, name="chance")
        more = 0
        if missed < _HALF:  # P[S < t - n most] = P[S >= n most - t + 1]
            more = first_true(lambda m: sum_tail(self.noise, self.coordinates, m + 1) <= missed)
        return max(self.fewest, -(-(self.threshold + more) // self.most))

    def run(self, value: Points, *, entropy: Entropy = SYSTEM) -> ShownSums:
        """Return which groups are shown, and their noisy coordinates."""
        points = self._points(value)
        noisy: NDArray[np.int64] = self.noise.run(points, entropy=entropy)
        shown = sums_of(points) >= self.fewest * self.most
        shown &= sums_of(noisy) >= self.threshold
        return ShownSums(shown, noisy[shown])

    def reference_pmf(self, value: Points) -> ReferenceLaw:
        """Return the probability of a tuple of noisy coordinates, with None for hidden groups."""
        points, law = self._points(value).tolist(), self.noise.law

        def one(noisy: Sequence[int] | None, exact: Sequence[int]) -> Interval:
            enough = sum(exact) >= self.fewest * self.most
            if noisy is None:
                shown = self._reached(self.threshold - sum(exact)) if enough else _NEVER
                return Interval(1 - shown.high, 1 - shown.low)
            if not enough or sum(noisy) < self.threshold:
                return _NEVER
            pairs = zip(noisy, exact, strict=True)
            return Interval.product(law.pmf_bounds(y - x) for y, x in pairs)

        def chance(outcome: Sequence[Sequence[int] | None]) -> Interval:
            return Interval.product(one(*each) for each in zip(outcome, points, strict=True))

        return chance

    def _reached(self, least: int) -> Interval:
        """Enclose the probability that the noises add up to at least this, term by term."""
        law = self.noise.law
        far = law.quantile(1 - _RARE)
        single = {k: law.pmf_bounds(k).low for k in range(-far, far + 1)}
        known = {0: Fraction(1)}
        for _ in range(self.coordinates):
            sums: dict[int, Fraction] = {}
            for so_far, chance in known.items():
                for k, more in single.items():
                    sums[so_far + k] = sums.get(so_far + k, Fraction(0)) + chance * more
            known = sums
        low = sum((chance for k, chance in known.items() if k >= least), Fraction(0))
        return Interval(low, low + 1 - sum(known.values()))

    def _points(self, value: Points) -> NDArray[np.int64]:
        arrays = [value] if isinstance(value, np.ndarray) else [[each] for each in value]
        rows: list[Any] = [integers(np.array(each), name="coordinate") for each in arrays]
        if any(each.shape[1:] != (self.coordinates,) for each in rows):
            raise OutOfRange(f"give {self.coordinates} integers for each group.")
        return np.concatenate([np.empty((0, self.coordinates), np.int64), *rows])


def sums_of(points: NDArray[np.int64]) -> NDArray[Any]:
    """Return the sum of each row, exactly.

    >>> sums_of(np.array([[1 << 62, 1 << 62]])).tolist() == [1 << 63]
    True
    """
    largest = max(int(points.max(initial=0)), -int(points.min(initial=0)))
    kind = np.int64 if largest * points.shape[1] < INT64_MAX else object
    sums: NDArray[Any] = points.astype(kind).sum(axis=1)
    return sums


@functools.lru_cache(maxsize=4096)
def sum_tail(noise: Laplace | Gaussian, count: int, least: int) -> Fraction:
    """Bound the probability that so many noises add up to at least this (key ``sum-tail``).

    >>> float(sum_tail(Laplace(scale=100), 2, 2)), float(sum_tail(Gaussian(sigma=100), 2, 2))
    (0.5, 0.5)
    """
    if isinstance(noise, Gaussian):
        if noise.variance < 1:
            return _exp_up(Fraction(max(least, 0) ** 2) / (2 * count * noise.variance))
        if least <= count:
            return Fraction(1) if least < count else _HALF
        square = Fraction((least - count) ** 2) / (count * noise.variance)
        low = Fraction(math.isqrt(math.floor(square * _SMALL**2)), _SMALL)
        return Fraction(float_up(normal_cdf(-low).high))
    if least < count:
        return Fraction(1)
    x = Fraction(math.floor((least - count) / noise.scale * _SMALL), _SMALL)  # falls with x
    total, power = Fraction(0), Fraction(1)
    for j, factor in enumerate(_factors(count)):
        power = power * x / j if j else power
        total += factor * power
    return min(Fraction(1), Fraction(float_up(_exp_up(x) * total)))


def _exp_up(x: Fraction) -> Fraction:
    """Bound exp(-x) from above."""
    near = min(x, Fraction(_DEEPEST))
    bits = _BITS + 2 * math.ceil(near)
    return Fraction(exp_neg(near, bits)[1], 1 << bits)


@functools.lru_cache(maxsize=64)
def _factors(count: int) -> tuple[Fraction, ...]:
    return tuple(
        sum(
            (
                Fraction(math.comb(i - j + count - 1, count - 1), 1 << (i - j + count))
                for i in range(j, count)
            ),
            Fraction(0),
        )
        for j in range(count)
    )
