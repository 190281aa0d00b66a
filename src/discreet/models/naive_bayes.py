"""Naive Bayes: a table of sums for each declared class; a row moves one of them.

Trust: kernel.  Rows of different classes move different places of one table (key ``row-tables``),
so all classes together cost what one of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.extend import BoundedSum, Measurer, PlannedSum
from discreet.models.bounded_rows import (
    LEVELS,
    BoundedRows,
    CategoryColumn,
    Column,
    Encoding,
    Floats,
    Integers,
    NumberColumn,
)
from discreet.models.estimator import PrivateClassifier
from discreet.models.fitting import Released
from discreet.models.row_sums import scores, table

SUMS: Final = "sums of each class"
_BLOCK: Final = 1 << 13  # rows that are added up while they are in the caches
_LEAST_VARIANCE: Final = 1e-4
_MOST_ADDED: Final = Fraction(10**100)


@final
@dataclass(frozen=True, slots=True)
class ClassSums:
    """Releases count, sums and sums of squares of each class, or counts of categories."""

    squares: bool

    def document(self) -> Mapping[str, Any]:
        """Return its parameters."""
        return {"measures": SUMS, "squares": self.squares}

    def _norms(self, encoding: Encoding) -> tuple[int, int]:
        """Return the squared L2 norm and the L1 norm of what a row adds."""
        columns = len(encoding.features)
        entries = 1 + columns * (2 if self.squares else 1)
        return entries * LEVELS**2, entries * LEVELS

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return the one table."""
        squared, linear = self._norms(encoding)
        width = 1 + encoding.width * (2 if self.squares else 1)
        return (
            PlannedSum(
                name=SUMS,
                squared=squared,
                linear=linear,
                opposed=self.squares,
                coordinates=width * len(encoding.classes or ()),
            ),
        )

    def run(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> Released:
        """Measure the table."""
        size = len(encoding.classes or ())
        first, *others = [
            self._table(
                rows.cells[start : start + _BLOCK].T, rows.codes[start : start + _BLOCK], encoding
            )
            for start in range(0, max(1, len(rows.cells)), _BLOCK)
        ]
        total = replace(first, values=sum((each.values for each in others), first.values))
        return {"sums": see.measure(SUMS, total).reshape(size, -1).tolist()}

    def _table(self, cells: Floats, codes: Integers, encoding: Encoding) -> BoundedSum:
        """Return the table of some rows; ``cells`` has a line for each column."""
        width = len(cells)
        lines = np.empty((1 + width * (1 + self.squares), len(codes)))
        lines[0], lines[1 : 1 + width] = float(LEVELS), cells
        if self.squares:
            squares = lines[1 + width :]
            np.multiply(cells, cells, out=squares)
            squares /= LEVELS
            np.floor(squares, out=squares)
        squared, linear = self._norms(encoding)
        return table(
            codes,
            len(encoding.classes or ()),
            lines.T,
            squared=squared,
            linear=linear,
            opposed=self.squares,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class ClassTableModel(PrivateClassifier):
    """What both kinds of naive Bayes share."""

    def _joint(self, cells: Floats) -> Floats:
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of each class."""
        joint = self._joint(self._features(X))
        top = joint.max(axis=1, keepdims=True)
        shifted: Floats = joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
        return shifted

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        return np.exp(self.predict_log_proba(X))

    def _best(self, cells: Floats) -> Integers:
        best: Integers = self._joint(cells).argmax(axis=1).astype(np.int64)
        return best

    def _counts(self, released: Released, encoding: Encoding) -> Floats:
        """Set classes, noisy counts and their interval; return all sums in units of rows."""
        sums = np.array(released["sums"], np.float64) / LEVELS
        self.classes_ = np.array(encoding.classes)
        self.class_count_ = sums[:, 0]
        share = np.maximum(sums[:, 0], 1.0)
        self.class_prior_ = share / share.sum()
        return sums

    def count_half_width(self, confidence: Any = "0.95") -> float:
        """Return how far a class count may be off, with this confidence; noise alone."""
        return self._half_width(SUMS, confidence, steps=LEVELS)


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(ClassTableModel):
    """Normal features within each declared class.

    >>> GaussianNB(classes=(0, 1), bounds=(0, 9), rho=1)
    GaussianNB(rho=1, classes=(0, 1), bounds=(0, 9))
    """

    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""

    def _recipe(self, encoding: Encoding) -> ClassSums:
        if not all(isinstance(column, NumberColumn) for column in encoding.features):
            raise WrongKind(
                "a column has categories: use CategoricalNB for categories, or columns=[...] to "
                "leave them out."
            )
        return ClassSums(squares=True)

    def _finish(self, released: Released, encoding: Encoding) -> None:
        sums = self._counts(released, encoding)
        width = encoding.width
        size = np.maximum(sums[:, :1], 1.0)
        mean = np.clip(sums[:, 1 : 1 + width] / size, -1.0, 1.0)
        square = np.clip((sums[:, 1 + width :]) / size, 0.0, 1.0)
        self._mean_, self._var_ = mean, np.maximum(square - mean**2, _LEAST_VARIANCE)
        half, _ = self._scale_ = encoding.scales
        self.theta_ = mean * half + self._scale_[1]
        self._sums_ = sums[:, : 1 + width]
        self.var_ = self._var_ * half**2

    def mean_interval(self, confidence: Any = "0.95") -> Floats:
        """Return two ends for the mean of each feature in each class, each with this confidence.

        The mean is that of the rows that the model was fitted on, with values clamped to their
        bounds, in a class that has rows; noise alone.  Sum and count hold at once, each with half
        of the remaining confidence.
        """
        each = 1 - (1 - decimal(confidence, name="confidence")) / 2
        half = self._half_width(SUMS, each, steps=LEVELS)
        count, sums = self._sums_[:, :1], self._sums_[:, 1:]
        fewest, most = np.maximum(count - half, 1.0), np.maximum(count + half, 1.0)
        low, high = sums - half, sums + half
        ends = np.stack(
            [low / np.where(low < 0, fewest, most), high / np.where(high < 0, most, fewest)], axis=2
        )
        rounding = [-0.5 / LEVELS, 0.5 / LEVELS]
        scale, middle = self._scale_
        found: Floats = np.clip(ends + rounding, -1.0, 1.0) * scale[:, None] + middle[:, None]
        return found

    def _joint(self, cells: Floats) -> Floats:
        points = cells / LEVELS
        start = np.log(self.class_prior_) - 0.5 * np.log(2 * np.pi * self._var_).sum(axis=1)
        joint: Floats = np.tile(start, (len(points), 1))
        for place in range(points.shape[1]):  # one by one, in this order for every row
            away = points[:, place, None] - self._mean_[:, place]
            joint -= away * away / (2 * self._var_[:, place])
        return joint


@dataclass(eq=False, repr=False, kw_only=True)
class CategoricalNB(ClassTableModel):
    """Categories within each declared class; columns hold 0, 1, ..., ``categories`` - 1.

    In a session, the categories of all columns come from the policy.

    >>> CategoricalNB(categories=3, classes=(0, 1), epsilon=1)
    CategoricalNB(epsilon=1, classes=(0, 1), categories=3)
    """

    categories: Any = None
    """How many categories all columns have, or each of them."""
    alpha: Any = 1
    """The number added to the count of each category."""

    def _declared(self, width: int) -> tuple[Column, ...]:
        given = self.categories
        sizes = [given] * width if isinstance(given, int) else list(given or ())
        if len(sizes) != width or not all(isinstance(s, int) and s > 0 for s in sizes):
            raise WrongKind(
                "the numbers of categories are missing, or do not fit the columns: give "
                "categories=4 for all columns, or one number for each."
            )
        return tuple(CategoryColumn(tuple(range(size))) for size in sizes)

    def _recipe(self, encoding: Encoding) -> ClassSums:
        if not all(isinstance(column, CategoryColumn) for column in encoding.features):
            raise WrongKind(
                "a column has numbers, and no categories: use GaussianNB for numbers, or "
                "columns=[...] to leave them out."
            )
        if not 1 / _MOST_ADDED <= self._added() <= _MOST_ADDED:
            raise OutOfRange("alpha is not above zero, or no float holds it: give alpha=1, say.")
        return ClassSums(squares=False)

    def _added(self) -> Fraction:
        return decimal(self.alpha, name="alpha")

    def post_processing(self, encoding: Encoding) -> Mapping[str, str]:  # noqa: ARG002  for all
        """Return the number added to counts, unless it is the default 1."""
        return {} if self._added() == 1 else {"alpha": str(self._added())}

    def _finish(self, released: Released, encoding: Encoding) -> None:
        sums = self._counts(released, encoding)
        self.category_count_ = sums[:, 1:]
        shares = []
        start = 1
        for column in encoding.features:
            part = np.maximum(sums[:, start : start + column.width], 0.0) + float(self._added())
            shares.append(np.log(part / part.sum(axis=1, keepdims=True)))
            start += column.width
        self._log_ = np.hstack(shares)

    def _joint(self, cells: Floats) -> Floats:
        joint: Floats = scores(cells, self._log_.T) / LEVELS + np.log(self.class_prior_)
        return joint
