"""Linear and ridge regression from one noisy matrix of second moments.

Trust: kernel.  What is released is the matrix (key ``moment-matrix``); solving for coefficients and
drawing their posterior is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np

from discreet.errors import OutOfRange
from discreet.exact import decimal
from discreet.learning.bayes.linear_model import LinearPosterior, NoisyMoments
from discreet.learning.models.estimator import PrivateModel
from discreet.learning.models.fit_plans import Released
from discreet.learning.models.moment_release import MomentRecipe, moment_matrix, moment_noise
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats, NumberColumn
from discreet.learning.models.rows.bounded_rows import Encoding
from discreet.learning.models.rows.given import number_columns

_MOST_PENALTY: Final = 10**100


@dataclass(eq=False, repr=False, kw_only=True)
class LinearModel(PrivateModel):
    """What linear and ridge regression share."""

    kind: ClassVar[str] = "regressor"
    constant: ClassVar[bool] = True

    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""
    target_bounds: Any = None
    """The two ends of what is learned."""

    def _encoding(self, width: int) -> Encoding:
        (target,) = number_columns(self.target_bounds, 1, name="target_bounds")
        if not isinstance(target, NumberColumn):
            raise TypeError
        return Encoding(features=self._declared(width), target=target, constant=True)

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
        half, middle = _scales(encoding)
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
        half, middle = _scales(self.encoding_)
        return self.moments_.posterior(half=half, middle=middle, draws=draws)


def _scales(encoding: Encoding) -> tuple[Floats, Floats]:
    """Return half-widths and middles of all entries but the constant; 1/2 and 1/2 of a category."""
    half: list[float] = []
    middle: list[float] = []
    columns = (*encoding.features, *(() if encoding.target is None else (encoding.target,)))
    for column in columns:
        if isinstance(column, NumberColumn):
            half.append(column.half)
            middle.append(column.middle)
        else:
            half += [1.0] * column.width
            middle += [0.0] * column.width
    return np.array(half), np.array(middle)


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
            raise OutOfRange(
                what="alpha is below zero, or no float holds it.",
                why="it is a penalty, and not a reward, for large coefficients.",
                do="give alpha=1, say.",
            )
        return alpha
