"""How exact an answer will be, before any data is read.

Trust: public.

Definition.  The error of an output is how far it is from the same output of the bounded rows
without noise, at most, with the confidence; groups are taken one by one.  Where a noisy count
decides which groups are shown, it is that of all groups, shown or not; given that it is shown, a
small group has a larger one, which its interval knows (key ``shown-interval``).

    counts, sums   the spread of their noise, exactly, and of sums and multiples of them
    means          with n rows in the group, by ``mean-error``
    variances      by ``variance-error``; their roots by the root of it
    quantiles      in ranks: how many values lie between the one that is chosen and the right one,
                   and how many between the ends of its interval and that
    others         computed from these, by formulas that depend on the data

Theorem (key ``mean-error``).  Let X and Y be the noises of a centered sum and a count, with
|S / n| <= h for the true ones.  Then (S + X) / (n + Y) differs from S / n by at most
|X - (S / n) Y| / (n + Y).  If X + h Y stays within R with chance 1 - 9 b / 10 (key
``lattice-spread``), and Y above -r with chance 1 - b / 10, that is at most (R + u) / (n -
r) with chance 1 - b, u being a step of X.
Proof.  Given Y, X is symmetric with one mode, so it lies less often in an interval the further away
that is from zero, and h Y is the furthest; an interval that is longer by u on both sides holds at
least as many steps as any other.
Theorem (key ``variance-error``).  Let means of centered values and of centered squares be off by at
most e and f, and |S / n| <= h.  Then the variance is off by at most f + e (2 h + e).  Dividing by
n - 1 in place of n, with at least p rows, multiplies that by p / (p - 1), and adds h**2 / (p - 1).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.errors import TooLarge
from discreet.exact import float_up
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.forecast.noise_quantiles import noise_half_width
from discreet.plan.plan import Predicted
from discreet.plan.pricing.group_sensitivity import UNITS, QuantileChoice
from discreet.plan.pricing.release_composition import Releases
from discreet.plan.statistics.estimators import (
    AnswerColumn,
    Count,
    Estimate,
    Mean,
    QuantileEstimator,
    QuantilesEstimator,
    Sum,
    Units,
    Variance,
)
from discreet.query.expressions import Call, Cast, Column, Expression, Grouped, Literal
from discreet.query.types import Type

__all__ = ["ErrorForecast"]

_BELOW: Final = Fraction(1, 10)
_ZERO: Final = Fraction(0)
_LARGEST_FLOAT: Final = Fraction(sys.float_info.max)

Linear = tuple[Mapping[str, Fraction], Fraction]
"""Factors of the noises of measures, and how far rounding moves the result besides."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorForecast:
    """What is released, and how its aggregates are computed from that.

    ``size`` is a public guess of how many rows of a group count.
    """

    releases: Releases
    estimates: tuple[Estimate, ...]
    confidence: Fraction
    size: int | None = None

    def of(self, output: AnswerColumn) -> Predicted | None:
        """Return the error of an output; None for keys, which have none."""
        if isinstance(output.expression, Grouped):
            return None
        found = self._special(output) or self._linear(output.expression)
        if found is None:
            return _open(output.name, "computed from the others")
        if isinstance(found, Predicted):
            return found
        width = self._spread(found[0], self.confidence) + found[1]
        return Predicted(output=output.name, half_width=width, words=f"± {shown_up(width)}")

    def _special(self, output: AnswerColumn) -> Predicted | None:
        """Return the error of what is more than a sum of noisy totals."""
        estimate = self._estimate(output.expression)
        match None if estimate is None else estimate.estimator:
            case Mean() as mean:
                return self._mean(output.name, mean)
            case Variance() as variance:
                return self._variance(output.name, variance)
            case QuantileEstimator() as quantile:
                return self._ranks(output.name, (quantile,))
            case QuantilesEstimator(each=each):
                return self._ranks(output.name, each)
            case _:
                return None

    def _estimate(self, expression: Expression) -> Estimate | None:
        if not isinstance(expression, Column):
            return None
        return next((each for each in self.estimates if each.slot == expression.name), None)

    def _linear(self, expression: Expression) -> Linear | None:  # noqa: PLR0911  one a node
        """Return an expression as a sum of multiples of noisy totals, if it is one."""
        match expression:
            case Literal(value=int() | Fraction()):
                return {}, _ZERO
            case Column():
                return self._slot(expression)
            case Cast(argument=argument, to=Type.FLOAT):
                return self._linear(argument)
            case Call(function="NEGATE", arguments=(inner,)):
                return _times(self._linear(inner), Fraction(-1))
            case Call(function="+" | "-" as sign, arguments=(one, other)):
                sides = self._linear(one), self._linear(other)
                return _added(*sides, Fraction(1 if sign == "+" else -1))
            case Call(function="*", arguments=(Literal() as number, inner)):
                return _times(self._linear(inner), _number(number))
            case Call(function="*", arguments=(inner, Literal() as number)):
                return _times(self._linear(inner), _number(number))
            case Call(function="/", arguments=(inner, Literal() as number)):
                divisor = _number(number)
                return _times(self._linear(inner), 1 / divisor) if divisor else None
            case _:
                return None

    def _slot(self, column: Column) -> Linear | None:
        estimate = self._estimate(column)
        match None if estimate is None else estimate.estimator:
            case Units():
                return {UNITS: Fraction(1)}, _ZERO
            case Count(measure=measure):
                return {measure: Fraction(1)}, _ZERO
            case Sum(measure=measure, step=step, center=center, count=count):
                terms = {measure: step}
                if count is not None:
                    terms[count] = center
                broken = any(factor.denominator > 1 for factor in terms.values())
                rounded = estimate is not None and estimate.type is Type.INTEGER and broken
                return terms, Fraction(1, 2) if rounded else _ZERO
            case _:
                return None

    def _spread(self, terms: Mapping[str, Fraction], confidence: Fraction) -> Fraction:
        found = tuple((factor, self._noise(name)) for name, factor in sorted(terms.items()))
        return noise_half_width(found, confidence)

    def _noise(self, measure: str) -> Laplace | Gaussian:
        for noise in self.releases.noises:
            if noise.measure == measure:
                return noise.mechanism
        keys = self.releases.selection
        if keys is not None and self.releases.chosen_by == measure:
            from discreet.mechanisms import NoisyKeys  # noqa: PLC0415  rare

            if isinstance(keys, NoisyKeys):
                return keys.noise
        message = f"nothing is released of {measure}"
        raise LookupError(message)

    def _mean(self, name: str, mean: Mean) -> Predicted:
        reach = max(mean.center - mean.low, mean.high - mean.center)
        terms = {mean.measure: mean.step, mean.count: reach}
        if self.size is None:
            width = self._spread(terms, self.confidence)
            return _open(name, f"± {shown_up(width)} / n, for n rows in the group")
        widths, rows = self._divided(mean.count, (terms,), self.size)
        range_ = mean.high - mean.low
        half = min((widths[0] + mean.step) / rows, range_) if rows > 0 else range_
        return self._sized(name, half)

    def _variance(self, name: str, variance: Variance) -> Predicted:
        mean = variance.mean
        reach = max(mean.center - mean.low, mean.high - mean.center)
        squares = max(variance.offset, reach * reach - variance.offset)
        both = (
            {mean.measure: mean.step, mean.count: reach},
            {variance.squares: variance.square_step, mean.count: squares},
        )
        if self.size is None:
            first, second = (self._spread(terms, self.confidence) for terms in both)
            about = second + 2 * reach * first
            power = "the root of " if variance.root else ""
            return _open(name, f"about ± {power}{shown_up(about)} / n, for n rows in the group")
        largest = reach * reach
        widths, rows = self._divided(mean.count, both, self.size)
        half = largest
        if rows > 1:
            off = (widths[0] + mean.step) / rows
            square_off = (widths[1] + variance.square_step) / rows
            half = square_off + off * (2 * reach + off)
            if variance.sample:
                half = half * rows / (rows - 1) + largest / (rows - 1)
        half = min(half, largest)
        return self._sized(name, _root_up(half) if variance.root else half)

    def _divided(
        self, count: str, both: tuple[Mapping[str, Fraction], ...], size: int
    ) -> tuple[list[Fraction], Fraction]:
        """Return the spreads of numerators, and the least number of rows that is believed."""
        miss = 1 - self.confidence
        part = (1 - _BELOW) * miss / len(both)
        below = self._noise(count).error(confidence=1 - 2 * _BELOW * miss)  # on one side
        return [self._spread(terms, 1 - part) for terms in both], Fraction(size) - below

    def _sized(self, name: str, half: Fraction) -> Predicted:
        words = f"± {shown_up(half)} with {self.size} rows in the group"
        return Predicted(output=name, half_width=half, words=words)

    def _ranks(self, name: str, each: tuple[QuantileEstimator, ...]) -> Predicted:
        found = [choice for one in each for choice in self.releases.choices if _same(choice, one)]
        values = [choice for choice in found if choice.side == 0 or not 0 < choice.level < 1]
        ranks, ends = max(map(self._rank, values)), max(map(self._rank, found))
        words = f"± {shown_up(ranks)} ranks"
        if any(choice.side == 0 for choice in values):
            words += f", in an interval of up to {shown_up(ends)} on each side"
        return Predicted(output=name, half_width=ranks, words=words)

    def _rank(self, choice: QuantileChoice) -> Fraction:
        """Return how many ranks a choice is from its level, at most."""
        parts = choice.level.denominator  # scores are whole multiples of one part of a rank
        select = choice.mechanism
        from discreet.mechanisms import Exponential  # noqa: PLC0415  rare

        finer = Exponential(candidates=select.candidates, scale=select.scale * parts)
        return Fraction(finer.error(confidence=self.confidence), parts) + abs(choice.offset)


