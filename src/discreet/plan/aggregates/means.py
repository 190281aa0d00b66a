"""AVG: a centered sum over a count.

Trust: kernel.

Definition.  AVG is measured by the count of its rows, and the sum of x - c, c the middle of the
bounds.

Theorem (key ``mean-error``).  Let X and Y be the noises of a centered sum and a count, with
|S / n| <= h for the true ones.  Then (S + X) / (n + Y) differs from S / n by at most
|X - (S / n) Y| / (n + Y).  If X + h Y stays within R with chance 1 - 9 b / 10 (key
``lattice-spread``), and Y above -r with chance 1 - b / 10, that is at most (R + u) / (n -
r) with chance 1 - b, u being a step of X.
Proof.  Given Y, X is symmetric with one mode, so it lies less often in an interval the further away
that is from zero, and h Y is the furthest; an interval that is longer by u on both sides holds at
least as many steps as any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.plan.aggregates.estimator import (
    REFERENCE_WIDTH,
    Estimator,
    NoiseForecast,
    Predicted,
    Terms,
    four_digits_up,
)
from discreet.plan.aggregates.measurer import Measurer, ends_in_steps
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.statistics.contribution_bounds import bounds_by_group
from discreet.plan.statistics.fixed_point import fixed_open
from discreet.query.expressions import Aggregate

WIDTH_WORDS = "w the width of the bounds"


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
        """Need the count and the sum."""
        yield from ((self.count, None), (self.measure, None))

    def steps(self) -> Terms:
        """Return the step of the sum."""
        return {self.measure: self.step}

    def numerator(self) -> Terms:
        """Return the noises of the sum and, for the farthest mean, of the count."""
        return {self.measure: self.step, self.count: self.radius}

    def error_terms(self) -> dict[ReleaseInput, Fraction]:
        """Multiply the noise of the count by the farthest mean."""
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
