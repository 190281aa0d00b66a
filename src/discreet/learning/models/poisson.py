"""Poisson regression with a log link: counts whose logarithm of the mean is linear in a row.

Trust: kernel.  Every step releases the sum of residual times row over all rows (key
``integer-rows``).  A target is clamped to its declared bounds, and so is what the model predicts:
a residual, in units of the width of these bounds, is at most 1, whatever the weights are.

Definition.  The mean of a row z is m(z) = exp(w . z), clamped to the bounds [low, high] of the
target.  The objective has the slope (m(z) - y) z: it is that of the Poisson law where the mean lies
within the bounds, and straight lines continue it beyond them.  It is convex, because m rises with
w . z.  Its curvature is that of the second moments times the mean of a row, which is not known
beforehand: the first gradient, at a constant mean, tells the mean of all targets, and steps are as
long as a mean of twice that allows.  All of that processes released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from discreet.errors import OutOfRange
from discreet.learning.models.descent import GRADIENT, Descent, NoisySlopes
from discreet.learning.models.estimator import PrivateModel
from discreet.learning.models.fit_plans import Released
from discreet.learning.models.measurement import PlannedSum, RowMeasurer
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats, NumberColumn
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.given import number_columns
from discreet.learning.models.rows.row_sums import scores


@final
@dataclass(frozen=True, slots=True)
class PoissonRecipe:
    """Releases the number of rows and their moments once, and a gradient at each step."""

    descent: Descent

    def document(self) -> Mapping[str, Any]:
        """Return its parameters."""
        return {"measures": GRADIENT, "law": "Poisson", **self.descent.document()}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return the count, the moments and the gradients."""
        return self.descent.sums(_without_target(encoding), 1)

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:
        """Descend, seeing gradients with noise alone."""
        inner, (low, high) = _without_target(encoding), _ends(encoding)
        place = inner.width - 1  # the target comes before the constant
        others = np.delete(rows.cells, place, axis=1)
        kept = BoundedRows(others, rows.codes, inner.squared)
        truth = (rows.cells[:, place, None] / LEVELS + 1) / 2
        seen, steps = NoisySlopes(kept, inner, see), self.descent.steps

        def slope(weights: Floats) -> Floats:
            mean = _means(scores(kept.cells, weights) / seen.norm, low, high)
            return (high - low) * seen.slope((mean - low) / (high - low) - truth)

        size, root = max(1, seen.size), seen.length**0.5
        weights = np.zeros((inner.width, 1))
        weights[-1] = np.log((low + high) / 2) * root
        off = float(slope(weights)[-1, 0]) * root / size
        middle = float(np.clip((low + high) / 2 - off, max(low, high / 1000), high))
        weights[-1] = np.log(middle) * root
        if steps == 1:
            return {"size": seen.size, "weights": weights.tolist()}
        inverse = seen.inverse(self.descent, min(2 * middle, high))
        shrink, total = float(self.descent.penalty) * size, np.zeros_like(weights)
        for step in range(1, steps):
            weights = weights - inverse @ (slope(weights) + shrink * weights)
            if step >= steps // 2:
                total += weights
        late = steps - max(1, steps // 2)
        return {"size": seen.size, "weights": (total / late).tolist()}


def _without_target(encoding: Encoding) -> Encoding:
    return Encoding(features=encoding.features, constant=True)


def _ends(encoding: Encoding) -> tuple[float, float]:
    target = encoding.target
    if target is None:
        raise TypeError
    return float(target.low), float(target.high)


def _means(logs: Floats, low: float, high: float) -> Floats:
    """Return the mean of each row within the bounds, given its logarithm."""
    means: Floats = np.clip(np.exp(np.minimum(logs, np.log(high))), low, high)
    return means


@dataclass(eq=False, repr=False, kw_only=True)
class PoissonRegression(PrivateModel):
    """Learn the mean of counts, whose logarithm is linear in the columns.

    >>> from discreet.session import Rehearsal
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> y = np.exp(1 + x[:, 0])
    >>> model = PoissonRegression(rho=100, bounds=(-1, 1), target_bounds=(0, 10),
    ...                           ledger=Rehearsal()).fit(x, y)
    >>> bool(abs(model.coef_[0] - 1) < 0.1 and abs(model.intercept_ - 1) < 0.1)
    True
    """

    kind: ClassVar[str] = "regressor"
    constant: ClassVar[bool] = True

    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""
    target_bounds: Any = None
    """The two ends of what is learned, which are not negative."""
    steps: Any = 12
    """How many gradients are taken."""
    learning_rate: Any = 1
    """The length of a step, in units of the inverse of the curvature."""
    penalty: Any = 0
    """What half the square of weights costs, beside the mean objective of a row."""

    def _encoding(self, width: int) -> Encoding:
        (target,) = number_columns(self.target_bounds, 1, name="target_bounds")
        if not isinstance(target, NumberColumn):
            raise TypeError
        return Encoding(features=self._declared(width), target=target, constant=True)

    def _recipe(self, encoding: Encoding) -> PoissonRecipe:
        if encoding.target is None or encoding.target.low < 0:
            raise OutOfRange(
                what="the lower bound of what is learned is below zero.",
                why="a mean whose logarithm is linear is above zero, as counts are.",
                do="give target_bounds=(0, 20), say, or declare them in the policy.",
            )
        return PoissonRecipe(Descent.read(self.steps, self.learning_rate, self.penalty))

    def _finish(self, released: Released, encoding: Encoding) -> None:
        inner = _without_target(encoding)
        self._weights_, self._norm_ = np.array(released["weights"]), inner.squared**0.5
        self._limits_ = _ends(encoding)
        scaled = self._weights_[:, 0] / self._norm_ * LEVELS
        half, middle = np.ones(inner.width - 1), np.zeros(inner.width - 1)
        place = 0
        for column in encoding.features:
            if isinstance(column, NumberColumn):
                half[place], middle[place] = column.half, column.middle
            place += column.width
        self.coef_: Floats = scaled[:-1] / half
        self.intercept_ = float(scaled[-1] - self.coef_ @ middle)
        self.size_ = int(released["size"])

    def predict(self, X: Any) -> Floats:
        """Predict the mean of each row, within the declared bounds of the target."""
        cells = self._features(X)
        full = np.hstack([cells, np.full((len(cells), 1), float(LEVELS))])
        return _means(scores(full, self._weights_) / self._norm_, *self._limits_)[:, 0]

    def score(self, X: Any, y: Any) -> float:
        """Return the share of the deviance that is explained, on public data."""
        truth = np.maximum(np.asarray(y, np.float64), 0.0)
        plain = _deviance(truth, np.full_like(truth, max(truth.mean(), 1e-300)))
        return float(1 - _deviance(truth, self.predict(X)) / max(plain, 1e-300))


def _deviance(truth: Floats, mean: Floats) -> float:
    mean = np.maximum(mean, 1e-300)
    logs = np.log(np.maximum(truth, 1e-300) / mean)
    return float(2 * (truth * logs - truth + mean).sum())
