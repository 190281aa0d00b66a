"""How good a model is on private data: a paid count of right and wrong answers.

Trust: kernel.  A row adds one to one of two counts (key ``row-tables``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.learning.models import (
    CategoricalNB,
    GaussianNB,
    LogisticRegression,
    RandomForest,
    SoftmaxRegression,
)
from discreet.learning.models.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.estimator import PrivateModel
from discreet.learning.models.fit_plans import Released, fit_plan, read_released
from discreet.learning.models.measurement import AskedPrice, PlannedSum, RowMeasurer
from discreet.learning.models.paid_fit import opened, pay_and_draw, unit_of_rows
from discreet.learning.models.row_sums import counts

SCORES: Final = "right and wrong answers"
_CLASSIFIERS: Final = (
    CategoricalNB,
    GaussianNB,
    LogisticRegression,
    RandomForest,
    SoftmaxRegression,
)
"""The exact types whose answer for a row is about that row alone."""


@final
@dataclass(frozen=True, slots=True)
class ScoreRecipe:
    """Releases how many rows a model gets right, and how many wrong."""

    def document(self) -> Mapping[str, Any]:
        """Return its name."""
        return {"measures": SCORES}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:  # noqa: ARG002  the same for all
        """Return the two counts."""
        return (PlannedSum(name=SCORES, squared=1, linear=1, opposed=False, coordinates=2),)

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:  # noqa: ARG002
        """Count."""
        return {"scores": see.measure(SCORES, counts(rows.codes, 2)).tolist()}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Noisy counts of right and wrong answers, and an interval of the accuracy for the noise alone.

    >>> Evaluation(right=90, wrong=10, half_width=5, confidence=0.95).interval
    (0.85, 0.95)
    """

    right: int
    wrong: int
    half_width: int
    confidence: float

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        right, wrong = max(self.right, 0), max(self.wrong, 0)
        return right / (right + wrong) if right + wrong else 0.5

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy on these rows lies, with the stated confidence."""
        low = max(self.right - self.half_width, 0), max(self.wrong + self.half_width, 0)
        high = max(self.right + self.half_width, 0), max(self.wrong - self.half_width, 0)
        ends = [a / (a + b) if a + b else default for (a, b), default in ((low, 0.0), (high, 1.0))]
        return ends[0], ends[1]


def evaluate(  # noqa: PLR0913  a model, its rows and a price
    model: PrivateModel,
    X: Any,
    y: Any,
    *,
    epsilon: Any = None,
    delta: Any = None,
    rho: Any = None,
    ledger: Any = None,
    confidence: Any = "0.95",
) -> Evaluation:
    """Buy the accuracy of a classifier on private rows, with an interval.

    Args:
        model: a fitted classifier.
        X: the rows.
        y: their true classes.
        epsilon: what it may cost, with or without a delta.
        delta: the chance with which the promise may fail.
        rho: the price in zero-concentrated privacy, in place of epsilon.
        ledger: what pays.
        confidence: the chance that the interval holds the accuracy on these rows.
    """
    inside = decimal(confidence, name="confidence")
    if not 0 < inside < 1:
        raise OutOfRange(
            what="a confidence is not between 0 and 1.",
            why="it is the chance that the interval holds the accuracy.",
            do="give 0.95, say.",
        )
    if type(model) not in _CLASSIFIERS:
        raise WrongKind(
            what=f"a {type(model).__name__} is none of the classifiers of discreet.learning.",
            why="a foreign object may answer for one row in view of another, and then one row "
            "moves both counts by any number.",
            do="give a fitted LogisticRegression, SoftmaxRegression, GaussianNB, CategoricalNB or "
            "RandomForest itself.",
        )
    columns, labels = model.checked(X, y)
    encoding = Encoding(features=())

    def rows() -> BoundedRows:
        right = np.asarray(type(model).predict(model, columns) == labels)  # type: ignore[attr-defined]
        return BoundedRows(np.zeros((len(right), 1)), 1 - right.astype(np.int64), 1)

    with opened(ledger) as record:
        plan = fit_plan(
            "evaluation",
            ScoreRecipe(),
            encoding,
            AskedPrice.read(epsilon=epsilon, delta=delta, rho=rho),
            unit=unit_of_rows(record),
        )
        stored = pay_and_draw(record, plan, rows, key=None)
    right, wrong = read_released(stored.answer)["scores"]
    each = 1 - (1 - inside) / 2  # both counts hold at once
    half = int(plan.schedule.noises[0].error(confidence=each))
    return Evaluation(right=right, wrong=wrong, half_width=half, confidence=float(inside))
