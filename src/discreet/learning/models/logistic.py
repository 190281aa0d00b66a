"""Logistic and softmax regression by gradients of the whole table, each an exact sum with noise.

Trust: kernel.  Every step releases the sum of residual times row over all rows (key
``integer-rows``): a residual has a norm of at most 1, or of the root of 2 for several classes, and
rows are bounded.  So nothing has to be clipped, and no sample drawn.

The curvature of the objective is at most a quarter of the second moments, or half of them for
several classes (Bohning 1992), wherever the weights are.  The average of the last half of the
weights is the model.

Residuals p - e_k, where p are the shares of classes that scores stand for and k is the class of the
row, are shortened to a *clip* times their bound b, for less noise: a row that the model is badly
wrong about pulls less than the logistic objective says.  Where class k has the chance h_k, such
pulls cancel out if h_k is in proportion to p_k max(1, |p - e_k| / (clip b)), and that is what
probabilities are.  They rise with p_k if (clip b)**2 >= (|p|**2 + 1) / 3, so for every clip from
3/5.  If nobody says it, the clip follows from the price alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind
from discreet.learning.models.classifier import PrivateClassifier
from discreet.learning.models.descent import GRADIENT, Descent, NoisySlopes
from discreet.learning.models.fit_plans import Released
from discreet.learning.models.measurement import PlannedSum, RowMeasurer
from discreet.learning.models.rows.bounded_columns import LEVELS, Floats, Integers
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.row_sums import scores

_BINARY: Final = 2
_CHEAP: Final = Fraction(1, 100)
"""Below this price, in rho, noise is worse than what clipping leaves out."""
_CLIPPED: Final = Fraction(3, 4)


@final
@dataclass(frozen=True, slots=True)
class GradientRecipe:
    """Releases the number of rows and their moments once, and a gradient at each step.

    ``outputs`` is 1 for two classes, and the number of classes otherwise.
    """

    outputs: int
    descent: Descent

    def document(self) -> Mapping[str, Any]:
        """Return its parameters."""
        return {"measures": GRADIENT, "outputs": self.outputs, **self.descent.document()}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:
        """Return the count, the moments and the gradients."""
        return self.descent.sums(encoding, self.outputs)

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:
        """Descend, seeing gradients with noise alone."""
        seen, steps = NoisySlopes(rows, encoding, see), self.descent.steps
        inverse = seen.inverse(self.descent, 0.25 if self.outputs == 1 else 0.5)
        weights = np.zeros((encoding.width, self.outputs))
        kept, shrink = np.zeros_like(weights), float(self.descent.penalty) * max(1, seen.size)
        truth, clip = _indicators(rows.codes, self.outputs), self.descent.clip
        for step in range(steps):
            residual = _probabilities(scores(rows.cells, weights) / seen.norm) - truth
            weights = weights - inverse @ (seen.slope(residual, clip) + shrink * weights)
            if step >= steps // 2:
                kept += weights
        mean = kept / (steps - steps // 2)
        return {"size": seen.size, "weights": mean.tolist(), "clip": float(clip)}


def _probabilities(scores: Floats) -> Floats:
    if scores.shape[1] == 1:
        half: Floats = 0.5 * (1 + np.tanh(scores / 2))
        return half
    lines = np.ascontiguousarray(scores.T)  # one line a class, which is faster
    shifted = np.exp(lines - lines.max(axis=0))
    total = np.zeros(shifted.shape[1])
    for line in shifted:  # in the same order for every row, however many there are
        total += line
    share: Floats = (shifted / total).T
    return share


def _meant(shares: Floats, longest: float) -> Floats:
    """Return the chances of classes at which residuals of at most so long cancel out.

    >>> _meant(np.array([[0.1, 0.9], [0.4, 0.6]]), 0.75 * 2**0.5).round(3).tolist()
    [[0.118, 0.882], [0.4, 0.6]]
    """
    squares = np.einsum("ij,ij->i", shares, shares)[:, None] - 2 * shares + 1
    weighted = shares * np.maximum(1.0, np.sqrt(np.maximum(squares, 0.0)) / longest)
    meant: Floats = weighted / weighted.sum(axis=1, keepdims=True)
    return meant


def _indicators(codes: NDArray[np.int64], outputs: int) -> Floats:
    if outputs == 1:
        return codes[:, None].astype(np.float64)
    places: Floats = (codes == np.arange(outputs)[:, None]).astype(np.float64).T
    return places


@dataclass(eq=False, repr=False, kw_only=True)
class GradientClassifier(PrivateClassifier):
    """What logistic and softmax regression share."""

    constant: ClassVar[bool] = True

    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""
    steps: Any = 8
    """How many gradients are taken."""
    learning_rate: Any = 1.5
    """The length of a step, in units of the inverse of the curvature bound; below 2."""
    penalty: Any = 0
    """What half the square of weights costs, beside the mean objective of a row."""
    clip: Any = None
    """How far a row may pull, of 1; if none, 1, or 3/4 at a price below 1/100 in rho."""

    def _recipe(self, encoding: Encoding) -> GradientRecipe:
        classes = encoding.classes or ()
        if self.two_classes and len(classes) != _BINARY:
            raise WrongKind(
                what=f"{len(classes)} classes are declared. Only binary classification is "
                "supported.",
                why="logistic regression has one score, for the second class.",
                do="use SoftmaxRegression for more than two classes.",
            )
        clip = self.clip
        if clip is None:
            clip = _CLIPPED if self.asked_price().nearly_rho < _CHEAP else 1
        descent = Descent.read(self.steps, self.learning_rate, self.penalty, clip)
        return GradientRecipe(1 if self.two_classes else len(classes), descent)

    def _finish(self, released: Released, encoding: Encoding) -> None:
        self._weights_ = np.array(released["weights"])
        self._norm_ = encoding.squared**0.5
        weights = self._weights_ / self._norm_
        self.classes_ = np.array(encoding.classes)
        self.coef_ = weights[:-1].T * LEVELS
        self.intercept_ = weights[-1] * LEVELS
        self.size_ = int(released["size"])
        self._clip_ = float(released["clip"])

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each row: of the second class, or one a class."""
        found = self._scores(self._features(X))
        return found[:, 0] if self.two_classes else found

    def _scores(self, cells: Floats) -> Floats:
        full = np.hstack([cells, np.full((len(cells), 1), float(LEVELS))])
        found: Floats = scores(full, self._weights_) / self._norm_
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        shares = _probabilities(self._scores(self._features(X)))
        if self.two_classes:
            shares = np.hstack([1 - shares, shares])
        return shares if self._clip_ == 1 else _meant(shares, self._clip_ * 2**0.5)

    def _best(self, cells: Floats) -> Integers:
        found = self._scores(cells)
        best = (found[:, 0] > 0) if self.two_classes else found.argmax(axis=1)
        return best.astype(np.int64)


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegression(GradientClassifier):
    """Tell two declared classes apart.

    >>> from discreet.session import Rehearsal
    >>> x = np.linspace(-1, 1, 400)[:, None]
    >>> model = LogisticRegression(epsilon=5, delta="1e-6", bounds=(-1, 1), classes=(0, 1),
    ...                            ledger=Rehearsal())
    >>> model.fit(x, (x[:, 0] > 0).astype(int)).score(x, (x[:, 0] > 0).astype(int)) > 0.8
    True
    """

    two_classes: ClassVar[bool] = True


@dataclass(eq=False, repr=False, kw_only=True)
class SoftmaxRegression(GradientClassifier):
    """Tell any number of declared classes apart.

    >>> SoftmaxRegression(classes=(1, 2, 3), steps=32)
    SoftmaxRegression(classes=(1, 2, 3), steps=32)
    """
