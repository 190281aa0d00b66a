"""AVG: a centered sum over a count.

Trust: kernel.
Proofs are in docs/proofs/plan.md.

Definition.  AVG is measured by the count of its rows, and the sum of x - c, c the middle of the
bounds.

Theorem (key ``mean-error``).  Let X and Y be the noises of a centered sum and a count, with
|S / n| <= h for the true ones.  Then (S + X) / (n + Y) differs from S / n by at most
|X - (S / n) Y| / (n + Y).  If X + h Y stays within R with chance 1 - 9 b / 10 (key
``weighted-noise-reach``), and Y above -r with chance 1 - b / 10, that is at most (R + u) / (n -
r) with chance 1 - b, u being a step of X.
Proof.  Given Y, X is symmetric with one mode, so it is less often in an interval the further away
that is from zero, and h Y is the furthest; an interval that is longer by u on both sides holds at
least as many steps as any other.

If a noisy number of rows is below 1, 1 takes its place.  A mean is between the bounds of its
values, and its interval is widened to hold the value that is shown.

Definition.  A mean of values at most H away from a center is center + theta, theta = S / n.  The
noisy sum is S + s Z, in steps of s, and the noisy number of rows n + Y.  For every theta let q be
the reach of s Z - theta Y at the confidence.  The interval holds every theta within H for which
|noisy S - theta noisy n| <= q.  If there is none, noise has moved the ratio far beyond a
bound, and the interval reaches inward from there as far as noise does: a point would be read as
certain.
Theorem (key ``ratio-interval``; after Fieller 1954).  If n >= 1, the interval holds the mean with
at least the confidence, and no share of it is lost to treating the two noises apart.
Proof.  For the true theta, noisy S - theta noisy n = s Z - theta Y: its distance from zero is at
most q with this probability, and then the interval holds theta.

The reach is computed between a few thetas only.
The error is a sum of a(i) Z(i), with factors a(i) that are linear in theta; a sum and a count may
share noises (key ``simplex-release``).  Between two thetas none of them is larger in size than
b(i), its size at one of the two.
Theorem (key ``peaked-reach``; after Birnbaum 1948).  Let Z(i) be independent and symmetric on the
whole numbers, with chances that fall with the distance from zero, and |a(i)| <= b(i).  Then
P[|sum of a(i) Z(i)| > r + sum of b(i)] <= P[|sum of b(i) Z(i)| > r] for every r.
Of two noises the sum is a(1) (Z(1) + t Z(2)), and its reach that of a weight t, the largest ratio
between the two thetas, times the largest a(1) (key ``paired-reach``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.aggregates.intervals import Ends, Floats, added, divided, hull, multiplied, widened
from discreet.aggregates.measurer import Measurer, ends_in_steps
from discreet.aggregates.noisy_totals import Box, Intervals, Noisy, NoisyTotal
from discreet.exact import float_down, float_up
from discreet.plan.estimator import (
    REFERENCE_WIDTH,
    Estimator,
    Factors,
    NoiseForecast,
    Predicted,
    four_digits_up,
)
from discreet.plan.noise_errors import Additive, half_width, paired_half_widths
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.statistics.contribution_bounds import bounds_by_group
from discreet.plan.statistics.fixed_point import fixed_open
from discreet.query.expressions import Aggregate
from discreet.query.types import Type
from discreet.requests.raw_totals import Integers

WIDTH_WORDS: Final = "w the width of the bounds"
_CELLS: Final = 48
_POINTS: Final = 1 << 10
_ROUNDS: Final = 3
_ROUNDING: Final = 2.0**-48
_WIDE: Final = 12
_LEAST: Final = 2.0**-30


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(Estimator):
    """A mean of values between public bounds."""

    measure: str
    count: str
    step: Fraction
    center: Fraction
    low: Fraction
    high: Fraction

    @property
    def radius(self) -> Fraction:
        """How far a value is from the center, at most."""
        return max(self.center - self.low, self.high - self.center)

    def inputs(self) -> Iterator[ReleaseInput]:
        yield from ((self.count, None), (self.measure, None))

    def steps(self) -> Factors:
        return {self.measure: self.step}

    def numerator(self) -> Factors:
        """Return the noises of the sum and, for the farthest mean, of the count."""
        return {self.measure: self.step, self.count: self.radius}

    def error_terms(self) -> dict[ReleaseInput, Fraction]:
        return {(name, None): factor for name, factor in self.numerator().items()}

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        """Divide the noise of the numerator by the rows (key ``mean-error``)."""
        if forecast.size is None:
            width = four_digits_up(forecast.half_width(self.numerator()))
            words = f"± {width} / n, for n rows in the group"
            return Predicted(output=name, half_width=None, words=words)
        widths, rows = forecast.divided(self.count, self.numerator())
        largest = self.high - self.low
        half = min((widths[0] + self.step) / rows, largest) if rows > 0 else largest
        return forecast.sized(name, half)

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:
        """Say it as a multiple of the width of the bounds."""
        if predicted.half_width is not None:
            half = four_digits_up(predicted.half_width / REFERENCE_WIDTH)
            return f"about ± {half} w with {forecast.size} rows in the group, {WIDTH_WORDS}"
        width = four_digits_up(forecast.drawn_half_width(self.numerator()) / REFERENCE_WIDTH)
        return f"about ± {width} w / n, for n rows in the group, {WIDTH_WORDS}"

    def value(self, kind: Type, noisy: Noisy) -> Floats:
        rows = np.maximum(noisy.totals[self.count].exact().nearest(), 1.0)
        deviation = noisy.totals[self.measure].exact().nearest() * float(self.step) / rows
        return np.clip(float(self.center) + deviation, float(self.low), float(self.high))

    def interval(self, known: Intervals) -> Ends:
        """Return all ratios that the two noises allow."""
        return known.of_ratio(
            self.measure,
            self.count,
            lambda part: hull(mean_interval(self, part.noisy, part.confidence), self._point(part)),
            lambda part: self.range(part, part.box(self.totals())),
        )

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        rows = np.maximum(box[self.count][0], 1.0), np.maximum(box[self.count][1], 1.0)
        sums = multiplied(known.constant(self.step), box[self.measure])
        low, high = added(known.constant(self.center), divided(sums, rows))
        return hull(_within_bounds(self, low, high), self._point(known))

    def _point(self, known: Intervals) -> Ends:
        return known.point(self.value(Type.FLOAT, known.noisy))


def measure_mean(measurer: Measurer, aggregate: Aggregate) -> Mean:
    """Measure a sum and a count; with bounds per group each unit counts once, with its own mean."""
    pair = bounds_by_group(aggregate)
    if pair is None:
        (low, high), most = measurer.bounds(aggregate)
        count = measurer.count(aggregate, (0, most))
        name, steps = measurer.centered(aggregate)
    else:
        low, high = pair
        value, facts = measurer.value(aggregate)
        count = measurer.count(aggregate, (0, 1))
        center = Fraction(float(sum(pair) / 2))
        steps = fixed_open(value, facts.type, pair, center=center)
        cap = None if measurer.limits.single else 1
        name = measurer.total(aggregate, steps, ends_in_steps(pair, steps), cap=cap)
    return Mean(measure=name, count=count, step=steps.step, center=steps.center, low=low, high=high)


def _within_bounds(estimator: Mean, low: Floats, high: Floats) -> Ends:
    least, most = float_down(estimator.low), float_up(estimator.high)
    return np.clip(low, least, most), np.clip(high, least, most)


def mean_interval(estimator: Mean, noisy: Noisy, confidence: Fraction) -> Ends:
    """Return what the mean of each group is between.

    >>> import numpy as np
    >>> from discreet.mechanisms import Laplace
    >>> from discreet.aggregates.noisy_totals import NoisyTotal, Run
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
    reach = ratios.reached[-1] / np.maximum(rows, 1.0)
    none, far = np.isnan(low), float_up(estimator.radius)
    low = np.where(none, np.minimum(point, far - reach), low)
    high = np.where(none, np.maximum(point, reach - far), high)
    center = np.full(noisy.size, float(estimator.center))
    bottom, top = added((low, high), widened(center, center))
    return _within_bounds(estimator, bottom, top)


