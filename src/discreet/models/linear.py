"""Linear and ridge regression, and principal components, from one noisy matrix of second moments.

Trust: kernel.  The release is the matrix, to which a row adds a bounded part (key
``moment-matrix``); coefficients, their posterior and eigenvectors are post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np

from discreet.errors import BadArrays, OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.extend import Measurer, PlannedSum
from discreet.mechanisms import Gaussian, Laplace
from discreet.models.bounded_rows import LEVELS, BoundedRows, Encoding, Floats, NumberColumn
from discreet.models.estimator import PrivateModel, PrivateRegressor
from discreet.models.fitting import Released
from discreet.models.linear_posterior import LinearPosterior, NoisyMoments
from discreet.models.row_sums import DIAGONAL, MIXED, moment_bound, moments

MOMENTS: Final = "second moments"
_ENTRIES: Final = 2000


@final
@dataclass(frozen=True, slots=True)
class MomentRecipe:
    """Releases the second moments of all entries of a row, once."""

    purpose: str

    def document(self) -> Mapping[str, Any]:
        """Return its name."""
        return {"measures": MOMENTS, "purpose": self.purpose}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return the one sum."""
        return (planned_moments(encoding.width, encoding.squared),)

    def run(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> Released:  # noqa: ARG002
        """Measure the moments."""
        return {"moments": see.measure(MOMENTS, moments(rows)).tolist()}


def planned_moments(width: int, squared: int, share: Fraction = Fraction(1)) -> PlannedSum:
    """Return the sum of second moments, with its share of a price."""
    if width > _ENTRIES:
        raise OutOfRange(
            f"rows have {width} entries, and {_ENTRIES} are the most: use fewer columns or "
            "categories."
        )
    return PlannedSum(
        name=MOMENTS,
        squared=moment_bound(squared),
        linear=MIXED * width * squared,
        opposed=False,
        coordinates=width * (width + 1) // 2,
        share=share,
    )


def moment_matrix(released: Released, width: int) -> Floats:
    """Return released moments as a symmetric matrix, in units of the ends of bounds.

    >>> moment_matrix({"moments": [29 * LEVELS**2]}, 1).tolist()
    [[1.0]]
    """
    found = np.asarray(released["moments"], np.float64)
    matrix, start = np.empty((width, width)), 0
    for place in range(width):
        stop = start + width - place
        matrix[place, place:] = matrix[place:, place] = found[start:stop]
        start = stop
    diagonal = matrix.diagonal() / DIAGONAL
    matrix /= MIXED
    matrix.flat[:: width + 1] = diagonal
    return matrix / LEVELS**2


def moment_noise(noise: Gaussian | Laplace) -> float:
    """Return the standard deviation of noise on the diagonal of that matrix."""
    variance = noise.variance if isinstance(noise, Gaussian) else 2 * noise.scale**2
    return math.sqrt(variance) / DIAGONAL / LEVELS**2


_MOST_PENALTY: Final = 10**100


@dataclass(eq=False, repr=False, kw_only=True)
class LinearModel(PrivateRegressor):
    """What linear and ridge regression share."""

    def _recipe(self, encoding: Encoding) -> MomentRecipe:  # noqa: ARG002  the same for all
        self._penalty()
        return MomentRecipe("regression")

    def _penalty(self) -> Fraction:
        return Fraction(0)

    def post_processing(self, encoding: Encoding) -> Mapping[str, str]:  # noqa: ARG002  for all
        """Return the penalty; none goes without saying."""
        return {"penalty": str(self._penalty())} if self._penalty() else {}

    def _finish(self, released: Released, encoding: Encoding) -> None:
        width = encoding.width
        deviation = moment_noise(self.plan_.schedule.noises[0])
        matrix = moment_matrix(released, width)
        self.moments_ = NoisyMoments(matrix=matrix, deviation=deviation)
        half, middle = encoding.scales
        count = max(1.0, float(matrix[-1, -1]))
        mean = matrix[-1, :-1] / count
        spread = matrix[:-1, :-1] / count - np.outer(mean, mean)
        covariance, lift = _lifted(spread[:-1, :-1], deviation / count)
        ridge = np.diag(float(self._penalty()) / (count * half[:-1] ** 2))
        slope = np.linalg.solve(covariance + lift + ridge, spread[:-1, -1])
        up = half[-1]
        self.coef_ = slope * up / half[:-1]
        self.intercept_ = float(middle[-1] + up * (mean[-1] - slope @ mean[:-1]))
        self.intercept_ -= float(self.coef_ @ middle[:-1])
        self._slope_ = slope, float(mean[-1] - slope @ mean[:-1]), up, middle[-1]
        self._limits_ = middle[-1] - up, middle[-1] + up

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row, within its declared bounds."""
        cells = self._features(X) / LEVELS
        slope, offset, up, middle = self._slope_
        answer: Floats = np.clip(middle + up * (cells @ slope + offset), *self._limits_)
        return answer

    def score(self, X: Any, y: Any) -> float:
        """Return R squared on public data; on private data, buy it with ``evaluate``."""
        truth = np.asarray(y, np.float64)
        residual = ((truth - self.predict(X)) ** 2).sum()
        return float(1 - residual / max(((truth - truth.mean()) ** 2).sum(), 1e-300))

    def posterior(self, *, draws: int = 2000) -> LinearPosterior:
        """Return the noise-aware posterior of coefficients; free, since it reads the release."""
        half, middle = self.encoding_.scales
        return self.moments_.posterior(half=half, middle=middle, draws=draws)


def _lifted(covariance: Floats, deviation: float) -> tuple[Floats, Floats]:
    """Return a covariance without negative directions, and what keeps noise from ruling it."""
    values, vectors = np.linalg.eigh(covariance)
    width = len(values)
    noise = deviation * (2 * width) ** 0.5  # about the norm of a symmetric matrix of noise
    lift = max(0.0, noise - max(float(values[0]), 0.0))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T, np.eye(width) * (lift + 1e-12)


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(LinearModel):
    """Least squares with an intercept, from noisy second moments.

    >>> from discreet.session import Rehearsal
    >>> x = np.linspace(-1, 1, 400)[:, None]
    >>> model = LinearRegression(rho=1000, bounds=(-1, 1), target_bounds=(-3, 3),
    ...                          ledger=Rehearsal())
    >>> bool(abs(model.fit(x, 2 * x[:, 0]).coef_[0] - 2) < 0.1)
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class Ridge(LinearModel):
    """Least squares with a penalty on coefficients, from noisy second moments.

    >>> Ridge(alpha=2, rho=1)
    Ridge(alpha=2, rho=1)
    """

    alpha: Any = field(default=1.0, kw_only=False)
    """The penalty."""

    def _penalty(self) -> Fraction:
        alpha = decimal(self.alpha, name="alpha")
        if not 0 <= alpha <= _MOST_PENALTY:
            raise OutOfRange("alpha is below zero, or no float holds it: give alpha=1, say.")
        return alpha


@dataclass(eq=False, repr=False, kw_only=True)
class PCA(PrivateModel):
    """The directions of largest variance of rows.

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
            raise WrongKind("a column has categories: leave it out with columns=[...].")
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
        half, middle = encoding.scales
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
        self._half_, self._middle_ = half, middle
        self.mean_ = mean * half + middle

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
