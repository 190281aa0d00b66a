"""VAR and STDDEV: a mean, and a mean of centered squares.

Trust: kernel.

Definition.  Besides the count and the centered sum of a mean, the sum of (x - c)**2 - h**2 / 2 is
measured, c the middle of the bounds and h half their range.

Theorem (key ``variance-error``).  Let t and v be the true mean and variance, |t| <= h, and let the
noisy number of rows be at least p.  If the mean is off by at most e, and the noise of
``variance-interval`` at t and v is at most q, the variance is off by at most q / p + e**2.
No factor there is larger than 2 h, and offset + h**2.  Dividing by n - 1 in place of n
multiplies that by p / (p - 1), and adds h**2 / (p - 1).

If a noisy number of rows is below 1, or below 2 for a variance of a sample, 1 or 2 takes its
place.  A variance of values between two bounds is at most a quarter of the square of their
distance, and that of a sample twice as much.  Its interval is widened to hold the value that is
shown.

Definition.  With n rows, S the sum of what the values are from the center, and Q that of their
squares less an offset each, the variance is offset + Q u - (S u)**2 for u = 1 / n.
Theorem (key ``variance-box``).  Let n, S, Q be in intervals, n >= 1.  For any u the variance is
largest at the largest Q and the smallest S**2, a concave function of u whose largest value is at
its vertex, or at the end of the interval of u that is nearest to it; and smallest at the smallest Q
and the largest S**2, a concave function again, which is smallest at one of the ends.
For a sample the range is multiplied by that of n / (n - 1), n >= 2.

Definition.  Let Z, X and Y be the noises of Q, S and n, in the units of the values, t a mean, v a
variance, and q(t, v) the reach of Z - 2 t X + (offset + t**2 - v) Y at a confidence.  They are sums
of multiples of independent draws, some of which they may share.
Theorem (key ``variance-interval``).  Let n >= 1, and let t = S / n lie in T but for a chance of b.
Then but for b and what the confidence of q leaves, the variance v satisfies for some t in T
|noisy Q - 2 t noisy S + (offset + t**2 - v) noisy n| <= q(t, v), and if noisy n is positive,
it is between the smallest and the largest value of w + (t - m)**2, less and more q / noisy n,
m being noisy S / noisy n and w = offset + noisy Q / noisy n - m**2.
Proof.  With t = S / n, Q - 2 t S + (offset + t**2 - v) n is n times offset + Q / n - t**2 - v = 0.
So the left side is the size of the noise; and divided by noisy n it is that of w + (t - m)**2 - v.
With larger factors of its draws the reach is no smaller than one step of each less (Birnbaum
1948), so the largest factors in T, and for the variances that were not excluded so far, may take
its place, over and over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from discreet.aggregates.intervals import Ends, Floats, hull, multiplied, widened
from discreet.aggregates.mean import WIDTH_WORDS, Mean, mean_interval, measure_mean
from discreet.aggregates.measurer import Measurer, shown
from discreet.aggregates.noisy_totals import Box, Intervals, Noisy
from discreet.exact import float_up
from discreet.plan.binding.value_facts import value_where_counted
from discreet.plan.estimator import (
    REFERENCE_WIDTH,
    Estimator,
    Factors,
    NoiseForecast,
    Predicted,
    four_digits_up,
)
from discreet.plan.noise_errors import Additive, half_width
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.statistics.fixed_point import fixed_square
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate
from discreet.query.types import Type
from discreet.requests.engine_request import Total

_VARIANCE_ROUNDING: Final = 2.0**-44
_FOR_MEAN: Final = Fraction(1, 10)
_ROUNDS: Final = 3
_STEPS: Final = 24
_POINTS: Final = 1 << 10
_ONE: Final = Fraction(1)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variance(Estimator):
    """A variance, or its root; ``offset`` was subtracted from each square before adding it up.

    ``sample`` divides by n - 1 where others divide by n.
    """

    mean: Mean
    squares: str
    square_step: Fraction
    offset: Fraction
    sample: bool
    root: bool

    def inputs(self) -> Iterator[ReleaseInput]:
        yield from (*self.mean.inputs(), (self.squares, None))

    def steps(self) -> Factors:
        return {**self.mean.steps(), self.squares: self.square_step}

    def error_terms(self) -> dict[ReleaseInput, Fraction]:
        """Take the error to first order, with the worst mean."""
        mean, radius = self.mean, self.mean.radius
        return {
            (self.squares, None): self.square_step,
            (mean.measure, None): 2 * radius * mean.step,
            (mean.count, None): self._largest_square() + 2 * radius * radius,
        }

    def weight(self, use: ReleaseInput) -> int:
        return 1 if use[0] == self.squares else 4

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        """Divide the noises of both numerators by the rows (key ``variance-error``)."""
        mean, radius = self.mean, self.mean.radius
        if forecast.size is None:
            words = f"about ± {self._about(forecast.half_width(self._joint()))}"
            return Predicted(output=name, half_width=None, words=words)
        half = largest = radius * radius
        widths, rows = forecast.divided(mean.count, mean.numerator(), self._joint())
        if rows > 1:
            half = (widths[1] + self.square_step) / rows + ((widths[0] + mean.step) / rows) ** 2
            if self.sample:
                half = half * rows / (rows - 1) + largest / (rows - 1)
        half = min(half, largest)
        return forecast.sized(name, _root_up(half) if self.root else half)

    def words_by_width(self, forecast: NoiseForecast, predicted: Predicted) -> str:
        """Say it as a multiple of the width of the bounds, or of its square."""
        if predicted.half_width is not None:
            power, factor = ("w", 1) if self.root else ("w**2", 2)
            half = four_digits_up(predicted.half_width / REFERENCE_WIDTH**factor)
            return f"about ± {half} {power} with {forecast.size} rows in the group, {WIDTH_WORDS}"
        width = forecast.drawn_half_width(self._joint()) / REFERENCE_WIDTH**2
        return f"about ± {self._about(width, ' w**2')}, {WIDTH_WORDS}"

    def value(self, kind: Type, noisy: Noisy) -> Floats:
        mean, least = self.mean, 2.0 if self.sample else 1.0
        rows = np.maximum(noisy.totals[mean.count].exact().nearest(), least)
        deviation = noisy.totals[mean.measure].exact().nearest() * float(mean.step) / rows
        squares = noisy.totals[self.squares].exact().nearest() * float(self.square_step)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = float(self.offset) + squares / rows - deviation**2
            if self.sample:
                variance *= rows / (rows - 1.0)
        inside = np.clip(variance, 0.0, _largest_variance(self))
        return np.sqrt(inside) if self.root else inside

    def interval(self, known: Intervals) -> Ends:
        """Return all variances that the noises allow together (key ``variance-interval``)."""
        return known.of_ratio(
            self.squares,
            self.mean.count,
            lambda part: hull(
                variance_interval(self, part.noisy, part.confidence),
                part.point(self.value(Type.FLOAT, part.noisy)),
            ),
            lambda part: self.range(part, part.box(self.totals())),
        )

    def range(self, known: Intervals, box: Box, coordinates: int = 0) -> Ends:
        """Return all variances that the box allows (key ``variance-box``)."""
        mean = self.mean
        ends = variance_range(self, box[mean.count], box[mean.measure], box[self.squares])
        return hull(ends, known.point(self.value(Type.FLOAT, known.noisy)))

    def _about(self, half: Fraction, unit: str = "") -> str:
        """Say an error times the number of rows, to first order; a root rises by 1 / (2 s)."""
        if self.root:
            return f"{four_digits_up(half / 2)}{unit} / (n s), for n rows and a deviation of s"
        return f"{four_digits_up(half)}{unit} / n, for n rows in the group"

    def _joint(self) -> Factors:
        """Return the noises with the largest factors that any mean and variance give them."""
        mean, radius = self.mean, self.mean.radius
        return {
            self.squares: self.square_step,
            mean.measure: 2 * radius * mean.step,
            mean.count: self.offset + radius * radius,
        }

    def _largest_square(self) -> Fraction:
        """Return how large a square less the offset is, at most."""
        return max(self.offset, self.mean.radius**2 - self.offset)


def measure_variance(measurer: Measurer, aggregate: Aggregate) -> Variance:
    """Measure a mean and the centered squares."""
    value, facts = measurer.value(aggregate)
    mean, (bounds, most) = measure_mean(measurer, aggregate), measurer.bounds(aggregate)
    steps = fixed_square(value, facts.type, bounds, center=mean.center, rows=most)
    total = Total(
        name="",
        row=value_where_counted(aggregate, steps.row),
        low=most * steps.low,
        high=most * steps.high,
        rows=measurer.limits.cap,
    )
    about = f"sum of squares of {said(value)} less {shown(mean.center)}"
    return Variance(
        mean=mean,
        squares=measurer.add("squares", total, about),
        square_step=steps.step,
        offset=steps.center,
        sample=aggregate.function.endswith("_SAMP"),
        root=aggregate.function.startswith("STDDEV"),
    )


def _root_up(value: Fraction) -> Fraction:
    return Fraction(float_up(Fraction(math.sqrt(float_up(value))) * (1 + Fraction(1, 10**12))))


def _largest_variance(estimator: Variance) -> float:
    """Return what no variance exceeds, rounded up."""
    width = estimator.mean.high - estimator.mean.low
    return float_up(width * width / (2 if estimator.sample else 4))


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
    most = _largest_variance(estimator)
    low, high = np.clip(low, 0.0, most), np.clip(np.where(np.isnan(high), most, high), 0.0, most)
    low = np.where(np.isnan(low) | (rows[1] < least), 0.0, low)
    high = np.where(rows[1] < least, most, high)
    if not estimator.root:
        return low, high
    bottom, top = widened(np.sqrt(low), np.sqrt(high))
    return np.maximum(bottom, 0.0), top


def variance_interval(estimator: Variance, noisy: Noisy, confidence: Fraction) -> Ends:
    """Return what the variance of each group is between, or its root.

    The mean gets a tenth of the chance to miss, and so does the number of rows of a sample.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.aggregates.noisy_totals import NoisyTotal, Run
    >>> one = lambda value, scale: NoisyTotal((
    ...     Run(values=np.array([value]), mechanism=Laplace(scale=scale)),))
    >>> noisy = Noisy(size=1, keys=(), chosen=(),
    ...               totals={"s": one(0, 50), "n": one(1000, 1), "q": one(-850_000, 1250)})
    >>> mean = Mean(measure="s", count="n", step=Fraction(1), center=Fraction(50),
    ...             low=Fraction(0), high=Fraction(100))
    >>> variance = Variance(mean=mean, squares="q", square_step=Fraction(1),
    ...     offset=Fraction(1250), sample=False, root=False)
    >>> [float(end[0].round()) for end in variance_interval(variance, noisy, Fraction(19, 20))]
    [394.0, 406.0]
    """
    mean, missed = estimator.mean, 1 - confidence
    most, offset = _largest_variance(estimator), float(estimator.offset)
    largest = float_up(mean.radius**2)
    count = noisy.totals[mean.count]
    noisy_rows = count.exact().nearest()
    rows = np.maximum(noisy_rows, 1.0)
    sums = noisy.totals[mean.measure].exact().nearest() * float(mean.step)
    squares = noisy.totals[estimator.squares].exact().nearest() * float(estimator.square_step)
    parts = 2 if estimator.sample else 1
    ends = mean_interval(mean, noisy, 1 - missed * _FOR_MEAN)
    ends = ends[0] - float(mean.center), ends[1] - float(mean.center)
    inside = (ends[0] <= 0.0) & (ends[1] >= 0.0)
    near = np.where(inside, 0.0, np.minimum(np.abs(ends[0]), np.abs(ends[1])))
    far = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    low, high = np.zeros(noisy.size), np.full(noisy.size, largest)
    with np.errstate(all="ignore"):
        middle = sums / rows
        apart = np.maximum(np.abs(ends[0] - middle), np.abs(ends[1] - middle)) ** 2
        outside = np.maximum(np.maximum(ends[0] - middle, middle - ends[1]), 0.0) ** 2
        center = offset + squares / rows - middle**2
        slack = _VARIANCE_ROUNDING * (offset + np.abs(squares / rows) + 2 * middle**2 + apart)
        for _ in range(_ROUNDS):
            rest = offset + near**2 - high, offset + far**2 - low
            reach = _reach(estimator, noisy, ends, rest, 1 - missed * (1 - parts * _FOR_MEAN))
            reach = reach / rows + slack
            low = np.clip(center + outside - reach, 0.0, largest)
            high = np.clip(center + apart + reach, np.minimum(reach, largest), largest)
    if estimator.sample:
        known = count.interval(1 - missed * _FOR_MEAN)
        least, top = np.maximum(known[0], 2.0), np.maximum(known[1], 2.0)
        low, high = multiplied((low, high), widened(top / (top - 1.0), least / (least - 1.0)))
    unknown = (noisy_rows < 1.0) | np.isnan(low) | np.isnan(high)
    low = np.where(unknown, 0.0, np.clip(low, 0.0, most))
    high = np.where(unknown, most, np.clip(high, 0.0, most))
    if not estimator.root:
        return low, high
    bottom, top = widened(np.sqrt(low), np.sqrt(high))
    return np.maximum(bottom, 0.0), top


def _reach(
    estimator: Variance, noisy: Noisy, means: Ends, rest: Ends, confidence: Fraction
) -> Floats:
    """Return the reach of all noises, for means and factors of the count between some ends.

    The factor of a draw, which several totals may hold, is largest at a corner, and is rounded up
    to one of a few.
    """
    totals, radius = noisy.totals, float_up(estimator.mean.radius)
    steps = estimator.square_step, estimator.mean.step, _ONE
    names = estimator.squares, estimator.mean.measure, estimator.mean.count
    parts: dict[object, list[float]] = {}
    laws: dict[object, Additive] = {}
    for at, (name, step) in enumerate(zip(names, steps, strict=True)):
        for run in totals[name].runs:
            draw = run.draw or run
            laws[draw] = run.mechanism
            parts.setdefault(draw, [0.0, 0.0, 0.0])[at] += float(run.weight * step)
    most = 1.0, 2.0 * radius, 2.0 * radius**2
    tops = [sum(abs(x) * y for x, y in zip(each, most, strict=True)) for each in parts.values()]
    levels = []
    for (square, total, count), top in zip(parts.values(), tops, strict=True):
        factors = [square - 2 * t * total + c * count for t in means for c in rest]
        sizes = np.max(np.abs(factors), axis=0) * (1 + _VARIANCE_ROUNDING)
        fixed = not (total or count)
        levels.append(np.full(noisy.size, _STEPS) if fixed else np.ceil(sizes / top * _STEPS))
    rows, places = np.unique(np.stack(levels), axis=1, return_inverse=True)
    found = []
    for column in rows.T.tolist():
        pairs = zip(column, tops, laws.values(), strict=True)
        terms = tuple((Fraction(top) * Fraction(level) / _STEPS, law) for level, top, law in pairs)
        more = sum((weight for weight, _ in terms), Fraction(0))
        found.append(float_up(half_width(terms, confidence, points=_POINTS) + more))
    return np.array(found)[places.ravel()]


def _at(inverse: Floats, offset: float, square: Floats, deviation: Floats, way: float) -> Floats:
    """Return offset + Q u - (S u)**2, moved by more than the rounding errors."""
    first, second = square * inverse, (deviation * inverse) ** 2
    return (
        offset + first - second + way * _VARIANCE_ROUNDING * (abs(offset) + np.abs(first) + second)
    )