def shown_up(number: Fraction) -> str:
    """Show a number to four digits, never less than it is.

    >>> shown_up(Fraction(1, 3)), shown_up(Fraction(12)), shown_up(Fraction(123456))
    ('0.3334', '12', '123500')
    """
    if number == 0:
        return "0"
    if number > _LARGEST_FLOAT:
        raise TooLarge(
            what="the error of an output is beyond the largest FLOAT.",
            why="neither the output nor its error could be shown.",
            do="multiply by smaller numbers, or measure in a coarser unit.",
        )
    digits = 3 - math.floor(math.log10(float_up(number)))
    rounded = math.ceil(number * Fraction(10) ** digits) / Fraction(10) ** digits
    if rounded.denominator == 1 and rounded < 10**9:
        return str(rounded)
    return f"{float(rounded):.4g}"


def _open(name: str, words: str) -> Predicted:
    return Predicted(output=name, half_width=None, words=words)


def _same(choice: QuantileChoice, quantile: QuantileEstimator) -> bool:
    return (choice.measure, choice.level) == (quantile.measure, quantile.level)


def _number(literal: Literal) -> Fraction | None:
    value = literal.value
    good = isinstance(value, int | Fraction) and not isinstance(value, bool)
    return Fraction(value) if good else None  # type: ignore[arg-type]


def _times(found: Linear | None, factor: Fraction | None) -> Linear | None:
    if found is None or factor is None:
        return None
    terms, slack = found
    return {name: factor * each for name, each in terms.items()}, abs(factor) * slack


def _added(one: Linear | None, other: Linear | None, sign: Fraction) -> Linear | None:
    second = _times(other, sign)
    if one is None or second is None:
        return None
    names = {**one[0], **second[0]}
    terms = {name: one[0].get(name, _ZERO) + second[0].get(name, _ZERO) for name in names}
    return terms, one[1] + second[1]


def _root_up(value: Fraction) -> Fraction:
    return Fraction(float_up(Fraction(math.sqrt(float_up(value))) * (1 + Fraction(1, 10**12))))
