"""Models as scikit-learn has them: parameters by name, ``fit``, ``predict``, and a price.

Trust: kernel.  Only the shape and type of arrays are checked here, which are public; values are
read after they are paid for, in :mod:`discreet.models.bounded_rows`.  Counts of right answers rely
on a property of classifiers: the answer for a row depends on that row and the model alone, to the
last bit.  So answers come from exact sums, or from operations on single numbers in a fixed order,
whose results do not depend on where a row is in memory.

scikit-learn is never imported: it asks by its own names (``get_params``, ``__sklearn_tags__``).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadArrays, NotFitted, WrongKind
from discreet.extend import AskedPrice, opened, unit_of_rows
from discreet.ledger import StoredAnswer
from discreet.models.bounded_rows import CategoryColumn, Column, Encoding, Floats, Integers
from discreet.models.fitting import FitPlan, Recipe, Released, fit_plan, pay_and_draw, read_released
from discreet.models.given import (
    column_names,
    declared_classes,
    labels_of,
    listed,
    matrix,
    number_columns,
    refuse_declared,
    refuse_ignored,
)
from discreet.models.session_rows import fit_in_session, is_table, plan_in_session
from discreet.units import PrivacyUnit, row


class ScikitLearnNames:
    """Parameters are the arguments of a model's constructor, each kept under its own name."""

    kind: ClassVar[str]
    """What it is to scikit-learn: classifier, regressor, clusterer or transformer."""
    two_classes: ClassVar[bool] = False
    """Whether it distinguishes exactly two classes."""
    ledger: Any

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002  theirs
        """Return all parameters by their names."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change some parameters, and return the model."""
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise BadArrays(
                    what=f"Invalid parameter {name!r} for {type(self).__name__}.",
                    why="a parameter that is not there changes nothing.",
                    do=f"use some of: {', '.join(known)}.",
                )
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted model with the same parameters and the same ledger."""
        return type(self)(**self.get_params())

    def __getstate__(self) -> dict[str, Any]:
        """Leave the ledger behind: a stored model is what was released, and pays for nothing."""
        state = dict(self.__dict__)
        state["ledger"] = self.ledger if isinstance(self.ledger, str) else None
        state.pop("plan_", None)
        return state

    def __repr__(self) -> str:
        """Show the parameters that are not as usual."""
        usual = inspect.signature(type(self).__init__).parameters
        shown = []
        for name in self._names():
            value = getattr(self, name)
            if value is usual[name].default:
                continue
            shown.append(f"{name}={'...' if name == 'ledger' else repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """Say what it is, in scikit-learn's own words; only scikit-learn asks."""
        words = sys.modules["sklearn.utils"]
        kind, has_target = self.kind, self.kind in {"classifier", "regressor"}
        tags = words.Tags(
            estimator_type=None if kind == "transformer" else kind,
            target_tags=words.TargetTags(required=has_target),
            input_tags=words.InputTags(allow_nan=True),
            non_deterministic=True,
        )
        if kind == "classifier":
            tags.classifier_tags = words.ClassifierTags(multi_class=not self.two_classes)
        elif kind == "regressor":
            tags.regressor_tags = words.RegressorTags()
        if hasattr(self, "transform"):
            tags.transformer_tags = words.TransformerTags(preserves_dtype=[])
        return tags


