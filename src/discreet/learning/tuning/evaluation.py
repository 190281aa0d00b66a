"""How good a model is on private data: a paid count of right and wrong answers.

Trust: kernel.  A row adds one to one of two counts (key ``row-tables``), because a classifier of
this room answers for a row by that row alone (:mod:`discreet.learning.models.classifier`).  Rows
are bounded as those of a fit: with a missing value or an undeclared label they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np

from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.learning.models import (
    CategoricalNB,
    GaussianNB,
    LogisticRegression,
    SoftmaxRegression,
)
from discreet.learning.models.asked_price import AskedPrice
from discreet.learning.models.fit_plans import FitPlan, Released, fit_plan, read_released
from discreet.learning.models.measurement import PlannedSum, RowMeasurer
from discreet.learning.models.paid_fit import opened, pay_and_draw, unit_of_rows
from discreet.learning.models.rows.bounded_rows import BoundedRows, Encoding
from discreet.learning.models.rows.given import refuse_ignored
from discreet.learning.models.rows.row_sums import counts
from discreet.learning.models.session_rows import fit_in_session, is_table
from discreet.ledger.values import StoredAnswer

if TYPE_CHECKING:  # handed in
    from discreet.learning.models.classifier import PrivateClassifier

SCORES: Final = "right and wrong answers"
CLASSIFIERS: Final = (
    CategoricalNB,
    GaussianNB,
    LogisticRegression,
    SoftmaxRegression,
)
"""The exact types whose answer for a row is about that row alone."""


@final
@dataclass(frozen=True, slots=True)
class ScoreRecipe:
    """Releases how many rows a fitted classifier gets right, and how many wrong."""

    model: PrivateClassifier

    def document(self) -> Mapping[str, Any]:
        """Return its name, and that of the model."""
        return {"measures": SCORES, "model": self.model.digest_}

    def sums(self, encoding: Encoding) -> tuple[PlannedSum, ...]:  # noqa: ARG002  the same for all
        """Return the two counts."""
        return (PlannedSum(name=SCORES, squared=1, linear=1, opposed=False, coordinates=2),)

    def run(self, rows: BoundedRows, encoding: Encoding, see: RowMeasurer) -> Released:  # noqa: ARG002
        """Count."""
        wrong = (self.model.codes(rows.cells) != rows.codes).astype(np.int64)
        return {"scores": see.measure(SCORES, counts(wrong, 2)).tolist()}


@final
@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """A fitted classifier, as what a session's rows are read for."""

    model: PrivateClassifier

    kind: ClassVar[str] = "classifier"

    @property
    def constant(self) -> bool:
        """Whether rows end with a constant."""
        return self.model.constant

    def _recipe(self, encoding: Encoding) -> ScoreRecipe:
        known = self.model.encoding_
        if (encoding.features, encoding.classes) != (known.features, known.classes):
            raise WrongKind(
                what="the model was fitted with other bounds, categories or classes than the "
                "policy has.",
                why="a row means something else to it than to this session.",
                do="give the columns that it was fitted on, and a model that was fitted under "
                "this policy.",
            )
        return ScoreRecipe(self.model)


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
        """Where the accuracy on these rows lies, with at least the stated confidence."""
        low = max(self.right - self.half_width, 0), max(self.wrong + self.half_width, 0)
        high = max(self.right + self.half_width, 0), max(self.wrong - self.half_width, 0)
        ends = [a / (a + b) if a + b else default for (a, b), default in ((low, 0.0), (high, 1.0))]
        return ends[0], ends[1]


def evaluate(  # noqa: PLR0913  a model, its rows and a price
    model: PrivateClassifier,
    X: Any,
    y: Any = None,
    *,
    epsilon: Any = None,
    delta: Any = None,
    rho: Any = None,
    ledger: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    confidence: Any = "0.95",
) -> Evaluation:
    """Buy the accuracy of a classifier on private rows, with an interval.

    Args:
        model: a fitted classifier.
        X: the rows: an array, or a table of a session, whose ledger pays.
        y: their true classes, where ``X`` is an array.
        epsilon: what it may cost, with or without a delta.
        delta: the chance with which the promise may fail.
        rho: the price in zero-concentrated privacy, in place of epsilon.
        ledger: what pays, where ``X`` is an array.
        label: the column of true classes, where ``X`` is a table.
        columns: the columns that the model knows; by default those that it was fitted on.
        confidence: the chance that the interval holds the accuracy on these rows.
    """
    inside = decimal(confidence, name="confidence")
    if not 0 < inside < 1:
        raise OutOfRange(
            what="a confidence is not between 0 and 1.",
            why="it is the chance that the interval holds the accuracy.",
            do="give 0.95, say.",
        )
    _refuse_foreign(model)
    asked = AskedPrice.read(epsilon=epsilon, delta=delta, rho=rho)
    if is_table(X):
        refuse_ignored(table=True, y=y, ledger=ledger)
        known = getattr(model, "feature_names_in_", None)
        names = list(known) if columns is None and known is not None else columns
        plan, stored = fit_in_session(ModelUnderTest(model), X, label, asked, names)
    else:
        refuse_ignored(table=False, label=label, columns=columns)
        plan, stored = _on_arrays(model, X, y, asked, ledger)
    right, wrong = read_released(stored.answer)["scores"]
    each = 1 - (1 - inside) / 2  # both counts hold at once
    half = int(plan.schedule.noises[0].error(confidence=each))
    return Evaluation(right=right, wrong=wrong, half_width=half, confidence=float(inside))


def _refuse_foreign(model: object) -> None:
    """Refuse what may answer for a row in another way than the classifiers of this room do."""
    kind = type(model)
    if kind not in CLASSIFIERS:
        raise _foreign(f"a {kind.__name__} is none of the classifiers of discreet.learning.")
    for name in vars(model):
        if callable(getattr(kind, name, None)):
            raise _foreign(f"the method '{name}' of this {kind.__name__} was replaced.")


def _foreign(what: str) -> WrongKind:
    return WrongKind(
        what=what,
        why="a foreign object may answer for one row in view of another, and then one row moves "
        "both counts by any number.",
        do="give a fitted LogisticRegression, SoftmaxRegression, GaussianNB or CategoricalNB.",
    )


def _on_arrays(
    model: PrivateClassifier, X: Any, y: Any, asked: AskedPrice, ledger: Any
) -> tuple[FitPlan, StoredAnswer]:
    encoding = model.encoding_
    columns, labels = model.checked(X, y)
    model.check_width(columns.shape[1])
    with opened(ledger) as record:
        unit = unit_of_rows(record)
        plan = fit_plan("evaluation", ScoreRecipe(model), encoding, asked, unit=unit)
        stored = pay_and_draw(record, plan, lambda: encoding.rows(columns, labels), key=None)
    return plan, stored
