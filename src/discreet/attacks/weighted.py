"""Scores that add up what several features say.

Trust: public.  A better score makes a bound higher, never wrong.

    Additive   a weighted sum of logarithms of odds, by logistic regression
    Linear     a weighted sum of values: the best score where independent normal noise is added
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.answers import Columns
from discreet.attacks.features import Feature, feature_values
from discreet.attacks.scorers import Cells

__all__ = ["Additive", "Linear"]

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """A weighted sum of the odds of several features."""

    cells: tuple[Cells, ...]
    weights: Floats

    @classmethod
    def of(cls, cells: Sequence[Cells], one: Columns, other: Columns) -> Additive:
        """Fit the weights by logistic regression: Newton's steps, with a small ridge."""
        sides = [np.stack([each.score(side) for each in cells], axis=1) for side in (one, other)]
        inputs = np.concatenate(sides)
        target = np.repeat([1.0, 0.0], [one.n, other.n])
        weights = np.zeros(len(cells))
        for _ in range(6):
            chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
            slope = inputs.T @ (target - chance) - weights
            spread = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + np.eye(len(cells))
            weights = weights + np.linalg.solve(spread, slope)
        return cls(tuple(cells), weights)

    def score(self, columns: Columns) -> Floats:
        """Return the weighted sum."""
        total = np.zeros(columns.n)
        for weight, each in zip(self.weights, self.cells, strict=True):
            total += weight * each.score(columns)
        return total

    def tell(self, threshold: float) -> str:
        """Name the sum."""
        return f"a weighted sum of odds of {len(self.cells)} features is at least {threshold:.4g}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A weighted sum of values, each kept within the range that was seen."""

    features: tuple[Feature, ...]
    weights: Floats
    ranges: Floats

    @classmethod
    def of(cls, features: Sequence[Feature], one: Columns, other: Columns) -> Linear:
        """Weigh each value by the difference of means over its variance."""
        weights, ranges = [], []
        for feature in features:
            first, second = (_finite(feature_values(side, feature)) for side in (one, other))
            both = np.concatenate([first, second])
            low, high = np.quantile(both, [0.001, 0.999]) if both.size else (0.0, 0.0)
            first, second, both = (np.clip(part, low, high) for part in (first, second, both))
            with np.errstate(over="ignore"):  # an infinite spread weighs nothing
                spread = float(both.var()) if both.size else 0.0
                gap = float(first.mean() - second.mean()) if first.size and second.size else 0.0
            weights.append(gap / spread if spread > 0 and math.isfinite(gap) else 0.0)
            ranges.append((low, high))
        return cls(tuple(features), np.array(weights), np.array(ranges))

    def score(self, columns: Columns) -> Floats:
        """Return the weighted sum; what is missing counts as the middle of its range."""
        total = np.zeros(columns.n)
        for feature, weight, (low, high) in zip(
            self.features, self.weights, self.ranges, strict=True
        ):
            values = np.nan_to_num(feature_values(columns, feature), nan=(low + high) / 2)
            total += weight * np.clip(values, low, high)
        return total

    def tell(self, threshold: float) -> str:
        """Name the sum."""
        return f"a weighted sum of {len(self.features)} values is at least {threshold:.4g}"


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]
