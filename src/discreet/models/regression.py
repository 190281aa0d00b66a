"""Logistic, softmax and Poisson regression by gradients of the whole table, exact sums with noise.

Trust: kernel.  The number of rows and their second moments (key ``moment-matrix``) are released
once, and every step releases the sum of residual times row over all rows (key ``integer-rows``): a
residual has a norm of at most 1, or of the root of 2 for several classes, and rows are bounded.  So
no sample is drawn.  The average of the last half of the weights is the model.

If the curvature of the loss function is at most a factor times the second moments, a step goes
along the inverse of that bound times the gradient (Bohning 1992): a few steps do what takes
gradient descent many, and each of few steps has less noise.  The factor is a quarter for two
classes, and a half for several.  A step of less than twice that length goes downhill, for any
curvature within the bound.  Directions whose moments may be hidden by noise are taken to be as
curved as the noise is large.  All of that processes released numbers.

Residuals p - e_k, where p are the class probabilities that the scores give and k is the class of
the row, are shortened to a *clip* times their bound b, for less noise: a row that the model is
badly wrong about pulls less than the logistic loss function says.  If class k has probability h_k,
such pulls cancel out if h_k is in proportion to p_k max(1, |p - e_k| / (clip b)), and predicted
probabilities are defined this way.  They rise with p_k if (clip b)**2 >= (|p|**2 + 1) / 3, so for
every clip from 3/5.  By default the clip follows from the price alone.

Poisson regression.  The mean of a row z is m(z) = exp(w . z), clamped to the bounds [low, high] of
the target; a residual, in units of the width of these bounds, is at most 1, for any weights.  The
loss function has the slope (m(z) - y) z: it is that of the Poisson distribution if the mean is
within the bounds, and straight lines continue it beyond them.  It is convex, because m rises with
w . z.  Its curvature is that of the second moments times the mean of a row: the first gradient, at
a constant mean, gives the mean of all targets, and steps are as long as twice that allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, whole
from discreet.extend import Measurer, PlannedSum
from discreet.models.bounded_rows import (
    LEVELS,
    BoundedRows,
    Encoding,
    Floats,
    Integers,
)
from discreet.models.estimator import PrivateClassifier, PrivateRegressor
from discreet.models.fitting import Released
from discreet.models.linear import MOMENTS, moment_matrix, moment_noise, planned_moments
from discreet.models.row_sums import (
    RESIDUALS,
    WIDEST,
    gradients,
    linear_bound,
    moments,
    residual_bound,
    row_count,
    scores,
)

COUNT: Final = "number of rows"
GRADIENT: Final = "gradient"
_COUNT_SHARE: Final = Fraction(1, 50)
_MOMENT_SHARE: Final = Fraction(1, 5)
_STEP_SHARE: Final = 1 - _COUNT_SHARE - _MOMENT_SHARE
_SHORTEST: Final = Fraction(3, 5)


@final
@dataclass(frozen=True, slots=True)
class Descent:
    """How many steps there are, how long, what half the square of weights costs, and the clip."""

    steps: int
    rate: Fraction
    penalty: Fraction
    clip: Fraction = Fraction(1)

    @classmethod
    def read(cls, steps: Any, rate: Any, penalty: Any, clip: Any = 1) -> Descent:
        """Read what a person typed; the same once for all fits.

        >>> Descent.read(8, 1, "0.5").penalty
        Fraction(1, 2)
        """
        try:
            return _read(steps, rate, penalty, clip)
        except TypeError:  # a list, say, which is refused
            return _read.__wrapped__(steps, rate, penalty, clip)

    def document(self) -> dict[str, Any]:
        """Return all parameters, in plain JSON."""
        numbers = {"rate": self.rate, "penalty": self.penalty, "clip": self.clip}
        return {"steps": self.steps, **{name: str(value) for name, value in numbers.items()}}

    def sums(self, encoding: Encoding, outputs: int) -> tuple[PlannedSum, ...]:
        """Return the count, the moments and the gradients of rows without a target."""
        return _planned(self, encoding.width, encoding.squared, outputs)


@lru_cache(maxsize=64, typed=True)
def _read(steps: Any, rate: Any, penalty: Any, clip: Any) -> Descent:
    length = decimal(rate, name="learning_rate")
    cost = decimal(penalty, name="penalty")
    if length <= 0 or cost < 0:
        raise OutOfRange(
            "the learning rate is not above zero, or the penalty below it: give "
            "learning_rate=1 and penalty=0, say."
        )
    longest = decimal(clip, name="clip")
    if not _SHORTEST <= longest <= 1:
        raise OutOfRange(
            "the clip is not from 0.6 to 1: give clip=1 to shorten none, or clip=0.75, say, "
            "for less noise."
        )
    return Descent(whole(steps, name="steps", low=1, high=100_000), length, cost, longest)


@lru_cache(maxsize=64)  # the same for each price
def _planned(descent: Descent, width: int, squared: int, outputs: int) -> tuple[PlannedSum, ...]:
    if width > WIDEST:
        raise OutOfRange(
            f"rows have {width} entries, and {WIDEST} are the most: use fewer columns."
        )
    moved, entries = squared * residual_bound(outputs, descent.clip), width * outputs
    return (
        PlannedSum(
            name=COUNT, squared=1, linear=1, opposed=False, coordinates=1, share=_COUNT_SHARE
        ),
        planned_moments(width, squared, share=_MOMENT_SHARE),
        PlannedSum(
            name=GRADIENT,
            squared=moved,
            linear=linear_bound(moved, entries),
            opposed=True,
            coordinates=entries,
            times=descent.steps,
            share=_STEP_SHARE,
        ),
    )


@final
class NoisySlopes:
    """Counts, moments and gradients of bounded rows as they are released, in units of one row."""

    __slots__ = ("_rows", "_see", "length", "norm", "size", "values", "vectors")

    def __init__(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> None:
        """Measure the number of rows and their second moments."""
        self._rows, self._see = rows, see
        self.norm = encoding.squared**0.5
        self.length = encoding.squared / LEVELS**2
        self.size = int(see.measure(COUNT, row_count(rows))[0])
        noisy: Integers = see.measure(MOMENTS, moments(rows))
        matrix = moment_matrix({"moments": noisy}, encoding.width) / self.length
        found, self.vectors = np.linalg.eigh(matrix)
        hidden = moment_noise(see.noise(MOMENTS)) / self.length * (2 * encoding.width) ** 0.5
        self.values: Floats = np.maximum(found, min(hidden, max(1, self.size)))

    def inverse(self, descent: Descent, factor: float) -> Floats:
        """Return a step for each slope, for a curvature of at most a factor times the moments."""
        bound = factor * self.values + float(descent.penalty) * max(1, self.size)
        steps: Floats = (self.vectors * (float(descent.rate) / bound)) @ self.vectors.T
        return steps

    def slope(self, residuals: Floats, clip: Fraction = Fraction(1)) -> Floats:
        """Return the noisy sum of clipped residual times row, a row being at most one long."""
        noisy = self._see.measure(GRADIENT, gradients(self._rows, residuals, clip))
        found: Floats = noisy.reshape(-1, residuals.shape[1]) / (RESIDUALS * self.norm)
        return found


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

    def run(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> Released:
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
    """Return the probabilities of classes at which residuals of at most so long cancel out.

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
    """The weight of half the squared norm, relative to the mean objective of a row."""
    clip: Any = None
    """How far a row may pull, of 1; if none, 1, or 3/4 at a price below 1/100 in rho."""

    def _recipe(self, encoding: Encoding) -> GradientRecipe:
        classes = encoding.classes or ()
        if self.two_classes and len(classes) != _BINARY:
            raise WrongKind(
                f"{len(classes)} classes are declared. Only binary classification is supported: "
                "use SoftmaxRegression for more than two classes."
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
    """Distinguish two declared classes.

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

    def run(self, rows: BoundedRows, encoding: Encoding, see: Measurer) -> Released:
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
class PoissonRegression(PrivateRegressor):
    """Learn the mean of counts, whose logarithm is linear in the columns.

    >>> from discreet.session import Rehearsal
    >>> x = np.linspace(-1, 1, 2000)[:, None]
    >>> y = np.exp(1 + x[:, 0])
    >>> model = PoissonRegression(rho=100, bounds=(-1, 1), target_bounds=(0, 10),
    ...                           ledger=Rehearsal()).fit(x, y)
    >>> bool(abs(model.coef_[0] - 1) < 0.1 and abs(model.intercept_ - 1) < 0.1)
    True
    """

    steps: Any = 12
    """How many gradients are taken."""
    learning_rate: Any = 1
    """The length of a step, in units of the inverse of the curvature."""
    penalty: Any = 0
    """The weight of half the squared norm, relative to the mean objective of a row."""

    def _recipe(self, encoding: Encoding) -> PoissonRecipe:
        if encoding.target is None or encoding.target.low < 0:
            raise OutOfRange(
                "the lower bound of what is learned is below zero: give target_bounds=(0, 20), "
                "say, or declare them in the policy."
            )
        return PoissonRecipe(Descent.read(self.steps, self.learning_rate, self.penalty))

    def _finish(self, released: Released, encoding: Encoding) -> None:
        inner = _without_target(encoding)
        self._weights_, self._norm_ = np.array(released["weights"]), inner.squared**0.5
        self._limits_ = _ends(encoding)
        scaled = self._weights_[:, 0] / self._norm_ * LEVELS
        half, middle = inner.scales
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