def not_fitted_error(name: str) -> Exception:
    """Return the error for a model that is not fitted, one of scikit-learn's if it is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = NotFitted if theirs is None else type("NotFitted", (NotFitted, theirs), {})
    error: Exception = kind(
        what=f"this {name} is not fitted yet.",
        why="it has learned nothing that it could tell.",
        do="call fit first, which pays for it.",
    )
    return error


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateModel(ScikitLearnNames, ABC):
    """The common part of all models: a price, and the ledger that pays it.

    Parameters are the fields of a data class, so that each is named once; making a model checks
    none of them, as scikit-learn wants it.
    """

    constant: ClassVar[bool] = False
    """Whether rows end with a constant."""
    epsilon: Any = None
    """What it may cost, with or without a delta."""
    delta: Any = None
    """The probability with which the promise may fail."""
    rho: Any = None
    """The price in zero-concentrated privacy, in place of epsilon."""
    ledger: Any = None
    """What pays: the file of a ledger, or an open one."""
    key: Any = None
    """The name under which a fit is on record; none for a fit that is paid for each time."""

    # --- what a model adds --------------------------------------------------------------------

    @abstractmethod
    def _recipe(self, encoding: Encoding) -> Recipe:
        """Return the recipe of measurements, from checked parameters."""

    @abstractmethod
    def _finish(self, released: Released, encoding: Encoding) -> None:
        """Set the attributes of a fitted model from what was released."""

    def post_processing(self, encoding: Encoding) -> Mapping[str, str]:  # noqa: ARG002  for others
        """Return the parameters that change only the post-processing of a release.

        With other ones the same release is another model, at no price: so the digest of a fitted
        model holds them, and that of its release does not.  A parameter that changes nothing is
        left out.
        """
        return {}

    # --- fitting ------------------------------------------------------------------------------

    def plan(
        self, source: Any, *, label: str | None = None, columns: Sequence[str] | None = None
    ) -> FitPlan:
        """Return what fitting would measure and cost; nothing is read or spent.

        Args:
            source: a table of a session, or an array or a number of columns; of an array, nothing
                but the number of its columns is looked at.
            label: the column of a table that is learned.
            columns: the columns of a table that it is learned from; all others by default.
        """
        asked = self.asked_price()
        if is_table(source):
            refuse_declared(self)
            return plan_in_session(self, source, label, asked, columns)
        width = source if isinstance(source, int) else matrix(source).shape[1]
        if self.ledger is None:
            return self.plan_for(width, row())
        with opened(self.ledger) as record:
            return self.plan_for(width, unit_of_rows(record))

    def plan_for(self, width: int, unit: PrivacyUnit) -> FitPlan:
        """Return the plan of a fit on arrays of this width, for a unit of one row."""
        encoding = self._encoding(width)
        recipe, asked = self._recipe(encoding), self.asked_price()
        return fit_plan(type(self).__name__, recipe, encoding, asked, unit=unit)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        label: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Pay for the model, and fit it.

        Args:
            X: one row a unit: an array, or a table of a session.
            y: the target of each row, if ``X`` is an array.
            label: the target column, if ``X`` is a table.
            columns: the feature columns, if ``X`` is a table; all by default.
        """
        asked = self.asked_price()
        if is_table(X):
            refuse_declared(self, y=y)
            plan, stored = fit_in_session(self, X, label, asked, columns)
        else:
            refuse_ignored(table=False, label=label, columns=columns)
            plan, stored = self._fit_arrays(X, y)
        self.receipt_ = stored.receipt
        self.take(plan, stored.answer)
        return self

    def take(self, plan: FitPlan, stored: bytes) -> None:
        """Become the model that a fit has stored; nothing is read or paid for.

        Args:
            plan: the plan of the fit.
            stored: what the ledger holds of it.
        """
        self.plan_ = plan
        names = [each.name for each in plan.schedule.sums]
        self._noises_ = dict(zip(names, plan.schedule.noises, strict=True))
        self.n_features_in_ = len(plan.encoding.features)
        self.from_table_ = bool(plan.names)
        if plan.names:
            self.feature_names_in_ = np.array(plan.names[: self.n_features_in_], object)
        self._encoding_ = plan.encoding
        self.digest_ = self._digest(plan, stored)
        self._finish(read_released(stored), plan.encoding)

    def _digest(self, plan: FitPlan, stored: bytes) -> str:
        """Return a name for a fitted model: its plan, its release and their post-processing."""
        later = self.post_processing(plan.encoding)
        text = json.dumps(dict(later), sort_keys=True) if later else ""
        return hashlib.sha256(plan.digest.encode("ascii") + stored + text.encode()).hexdigest()

    def checked(self, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return arrays of the right shape and type; their values are not looked at."""
        return (columns := matrix(X)), labels_of(y, columns.shape[0], self.kind)

    def _fit_arrays(self, X: Any, y: Any) -> tuple[FitPlan, StoredAnswer]:
        named = column_names(X)
        columns, labels = self.checked(X, y)
        with opened(self.ledger) as record:
            plan = self.plan_for(columns.shape[1], unit_of_rows(record))
            stored = pay_and_draw(
                record, plan, lambda: plan.encoding.rows(columns, labels), key=self._key()
            )
        self.__dict__.pop("feature_names_in_", None)
        if named is not None:
            self.feature_names_in_ = np.array(named, object)
        return plan, stored

    def asked_price(self) -> AskedPrice:
        """Read what it may cost."""
        return AskedPrice.read(epsilon=self.epsilon, delta=self.delta, rho=self.rho)

    def _key(self) -> str | None:
        if self.key is not None and not isinstance(self.key, str):
            raise WrongKind("the key of a fit is not text: give key='first model', say, or none.")
        key: str | None = self.key
        return key

    def _encoding(self, width: int) -> Encoding:
        """Return how rows of arrays are bounded, from the parameters."""
        return Encoding(features=self._declared(width), constant=self.constant)

    def _declared(self, width: int) -> tuple[Column, ...]:
        """Return the declared columns: numbers within bounds, unless a model has others."""
        return number_columns(getattr(self, "bounds", None), width)

    # --- using --------------------------------------------------------------------------------

    @property
    def encoding_(self) -> Encoding:
        """How rows were bounded; a model that is not fitted is refused."""
        encoding = cast("Encoding | None", self.__dict__.get("_encoding_"))
        if encoding is None:
            raise not_fitted_error(type(self).__name__)
        return encoding

    def _features(self, X: Any) -> Floats:
        """Return rows for a prediction, in the same steps as those that were learned from."""
        encoding = self.encoding_
        columns = self._columns(X)
        self.check_width(len(columns))
        for place, (column, values) in enumerate(zip(encoding.features, columns, strict=True)):
            _check_text(column, values, self.__dict__.get("feature_names_in_"), place)
        parts = [c.cells(v) for c, v in zip(encoding.features, columns, strict=True)]
        return np.nan_to_num(np.concatenate(parts, axis=1), nan=0.0)

    def check_width(self, width: int) -> None:
        """Refuse rows of another number of columns than the model was fitted on."""
        expected = len(self.encoding_.features)
        if width != expected:
            raise BadArrays(
                what=f"X has {width} features, but {type(self).__name__} is expecting "
                f"{expected} features as input.",
                why="a model knows the columns that it was fitted on.",
                do="give the same columns in the same order.",
            )

    def _half_width(self, name: str, confidence: Any, *, steps: int = 1) -> float:
        """Return how far the noise moves a sum of a fitted model, with this confidence."""
        self.encoding_  # noqa: B018  refuses a model that is not fitted
        return float(self._noises_[name].error(confidence=confidence)) / steps

    def _columns(self, X: Any) -> list[NDArray[Any]]:
        """Return one array a column: by name from a frame or a table, otherwise in order."""
        known = self.__dict__.get("feature_names_in_")
        named = column_names(X)
        if known is not None and named is not None:
            if self.__dict__.get("from_table_", False) and set(known) <= set(named):
                return [np.asarray(listed(X[name]), object) for name in known]
            if list(named) != list(known):
                raise BadArrays(
                    what="The feature names should match those that were passed during fit.",
                    why="a model knows its columns by their names.",
                    do="give the same columns in the same order.",
                )
        if self.__dict__.get("from_table_", False):
            array = np.asarray(X, object)
            if array.ndim == 2:
                return list(array.T)
        return list(matrix(X).T)


def _check_text(
    column: Column, values: NDArray[Any], names: NDArray[Any] | None, place: int
) -> None:
    """Refuse text where no declared category is text, and the other way around."""
    if not isinstance(column, CategoryColumn) or values.dtype.kind not in "OU":
        return
    present = (value for value in values.tolist() if value is not None and value == value)  # noqa: PLR0124  not NaN
    given = {isinstance(value, str) for value in present}
    declared = {isinstance(value, str) for value in column.values}
    if given and given.isdisjoint(declared):
        shown = ", ".join(repr(value) for value in column.values[:3])
        name = f"column {place + 1}" if names is None else f"column {names[place]}"
        raise BadArrays(
            what=f"{name} holds {'text' if True in given else 'no text'}, and its declared "
            f"categories are {shown}{', …' if len(column.values) > 3 else ''}.",
            why="values of another type all count as unknown, and predictions would be wrong.",
            do="convert the column to the type of its categories: frame[name] == 'yes', say.",
        )


_CHUNK: Final = 1 << 15


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRegressor(PrivateModel):
    """A model that learns a number within declared bounds."""

    kind: ClassVar[str] = "regressor"
    constant: ClassVar[bool] = True

    bounds: Any = None
    """Two ends for all columns, or one number a column for either end."""
    target_bounds: Any = None
    """The bounds of the target."""

    def _encoding(self, width: int) -> Encoding:
        (target,) = number_columns(self.target_bounds, 1, name="target_bounds")
        return Encoding(features=self._declared(width), target=target, constant=True)


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateClassifier(PrivateModel):
    """A classifier of declared classes."""

    kind: ClassVar[str] = "classifier"

    classes: Any = None
    """The labels that there are, from public knowledge."""

    def _encoding(self, width: int) -> Encoding:
        return Encoding(
            features=self._declared(width),
            classes=declared_classes(self.classes),
            constant=self.constant,
        )

    @abstractmethod
    def _best(self, cells: Floats) -> Integers:
        """Return the place of the likeliest class of each row, given its features in steps."""

    def codes(self, cells: Floats) -> Integers:
        """Return the place of the class of each row, some rows at a time; ends of rows are cut."""
        width = sum(column.width for column in self.encoding_.features)
        starts = range(0, len(cells), _CHUNK)
        parts = [self._best(cells[start : start + _CHUNK, :width]) for start in starts]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        cells = self._features(X)
        found: NDArray[Any] = np.array(self.encoding_.classes)[self.codes(cells)]
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy on public data; on private data, buy it with ``evaluate``."""
        return float((self.predict(X) == np.asarray(y)).mean())