def _cells(
    estimator: Mean, total: NoisyTotal, count: NoisyTotal, confidence: Fraction
) -> tuple[Floats, Floats]:
    """Return edges between which theta lies, from the lowest on, and the reach between each two."""
    upper = float_up(estimator.radius) * (np.arange(1.0, _CELLS + 1.0) / _CELLS)
    edges = np.concatenate([-upper[::-1], [0.0], upper])
    if {run.draw for run in total.runs}.isdisjoint(run.draw for run in count.runs if run.draw):
        reached = _reached(estimator.step, total, count, edges[_CELLS:], confidence)
        below = above = np.maximum.accumulate(reached)  # independent noises, of either sign alike
    else:
        reached = _reached(estimator.step, total, count, edges, confidence)
        below, above = map(np.maximum.accumulate, (reached[:_CELLS][::-1], reached[_CELLS:]))
    return edges, np.concatenate([below[::-1], above])


def _reached(
    step: Fraction, total: NoisyTotal, count: NoisyTotal, edges: Floats, confidence: Fraction
) -> Floats:
    """Return the reach between each two edges of theta."""
    runs = [*total.runs, *count.runs]
    draws = {name for run in runs for name, *_ in run.parts()}
    some = edges if len(draws) == 2 else edges[:: (edges.size - 1) // _WIDE]
    thetas = [Fraction(edge) for edge in some.tolist()]
    noises: dict[object, Additive] = {}
    factors: dict[object, list[Fraction]] = {}
    for sign, each in ((0, total), (1, count)):
        for name, weight, law in (part for run in each.runs for part in run.parts()):
            noises[name] = law
            known = factors.setdefault(name, [Fraction(0)] * len(thetas))
            for at, theta in enumerate(thetas):
                known[at] += weight * (-theta if sign else step)
    laws = list(noises.values())
    sizes = np.array([[float_up(abs(each)) for each in factors[name]] for name in noises])
    largest = np.maximum(sizes[:, :-1], sizes[:, 1:])
    if len(laws) == 2:
        first = np.argmax(largest, axis=0) * (laws[0] == laws[1])
        cells = np.arange(first.size)
        top, least = largest[first, cells], np.minimum(sizes[:, :-1], sizes[:, 1:])[first, cells]
        with np.errstate(divide="ignore"):
            ratio = np.maximum(largest[1 - first, cells] / least, _LEAST) * (1 + _ROUNDING)
        if bool(np.isfinite(ratio).all()):
            pair = (Fraction(1), laws[0])
            found = paired_half_widths(pair, laws[1], ratio, float(1 - confidence))
            if found is not None:
                reached: Floats = found * top * (1 + _ROUNDING)
                return reached
    widths = [
        half_width(
            tuple((Fraction(size), law) for size, law in zip(here, laws, strict=True)),
            confidence,
            points=_POINTS,
        )
        + sum(map(Fraction, here))
        for here in largest.T.tolist()
    ]
    return np.repeat([float_up(width) for width in widths], (edges.size - 1) // len(widths))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Ratios:
    """Noisy sums and numbers of rows, and the reach between edges of theta."""

    sums: Floats
    rows: Floats
    edges: Floats
    reached: Floats

    def ends(self) -> Ends:
        """Return the smallest and the largest theta that intervals hold, or NaN.

        The reach rises with the distance from zero.  So no theta is outside of where the larger
        reach of two cells leaves it, if none is outside of these cells.
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
