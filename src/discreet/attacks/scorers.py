"""Scores that are high if one neighbor is the likelier: of one feature, or sums of several.

Trust: public.  A better score makes a bound higher, never wrong.

    Ordered    a size itself, or its negative
    Cells      the logarithm of the odds in the cell that one or two features fall into
    Whole      the logarithm of the odds of a whole answer
    Additive   a weighted sum of logarithms of odds, by logistic regression
    Linear     a weighted sum of values: the best score if independent normal noise is added
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.answer_columns import Columns
from discreet.attacks.event_words import EventRange, listed, range_words, value_words
from discreet.attacks.features import Feature, feature_values, value_names

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_PRIOR: Final = 3.0
_MOST_TOLD: Final = 4
_NO_NUMBER: Final = {
    ("smallest", math.inf): "below infinity",
    ("largest", -math.inf): "above minus infinity",
}


class Scorer(Protocol):
    """A score of answers, and words for the event that it is high."""

    def score(self, columns: Columns) -> Floats:
        """Score every answer."""
        ...

    def tell(self, threshold: float) -> str:
        """Say which answers score at least this much."""
        ...


@final
@dataclass(frozen=True, slots=True)
class OrderedScorer:
    """A size (sign 1), or its negative (sign -1); missing values score lowest."""

    feature: Feature
    sign: int

    def score(self, columns: Columns) -> Floats:
        """Return the size, with the sign."""
        values = self.sign * feature_values(columns, self.feature)
        return np.where(np.isnan(values), -np.inf, values)

    def tell(self, threshold: float) -> str:
        """Name the side of the threshold."""
        end = _NO_NUMBER.get((self.feature.kind, self.sign * threshold))
        if end is not None:
            return f"the answer has no number {end}"
        side = "at least" if self.sign > 0 else "at most"
        return f"{self.feature} is {side} {value_words(self.feature.kind, self.sign * threshold)}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """A feature cut into cells: at distinct values if they are few, else at quantiles.

    Cell 0 is for missing values, the last cell for values that were not seen before.
    """

    feature: Feature
    cuts: Floats
    exact: bool
    names: Mapping[float, str]

    @classmethod
    def of(cls, feature: Feature, sides: Iterable[Columns], most: int) -> Bins:
        """Cut at quantiles of the values of both neighbors."""
        both = list(sides)
        values = np.concatenate([feature_values(side, feature) for side in both])
        names = {at: told for side in both for at, told in value_names(side, feature).items()}
        known = values[~np.isnan(values)]
        distinct = np.unique(known)
        if distinct.size <= most or not feature.ordered:
            return cls(feature, distinct, exact=True, names=names)
        finite = known[np.isfinite(known)]
        cuts = np.unique(np.quantile(finite, np.linspace(0, 1, most + 1)[1:-1]))
        return cls(feature, cuts, exact=False, names=names)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.cuts.size + 2

    def codes(self, columns: Columns) -> Integers:
        """Return the cell of every answer."""
        values = feature_values(columns, self.feature)
        if self.exact:
            cell = np.searchsorted(self.cuts, values)
            inside = np.minimum(cell, max(self.cuts.size - 1, 0))
            seen = self.cuts[inside] == values if self.cuts.size else np.zeros(cell.shape, np.bool_)
            codes = np.where(seen, cell + 1, self.size - 1)
        else:
            codes = 1 + np.searchsorted(self.cuts, values, side="right")
        return np.where(np.isnan(values), 0, codes)

    def words(self, cells: Integers) -> str:
        """Describe the content of some cells; adjacent cells are described as one."""
        told: list[str] = []
        inside = [int(cell) for cell in cells if 0 < cell < self.size - self.exact]
        for run in np.split(inside, np.flatnonzero(np.diff(inside) != 1) + 1) if inside else ():
            told += self._run_words(int(run[0]), int(run[-1]))
        if self.exact and cells[-1] == self.size - 1:
            told.append("one that was not seen before")
        return listed([*told, *["missing"] * int(cells[0] == 0)])

    def _run_words(self, first: int, last: int) -> list[str]:
        """Describe the content of adjacent cells."""
        kind = self.feature.kind
        if not self.exact:
            low = None if first == 1 else float(self.cuts[first - 2])
            high = None if last == self.size - 1 else float(self.cuts[last - 1])
            return [range_words(kind, EventRange(low, high))]
        cuts = [float(cut) for cut in self.cuts[first - 1 : last]]
        values = [self.names.get(cut) or value_words(kind, cut) for cut in cuts]
        joined = len(values) > 2 and self.feature.ordered
        return [f"{values[0]} to {values[-1]}"] if joined else values


@final
@dataclass(frozen=True, slots=True, eq=False)
class CellScorer:
    """The odds in the cell into which one or more features fall."""

    bins: tuple[Bins, ...]
    odds: Floats

    @classmethod
    def of(cls, bins: Sequence[Bins], one: Columns, other: Columns) -> CellScorer:
        """Count the answers of both neighbors in every cell."""
        size = int(np.prod([part.size for part in bins]))
        counts = [np.bincount(_joint(bins, side), minlength=size) for side in (one, other)]
        return cls(tuple(bins), log_odds(counts[0], counts[1]))

    def score(self, columns: Columns) -> Floats:
        """Look up the odds."""
        scores: Floats = self.odds[_joint(self.bins, columns)]
        return scores

    def tell(self, threshold: float) -> str:
        """Say which values are in it."""
        likely = np.flatnonzero(self.odds >= threshold)
        if len(self.bins) == 1:
            return f"{self.bins[0].feature} is {self.bins[0].words(likely)}"
        sizes = [part.size for part in self.bins]
        first = self._cell_words(np.unravel_index(int(np.argmax(self.odds)), sizes))
        more = f", or one of {likely.size - 1} other such pairs" if likely.size > 1 else ""
        return f"{first}{more}"

    def _cell_words(self, places: Sequence[Any]) -> str:
        """Describe the content of one cell of several features."""
        return " and ".join(
            f"{part.feature} is {part.words(np.array([place]))}"
            for part, place in zip(self.bins, places, strict=True)
        )


def _joint(bins: Sequence[Bins], columns: Columns) -> Integers:
    codes = np.zeros(columns.n, np.int64)
    for part in bins:
        codes = codes * part.size + part.codes(columns)
    return codes


@final
@dataclass(frozen=True, slots=True, eq=False)
class WholeScorer:
    """The odds of a whole answer; one that was not seen before has even odds."""

    labels: Integers
    odds: Floats
    sides: tuple[Columns, Columns]
    rows: Integers

    @classmethod
    def of(cls, one: Columns, other: Columns) -> WholeScorer:
        """Count how often both neighbors gave each answer."""
        labels, rows, places = np.unique(
            np.concatenate([one.label, other.label]), return_index=True, return_inverse=True
        )
        first = np.bincount(places[: one.n], minlength=labels.size)
        odds = log_odds(first, np.bincount(places[one.n :], minlength=labels.size))
        return cls(labels, odds, (one, other), rows)

    def score(self, columns: Columns) -> Floats:
        """Look up the odds."""
        places = np.minimum(np.searchsorted(self.labels, columns.label), self.labels.size - 1)
        return np.where(self.labels[places] == columns.label, self.odds[places], 0.0)

    def tell(self, threshold: float) -> str:
        """Name the answers, those first that reveal most."""
        likely = np.flatnonzero(self.odds >= threshold)
        order = likely[np.argsort(-self.odds[likely], kind="stable")]
        told = [self._answer_words(int(self.rows[place])) for place in order[:_MOST_TOLD].tolist()]
        return f"the answer is {listed(told, count=likely.size)}"

    def _answer_words(self, row: int) -> str:
        one, other = self.sides
        return one.answer_words(row) if row < one.n else other.answer_words(row - one.n)


def log_odds(one: NDArray[Any], other: NDArray[Any]) -> Floats:
    """Return the logarithm of the odds in each cell, drawn to even odds if few were counted.

    >>> log_odds(np.array([0, 30, 27]), np.array([0, 27, 30])).round(2).tolist()
    [0.0, 0.1, -0.1]
    """
    scale = one.sum() / max(other.sum(), 1)
    odds: Floats = np.log((one + _PRIOR * scale) / (other + _PRIOR)) - np.log(scale)
    return odds


@final
@dataclass(frozen=True, slots=True, eq=False)
class AdditiveScorer:
    """A weighted sum of the odds of several features."""

    cells: tuple[CellScorer, ...]
    weights: Floats

    @classmethod
    def of(cls, cells: Sequence[CellScorer], one: Columns, other: Columns) -> AdditiveScorer:
        """Fit the weights by logistic regression: Newton's steps, with a small ridge."""
        sides = [np.stack([cell.score(side) for cell in cells], axis=1) for side in (one, other)]
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
        for weight, cell in zip(self.weights, self.cells, strict=True):
            total += weight * cell.score(columns)
        return total

    def tell(self, threshold: float) -> str:
        """Name the sum."""
        names = _heaviest([str(cell.bins[0].feature) for cell in self.cells], self.weights)
        return f"the odds of {names} together score at least {threshold:.4g}"


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearScorer:
    """A weighted sum of values, each kept within the range that was seen."""

    features: tuple[Feature, ...]
    weights: Floats
    ranges: Floats

    @classmethod
    def of(cls, features: Sequence[Feature], one: Columns, other: Columns) -> LinearScorer:
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
        """Return the weighted sum; a missing value counts as the middle of its range."""
        total = np.zeros(columns.n)
        for feature, weight, (low, high) in zip(
            self.features, self.weights, self.ranges, strict=True
        ):
            values = np.nan_to_num(feature_values(columns, feature), nan=(low + high) / 2)
            total += weight * np.clip(values, low, high)
        return total

    def tell(self, threshold: float) -> str:
        """Name the sum."""
        names = _heaviest([str(feature) for feature in self.features], self.weights)
        return f"a weighted sum of {names} is at least {threshold:.4g}"


def _heaviest(names: Sequence[str], weights: Floats) -> str:
    """List names, those that weigh most first."""
    order = np.argsort(-np.abs(weights), kind="stable")
    return listed([names[place] for place in order], "and")


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]
