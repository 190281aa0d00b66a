"""Confidence intervals of means, variances and quantiles.

Trust: public.

Between what a mean lies, given a noisy sum and a noisy number of rows.

Definition.  A mean of values at most H away from a center is center + theta, theta = S / n.  The
noisy sum is S + s Z, in steps of s, and the noisy number of rows n + Y.  For every theta let q be
the reach of s Z - theta Y at the confidence.  The interval holds every theta within H for which
|noisy S - theta noisy n| <= q.
Theorem (key ``ratio-interval``; after Fieller 1954).  If n >= 1, the interval holds the mean with
at least the confidence, and no share of it is lost to treating the two noises apart.
Proof.  For the true theta, noisy S - theta noisy n = s Z - theta Y: its distance from zero is at
most q with this probability, and then the interval holds theta.

The reach is computed at a few distances of theta only.  Of one noise each, what it is at most below
each of them is computed at once (key ``paired-reach``).  Else it is at most that reach and one
step s, or, where the sum has the noise of several runs, a little more.
Theorem (key ``reach-rises``).  Let X be symmetric on the multiples of s, with chances that
fall with the distance from zero, and Y symmetric and independent of it.  For 0 <= t <= t' and
every r, P[|X + t' Y| <= r] <= P[|X + t Y| <= r + s].
Proof.  It is enough to compare y = t |Y| and y' = t' |Y|, given Y.  Let B be the multiples of s
from y' - r to y' + r, and k the floor of (y' - y) / s.  B shifted by -k s lies between y - r and
y + r + s.  Its center is no farther from zero than that of B: this is at least y' - s / 2, so the
shifted one is at least -s / 2, and both are multiples of s / 2.  Of blocks of equal length those
with a center nearer to zero have the larger chance.
For any X, |X + t Y| <= |X + t' Y| + (t' - t) |Y|; so the reach at a slightly larger confidence and
the reach of (t' - t) Y at the rest of it will do.

The range of a variance over a box of a number of rows, a sum and a sum of squares.

Definition.  With n rows, S the sum of what the values are from the center, and Q that of their
squares less an offset each, the variance is offset + Q u - (S u)**2 for u = 1 / n.
Theorem (key ``variance-box``).  Let n, S, Q lie in intervals, n >= 1.  For any u the variance is
largest at the largest Q and the smallest S**2, a concave function of u whose largest value is at
its vertex, or at the end of the interval of u that is nearest to it; and smallest at the smallest Q
and the largest S**2, a concave function again, which is smallest at one of the ends.
For a sample the range is multiplied by that of n / (n - 1), n >= 2.

Between what a quantile lies.

 Intervals are functions of what is released.

Definition.  What a quantile is, is said in :mod:`discreet.plan.forecast.noise_quantiles`: any
number between the two values whose ranks are next to it.  Its interval goes from the lower edge of
the leaf that was chosen below it to the upper edge of the one that was chosen above it.  An end
that nothing was chosen for, or that misses more often than the confidence allows, is at the bounds
of the values.
Theorem (key ``quantile-ends``).  Each end misses with a chance of at most (1 - confidence) / 2, the
only end of the lowest and of the highest value with at most 1 - confidence.  So the interval holds
the quantile with the confidence, whatever the values are, and however few.
If the leaf from below is above the one from above, one of them missed; the interval then holds
both.  A value next to the edge of a leaf may be counted in the leaf beside it, where floats are
rounded; so edges are moved outward by more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.plan.forecast.noise_quantiles import ranks_aside
from discreet.plan.statistics.estimators import Grid, Mean, QuantileEstimator, Variance
from discreet.release.confidence_intervals.half_width import half_width
from discreet.release.confidence_intervals.noise_tails import paired_half_widths
from discreet.release.estimates import ends_for, largest_variance
from discreet.release.interval_arithmetic import Ends, added, multiplied, widened
from discreet.release.noisy_totals import Chosen, Noisy, NoisyTotal
from discreet.release.value_arrays import Floats, weighted
from discreet.requests.raw_totals import Integers

__all__ = ["mean_interval", "quantile_interval", "variance_range"]

_CELLS: Final = 48
_POINTS: Final = 1 << 10
_REST: Final = Fraction(1, 50)
_ROUNDS: Final = 3
_ROUNDING: Final = 2.0**-48


def mean_interval(estimator: Mean, noisy: Noisy, confidence: Fraction) -> Ends:
    """Return what the mean of each group lies between.

    >>> import numpy as np
    >>> from discreet.mechanisms import Laplace
    >>> from discreet.release.noisy_totals import NoisyTotal, Run
    >>> one = lambda value, scale: NoisyTotal((
    ...     Run(values=np.array([value]), mechanism=Laplace(scale=scale)),))
    >>> noisy = Noisy(size=1, keys=(), chosen=(),
    ...               totals={"sum": one(-500, 50), "count": one(1000, 1)})
    >>> mean = Mean(measure="sum", count="count", step=Fraction(1), center=Fraction(50),
    ...             low=Fraction(0), high=Fraction(100))
    >>> [float(end[0].round(2)) for end in mean_interval(mean, noisy, Fraction(19, 20))]
    [49.35, 49.65]
    """
    total, count = noisy.totals[estimator.measure], noisy.totals[estimator.count]
    sums = total.exact().nearest() * float(estimator.step)
    rows = count.exact().nearest()
    ratios = _Ratios(sums, rows, *_cells(estimator, total, count, confidence))
    point = sums / np.maximum(rows, 1.0)
    low, high = ratios.ends()
    low, high = np.where(np.isnan(low), point, low), np.where(np.isnan(high), point, high)
    center = np.full(noisy.size, float(estimator.center))
    bottom, top = added((low, high), widened(center, center))
    least, most = float_down(estimator.low), float_up(estimator.high)
    return np.clip(bottom, least, most), np.clip(top, least, most)


def _cells(
    estimator: Mean, total: NoisyTotal, count: NoisyTotal, confidence: Fraction
) -> tuple[Floats, Floats]:
    """Return edges between which theta lies, from the lowest on, and the reach between each two."""
    farthest = max(estimator.high - estimator.center, estimator.center - estimator.low)
    upper = float_up(farthest) * (np.arange(1.0, _CELLS + 1.0) / _CELLS)
    reached = _paired(estimator.step, total, count, upper, confidence)
    if reached is None:
        edges = [Fraction(edge) for edge in upper.tolist()]
        reached = _one_by_one(estimator.step, total, count, edges, confidence)
    reached = np.maximum.accumulate(reached)
    return np.concatenate([-upper[::-1], [0.0], upper]), np.concatenate([reached[::-1], reached])


def _paired(
    step: Fraction, total: NoisyTotal, count: NoisyTotal, edges: Floats, confidence: Fraction
) -> Floats | None:
    """Return the reach below each edge where there are two noises that are known well."""
    terms = (*total.terms(step), *count.terms())
    if len(terms) != 2:
        return None
    fine, (weight, coarse) = terms
    return paired_half_widths(fine, coarse, edges * float_up(weight), float(1 - confidence))


def _one_by_one(
    step: Fraction,
    total: NoisyTotal,
    count: NoisyTotal,
    edges: Sequence[Fraction],
    confidence: Fraction,
) -> Floats:
    """Return the reach below each edge from that at the edge."""
    more, within = step, confidence
    if len(total.runs) > 1:
        rest = (1 - confidence) * _REST
        more, within = half_width(count.terms(edges[0]), 1 - rest), confidence + rest
    found = [
        half_width((*total.terms(step), *count.terms(edge)), within, points=_POINTS)
        for edge in edges
    ]
    return np.array([float_up(each + more) for each in found])


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Ratios:
    """Noisy sums and numbers of rows, and the reach between edges of theta."""

    sums: Floats
    rows: Floats
    edges: Floats
    reached: Floats

    def ends(self) -> Ends:
        """Return the smallest and the largest theta that intervals hold, NaN where there is none.

        The reach rises with the distance from zero.  So no theta lies outside of where the larger
        reach of two cells leaves it, if none lies outside of these cells.
        """
        everywhere, last = np.arange(self.sums.size), self.reached.size - 1
        first, final_ = np.zeros_like(everywhere), np.full_like(everywhere, last)
        for _ in range(_ROUNDS):
            far = np.maximum(self.reached[first], self.reached[final_])
            low, high = self._solved(everywhere, far)
            first = np.maximum(first, np.searchsorted(self.edges, low, side="left") - 1)
            final_ = np.minimum(final_, np.searchsorted(self.edges, high, side="right") - 1)
            first, final_ = np.minimum(first, last), np.maximum(final_, 0)
        return self._found(first, final_, 1), self._found(final_, first, -1)

    def _found(self, start: Integers, stop: Integers, way: int) -> Floats:
        """Go from cell to cell until one holds a theta, and return the outermost there."""
        found = np.full(self.sums.size, np.nan)
        waiting, at = np.arange(self.sums.size), start
        while waiting.size:
            low, high = self._solved(waiting, self.reached[at])
            low, high = np.maximum(low, self.edges[at]), np.minimum(high, self.edges[at + 1])
            some = low <= high
            found[waiting[some]] = (low if way > 0 else high)[some]
            left = ~some & ((stop[waiting] - at) * way > 0)
            waiting, at = waiting[left], at[left] + way
        return found

    def _solved(self, places: Integers, reached: Floats) -> Ends:
        """Return between what theta lies, if that far from zero is allowed."""
        sums, rows = self.sums[places], self.rows[places]
        far = reached + np.abs(sums) * _ROUNDING
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first, second = (sums - far) / rows, (sums + far) / rows
        return widened(np.minimum(first, second), np.maximum(first, second))


_VARIANCE_ROUNDING: Final = 2.0**-44


def variance_range(estimator: Variance, rows: Ends, sums: Ends, squares: Ends) -> Ends:
    """Return all variances, or their roots, that a box of totals in whole steps allows."""
    least = 2.0 if estimator.sample else 1.0
    count = np.maximum(rows[0], least), np.maximum(rows[1], least)
    inverse = 1.0 / count[1], 1.0 / count[0]
    sums = float(estimator.mean.step) * sums[0], float(estimator.mean.step) * sums[1]
    smallest = np.where(
        (sums[0] <= 0.0) & (sums[1] >= 0.0), 0.0, np.minimum(np.abs(sums[0]), np.abs(sums[1]))
    )
    largest = np.maximum(np.abs(sums[0]), np.abs(sums[1]))
    low_square, high_square = (float(estimator.square_step) * end for end in squares)
    offset = float(estimator.offset)
    with np.errstate(all="ignore"):
        vertex = np.clip(
            np.nan_to_num(high_square / (2.0 * smallest**2), nan=0.0), inverse[0], inverse[1]
        )
        high = _at(vertex, offset, high_square, smallest, 1.0)
        ends = [_at(end, offset, low_square, largest, -1.0) for end in inverse]
        low = np.minimum(*ends)
    if estimator.sample:
        factor = widened(count[1] / (count[1] - 1.0), count[0] / (count[0] - 1.0))
        low, high = multiplied((low, high), factor)
    most = largest_variance(estimator)
    low, high = np.clip(low, 0.0, most), np.clip(np.where(np.isnan(high), most, high), 0.0, most)
    low = np.where(np.isnan(low) | (rows[1] < least), 0.0, low)
    high = np.where(rows[1] < least, most, high)
    if not estimator.root:
        return low, high
    bottom, top = widened(np.sqrt(low), np.sqrt(high))
    return np.maximum(bottom, 0.0), top


def _at(inverse: Floats, offset: float, square: Floats, deviation: Floats, way: float) -> Floats:
    """Return offset + Q u - (S u)**2, moved by more than the rounding errors."""
    first, second = square * inverse, (deviation * inverse) ** 2
    return (
        offset + first - second + way * _VARIANCE_ROUNDING * (abs(offset) + np.abs(first) + second)
    )


_EDGE_ROUNDING: Final = Fraction(1, 1 << 48)
_HALF: Final = Fraction(1, 2)


def quantile_interval(quantile: QuantileEstimator, noisy: Noisy, confidence: Fraction) -> Ends:
    """Return what the quantile of each group lies between.

    >>> from discreet.mechanisms import Exponential
    >>> from discreet.plan.pricing.group_sensitivity import Choice
    >>> def chosen(offset, leaf):
    ...     choice = Choice(measure="age", level=Fraction(1, 2), offset=offset, rows=1, groups=1,
    ...                     available=None, mechanism=Exponential(candidates=111, scale=2))
    ...     return Chosen(choice=choice, leaves=np.array([leaf]))
    >>> noisy = Noisy(size=1, keys=(), totals={},
    ...               chosen=(chosen(0, 41), chosen(-17, 38), chosen(17, 45)))
    >>> ages = Grid(low=Fraction(0), width=Fraction(1), leaves=111)
    >>> median = QuantileEstimator(measure="age", level=Fraction(1, 2), offset=0, grid=ages)
    >>> [end.tolist() for end in quantile_interval(median, noisy, Fraction(19, 20))]
    [[38.0], [45.0]]
    >>> [end.tolist() for end in quantile_interval(median, noisy, Fraction(99, 100))]
    [[0.0], [110.0]]
    """
    below, above = ends_for(quantile, noisy)
    inside = 0 < quantile.level < 1
    missed = (1 - confidence) / (2 if inside else 1)
    first = np.zeros(noisy.size, np.int64)
    last = np.full(noisy.size, quantile.grid.leaves - 1, np.int64)
    low = below.leaves if below is not None and _enough(below, missed) else first
    high = above.leaves if above is not None and _enough(above, missed) else last
    return _edges(quantile.grid, np.minimum(low, high), np.maximum(low, high))


def _enough(chosen: Chosen, missed: Fraction) -> bool:
    """Say whether an end is aimed so far aside that it misses rarely enough."""
    choice = chosen.choice
    need = ranks_aside(choice.level, choice.mechanism, missed, above=choice.side > 0)
    return need <= abs(choice.offset)


def _edges(grid: Grid, low: Integers, high: Integers) -> Ends:
    """Return the lower edges of some leaves and the upper ones of others."""
    half = grid.shift * grid.width
    slack = grid.leaves * grid.width * _EDGE_ROUNDING if grid.shift == _HALF else Fraction(0)
    ones = np.ones(low.shape, np.int64)
    bottom = weighted([(grid.width, low), (grid.value(0) - half - slack, ones)]).down()
    top = weighted([(grid.width, high), (grid.value(0) + half + slack, ones)]).up()
    most = grid.value(grid.leaves - 1) + half if grid.high is None else grid.high
    return np.maximum(bottom, float_down(grid.low)), np.minimum(top, float_up(most))
