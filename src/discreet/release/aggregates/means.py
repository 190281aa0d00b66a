"""The value and the interval of a mean, given a noisy sum and a noisy number of rows.

Trust: public.

Where a noisy number of rows is below 1, 1 takes its place.  A mean lies between the bounds of its
values, and its interval is widened to hold the value that is shown.

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
Theorem (key ``reach-rises``; a discrete form of Anderson's inequality (1955)).  Let X be symmetric
on the multiples of s, with chances that fall with the distance from zero, and Y symmetric and
independent of it.  For 0 <= t <= t' and every r, P[|X + t' Y| <= r] <= P[|X + t Y| <= r + s].
Proof.  It is enough to compare y = t |Y| and y' = t' |Y|, given Y.  Let B be the multiples of s
from y' - r to y' + r, and k the floor of (y' - y) / s.  B shifted by -k s lies between y - r and
y + r + s.  Its center is no farther from zero than that of B: this is at least y' - s / 2, so the
shifted one is at least -s / 2, and both are multiples of s / 2.  Of blocks of equal length those
with a center nearer to zero have the larger chance.
For any X, |X + t Y| <= |X + t' Y| + (t' - t) |Y|; so the reach at a slightly larger confidence and
the reach of (t' - t) Y at the rest of it will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.exact import float_down, float_up
from discreet.plan.aggregates.means import Mean
from discreet.query.types import Type
from discreet.release.aggregates.kind import Box, RatioKind
from discreet.release.half_width import half_width, paired_half_widths
from discreet.release.interval_arithmetic import Ends, added, divided, hull, multiplied, widened
from discreet.release.noisy_totals import Intervals, Noisy, NoisyTotal
from discreet.release.value_arrays import Floats
from discreet.requests.raw_totals import Integers

_CELLS: Final = 48
_POINTS: Final = 1 << 10
_REST: Final = Fraction(1, 50)
_ROUNDS: Final = 3
_ROUNDING: Final = 2.0**-48


@final
class MeanKind(RatioKind[Mean]):
    """A ratio of two totals."""

    def value(self, estimator: Mean, kind: Type, noisy: Noisy) -> Floats:
        """Divide the sum by the number of rows."""
        del kind
        rows = np.maximum(noisy.totals[estimator.count].exact().nearest(), 1.0)
        deviation = noisy.totals[estimator.measure].exact().nearest() * float(estimator.step) / rows
        low, high = float(estimator.low), float(estimator.high)
        return np.clip(float(estimator.center) + deviation, low, high)

    def of_noise(self, estimator: Mean, known: Intervals) -> Ends:
        """Return all ratios that the two noises allow."""
        ends = mean_interval(estimator, known.noisy, known.confidence)
        return hull(ends, self._point(estimator, known))

    def range(self, estimator: Mean, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        """Divide the sides of the box."""
        del coordinates
        rows = tuple(np.maximum(end, 1.0) for end in box[estimator.count])
        sums = multiplied(known.constant(estimator.step), box[estimator.measure])
        low, high = added(known.constant(estimator.center), divided(sums, (rows[0], rows[1])))
        return hull(_within_bounds(estimator, low, high), self._point(estimator, known))

    def _point(self, estimator: Mean, known: Intervals) -> Ends:
        return known.point(self.value(estimator, Type.FLOAT, known.noisy))


def _within_bounds(estimator: Mean, low: Floats, high: Floats) -> Ends:
    least, most = float_down(estimator.low), float_up(estimator.high)
    return np.clip(low, least, most), np.clip(high, least, most)


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
    return _within_bounds(estimator, bottom, top)


def _cells(
    estimator: Mean, total: NoisyTotal, count: NoisyTotal, confidence: Fraction
) -> tuple[Floats, Floats]:
    """Return edges between which theta lies, from the lowest on, and the reach between each two."""
    upper = float_up(estimator.radius) * (np.arange(1.0, _CELLS + 1.0) / _CELLS)
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
    widths = [
        half_width((*total.terms(step), *count.terms(edge)), within, points=_POINTS)
        for edge in edges
    ]
    return np.array([float_up(width + more) for width in widths])


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
        return self._outermost(first, final_, 1), self._outermost(final_, first, -1)

    def _outermost(self, start: Integers, stop: Integers, way: int) -> Floats:
        """Go from cell to cell until one holds a theta, and return the outermost there."""
        thetas = np.full(self.sums.size, np.nan)
        waiting, cell = np.arange(self.sums.size), start
        while waiting.size:
            low, high = self._solved(waiting, self.reached[cell])
            low, high = np.maximum(low, self.edges[cell]), np.minimum(high, self.edges[cell + 1])
            some = low <= high
            thetas[waiting[some]] = (low if way > 0 else high)[some]
            left = ~some & ((stop[waiting] - cell) * way > 0)
            waiting, cell = waiting[left], cell[left] + way
        return thetas

    def _solved(self, places: Integers, reached: Floats) -> Ends:
        """Return between what theta lies, if that far from zero is allowed."""
        sums, rows = self.sums[places], self.rows[places]
        far = reached + np.abs(sums) * _ROUNDING
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first, second = (sums - far) / rows, (sums + far) / rows
        return widened(np.minimum(first, second), np.maximum(first, second))
