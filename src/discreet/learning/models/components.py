"""Principal components of a noisy matrix of second moments.

Trust: kernel.  The matrix is released (key ``moment-matrix``); its eigenvectors process it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BadArrays, WrongKind
from discreet.exact import whole
from discreet.learning.models.estimator import PrivateModel
from discreet.learning.models.fit_plans import Released
from discreet.learning.models.moment_release import MomentRecipe, moment_matrix
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats, NumberColumn
from discreet.learning.models.rows.bounded_rows import Encoding


@dataclass(eq=False, repr=False, kw_only=True)
class PCA(PrivateModel):
    """Directions in which rows vary most.

    >>> PCA(n_components=2, rho=1, bounds=(0, 1))
    PCA(n_components=2, rho=1, bounds=(0, 1))
    """

    kind: ClassVar[str] = "transformer"
    constant: ClassVar[bool] = True

    n_components: Any = field(default=None, kw_only=False)
    """How many there are; all by default."""
    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""

    def _recipe(self, encoding: Encoding) -> MomentRecipe:
        if not all(isinstance(column, NumberColumn) for column in encoding.features):
            raise WrongKind(
                what="a column has categories.",
                why="components are directions of numbers.",
                do="leave it out with columns=[...].",
            )
        wanted = self._count(encoding)
        if wanted > encoding.width - 1:
            raise BadArrays(
                what=f"n_components={wanted} is more than the {encoding.width - 1} columns.",
                why="there are only as many directions as columns.",
                do="ask for fewer components.",
            )
        return MomentRecipe("components")

    def _count(self, encoding: Encoding) -> int:
        wanted = self.n_components
        return encoding.width - 1 if wanted is None else whole(wanted, name="n_components", low=1)

    def post_processing(self, encoding: Encoding) -> Mapping[str, str]:
        """Return how many components there are; all go without saying."""
        count = self._count(encoding)
        return {} if count == encoding.width - 1 else {"components": str(count)}

    def _finish(self, released: Released, encoding: Encoding) -> None:
        matrix = moment_matrix(released, encoding.width)
        columns = [column for column in encoding.features if isinstance(column, NumberColumn)]
        half = np.array([column.half for column in columns])
        size = max(1.0, float(matrix[-1, -1]))
        mean = matrix[-1, :-1] / size
        spread = (matrix[:-1, :-1] / size - np.outer(mean, mean)) * np.outer(half, half)
        values, vectors = np.linalg.eigh(spread)
        count = self._count(encoding)
        self.n_components_ = count
        self.explained_variance_ = np.maximum(values[::-1][:count], 0.0)
        directions = vectors[:, ::-1][:, :count].T
        signs = np.sign(directions[np.arange(count), np.abs(directions).argmax(axis=1)])
        self.components_ = directions * signs[:, None]
        self._half_, self._middle_ = half, np.array([column.middle for column in columns])
        self.mean_ = mean * half + self._middle_

    def transform(self, X: Any) -> Floats:
        """Return the components of each row, which is clamped to the declared bounds."""
        cells = self._features(X) / LEVELS
        found: Floats = (cells * self._half_ + self._middle_ - self.mean_) @ self.components_.T
        return found

    def inverse_transform(self, X: Any) -> Floats:
        """Return rows from their components."""
        rows: Floats = np.asarray(X, np.float64) @ self.components_ + self.mean_
        return rows

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the components of the same rows: these are as private as the rows."""
        return self.fit(X, y).transform(X)
