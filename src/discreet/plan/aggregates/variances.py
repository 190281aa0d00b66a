"""VAR and STDDEV: a mean, and a mean of centered squares.

Trust: kernel.

Definition.  Besides the count and the centered sum of a mean, the sum of (x - c)**2 - h**2 / 2 is
measured, c the middle of the bounds and h half their range.

Theorem (key ``variance-error``).  Let means of centered values and of centered squares be off by at
most e and f, and |S / n| <= h.  Then the variance is off by at most f + e (2 h + e).  Dividing by
n - 1 in place of n, with at least p rows, multiplies that by p / (p - 1), and adds h**2 / (p - 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.exact import float_up
from discreet.plan.aggregates.estimator import (
    REFERENCE_WIDTH,
    Estimator,
    NoiseForecast,
    Predicted,
    Terms,
    four_digits_up,
)
from discreet.plan.aggregates.means import WIDTH_WORDS, Mean, measure_mean
from discreet.plan.aggregates.measurer import Measurer, shown
from discreet.plan.binding.value_facts import value_where_counted
from discreet.plan.pricing.group_sensitivity import ReleaseInput
from discreet.plan.statistics.fixed_point import fixed_square
from discreet.query.expression_text import said
from discreet.query.expressions import Aggregate
from discreet.requests.engine_request import Total


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
        """Need what the mean needs, and the squares."""
        yield from (*self.mean.inputs(), (self.squares, None))

    def steps(self) -> Terms:
        """Return the steps of both sums."""
        return {**self.mean.steps(), self.squares: self.square_step}

    def error_terms(self) -> dict[ReleaseInput, Fraction]:
        """Take the error to first order, with the worst mean."""
        mean, radius = self.mean, self.mean.radius
        return {
            (self.squares, None): self.square_step,
            (mean.measure, None): 2 * radius * mean.step,
            (mean.count, None): self._largest_square() + 2 * radius * radius,
        }

    def predict(self, name: str, forecast: NoiseForecast) -> Predicted:
        """Divide the noises of both numerators by the rows (key ``variance-error``)."""
        mean, radius = self.mean, self.mean.radius
        if forecast.size is None:
            about = four_digits_up(self._first_order(forecast.half_width))
            words = f"about ± {self._root_words()}{about} / n, for n rows in the group"
            return Predicted(output=name, half_width=None, words=words)
        half = largest = radius * radius
        widths, rows = forecast.divided(mean.count, mean.numerator(), self._numerator())
        if rows > 1:
            off = (widths[0] + mean.step) / rows
            square_off = (widths[1] + self.square_step) / rows
            half = square_off + off * (2 * radius + off)
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
        about = self._first_order(forecast.drawn_half_width) / REFERENCE_WIDTH**2
        words = f"about ± {self._root_words()}{four_digits_up(about)} w**2 / n"
        return f"{words}, for n rows in the group, {WIDTH_WORDS}"

    def _first_order(self, half_width: Callable[[Terms], Fraction]) -> Fraction:
        """Return the error times the number of rows, to first order."""
        return half_width(self._numerator()) + 2 * self.mean.radius * half_width(
            self.mean.numerator()
        )

    def _numerator(self) -> Terms:
        """Return the noises of the squares and, for the largest of them, of the count."""
        return {self.squares: self.square_step, self.mean.count: self._largest_square()}

    def _largest_square(self) -> Fraction:
        """Return how large a square less the offset is, at most."""
        return max(self.offset, self.mean.radius**2 - self.offset)

    def _root_words(self) -> str:
        return "the root of " if self.root else ""


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
