"""How exact an answer will be, in terms of bounds that are not known yet.

Trust: public.

Definition.  Where bounds are still to be found, errors are worked out for bounds from 0 to about
2**20, a number that nobody declares; that is their width w and the larger of them in size, b.
Noise on a sum is proportional to b, noise on a mean to w and on a variance to w**2, but for the
rounding to steps.  So errors are said as multiples of these.  What mixes several of them follows
from the bounds, once they are found.
Ranks do not depend on bounds.
A sum of h X + c Y, X and Y the noises of a centered sum and of a count, has h + |c| = b; it is
spread no wider than the wider one of b X and b Y (Proschan 1965, for equal laws up to scale).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.forecast.error_forecast import shown_up
from discreet.plan.forecast.noise_quantiles import noise_half_width
from discreet.plan.plan import Predicted
from discreet.plan.pricing.release_composition import Releases
from discreet.plan.statistics.contribution_bounds import Pair
from discreet.plan.statistics.estimators import (
    AnswerColumn,
    Estimate,
    Mean,
    QuantileEstimator,
    QuantilesEstimator,
    Sum,
    Variance,
)
from discreet.query.expressions import Aggregate, Column, walk

__all__ = ["REFERENCE", "ForecastByWidth"]

_WIDTH: Final = 2**20 + Fraction(7, 3)
REFERENCE: Final[Pair] = (Fraction(0), _WIDTH)
"""Bounds that stand for those that nobody knows yet."""

_WIDE: Final = "w the width of the bounds"
_LARGE: Final = "b the larger bound in size"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastByWidth:
    """What is released for bounds that stand for others, and the aggregates that need these."""

    releases: Releases
    estimates: tuple[Estimate, ...]
    open: AbstractSet[Aggregate]
    confidence: Fraction
    size: int | None = None

    def said(self, output: AnswerColumn, predicted: Predicted) -> Predicted:
        """Say an error in terms of the bounds that it depends on, if it does."""
        slots = {node.name for node in walk(output.expression) if isinstance(node, Column)}
        used = [each for each in self.estimates if each.slot in slots]
        if not any(each.aggregate in self.open for each in used):
            return predicted
        words = "follows from the bounds that are found"
        if isinstance(output.expression, Column):
            words = self._words(used[0], predicted)
        return Predicted(output=output.name, half_width=None, words=words)

    def _words(self, estimate: Estimate, predicted: Predicted) -> str:
        match estimate.estimator:
            case QuantileEstimator() | QuantilesEstimator():
                return f"about {predicted.words}"
            case Sum() as total:
                return f"about ± {shown_up(self._sum(total))} b, {_LARGE}"
            case Mean() as mean:
                if predicted.half_width is not None:
                    size = f"with {self.size} rows in the group"
                    return f"about ± {shown_up(predicted.half_width / _WIDTH)} w {size}, {_WIDE}"
                width = self._spread(_terms(mean)) / _WIDTH
                return f"about ± {shown_up(width)} w / n, for n rows in the group, {_WIDE}"
            case Variance() as variance:
                return self._variance(variance, predicted)
            case _:
                return predicted.words

    def _sum(self, total: Sum) -> Fraction:
        """Return the wider of the two noises, for a larger bound of 1."""
        alone = self._spread({total.measure: total.step})
        if total.count is None:
            return alone / _WIDTH
        return 2 * max(alone, self._spread({total.count: total.center})) / _WIDTH

    def _variance(self, variance: Variance, predicted: Predicted) -> str:
        power = "w" if variance.root else "w**2"
        if predicted.half_width is not None:
            factor = _WIDTH if variance.root else _WIDTH**2
            half = shown_up(predicted.half_width / factor)
            return f"about ± {half} {power} with {self.size} rows in the group, {_WIDE}"
        mean = variance.mean
        reach = _reach(mean)
        squares = max(variance.offset, reach * reach - variance.offset)
        second = self._spread({variance.squares: variance.square_step, mean.count: squares})
        width = (second + 2 * reach * self._spread(_terms(mean))) / _WIDTH**2
        root = "the root of " if variance.root else ""
        return f"about ± {root}{shown_up(width)} w**2 / n, for n rows in the group, {_WIDE}"

    def _spread(self, terms: Mapping[str, Fraction]) -> Fraction:
        return noise_half_width(tuple(self._noises(terms)), self.confidence)

    def _noises(self, terms: Mapping[str, Fraction]) -> Iterator[tuple[Fraction, _Additive]]:
        for noise in sorted(self.releases.noises, key=lambda each: each.measure):
            if noise.measure in terms:
                yield terms[noise.measure], noise.mechanism


_Additive = Laplace | Gaussian


def _reach(mean: Mean) -> Fraction:
    return max(mean.center - mean.low, mean.high - mean.center)


def _terms(mean: Mean) -> Mapping[str, Fraction]:
    return {mean.measure: mean.step, mean.count: _reach(mean)}
