"""Models as scikit-learn has them: parameters by name, ``fit``, ``predict``, and a price.

Trust: kernel.  What is checked here about arrays is their shape and their type, which are public;
values are looked at after they are paid for, in :mod:`discreet.learning.models.bounded_rows`.

scikit-learn is never imported: it finds everything by its own names (``get_params``,
``__sklearn_tags__``, ``n_features_in_``).
"""

from __future__ import annotations

import inspect
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadArrays, NotFitted, OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.learning.models.bounded_rows import (
    Column,
    Encoding,
    Floats,
    NumberColumn,
)
from discreet.learning.models.fit_plans import FitPlan, Recipe, Released, fit_plan, read_released
from discreet.learning.models.measurement import AskedPrice
from discreet.learning.models.paid_fit import opened, pay_and_draw, unit_of_rows
from discreet.learning.models.session_rows import fit_in_session, is_table, plan_in_session
from discreet.ledger.values import StoredAnswer
from discreet.requests.table_schema import KeyValue
from discreet.units import PrivacyUnit, row

_NUMBERS: Final = "iufb"


class PrivateModel(ABC):
    """The common part of all models."""

    kind: ClassVar[str]
    """What it is to scikit-learn: classifier, regressor, clusterer or transformer."""
    constant: ClassVar[bool] = False
    """Whether rows end with a constant."""
    two_classes: ClassVar[bool] = False
    """Whether it tells just two classes apart."""

    epsilon: Any
    delta: Any
    rho: Any
    bounds: Any
    ledger: Any
    key: Any

    # --- what a model adds --------------------------------------------------------------------

    @abstractmethod
    def _recipe(self, encoding: Encoding) -> Recipe:
        """Return what is measured, from parameters that were checked."""

    @abstractmethod
    def _finish(self, released: Released, encoding: Encoding) -> None:
        """Set the attributes of a fitted model from what was released."""

    # --- parameters ---------------------------------------------------------------------------

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
        asked = self._asked()
        if is_table(source):
            return plan_in_session(self, source, label, asked, columns)
        width = source if isinstance(source, int) else _matrix(source).shape[1]
        if self.ledger is None:
            return self.plan_for(width, row())
        with opened(self.ledger) as record:
            return self.plan_for(width, unit_of_rows(record))

    def plan_for(self, width: int, unit: PrivacyUnit) -> FitPlan:
        """Return the plan of a fit on arrays of so many columns, for a unit of one row."""
        encoding = self._encoding(width)
        recipe, asked = self._recipe(encoding), self._asked()
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
            y: what is learned about each row, where ``X`` is an array.
            label: the column that is learned, where ``X`` is a table.
            columns: the columns that it is learned from, where ``X`` is a table; all by default.
        """
        asked = self._asked()
        if is_table(X):
            plan, stored = fit_in_session(self, X, label, asked, columns)
        else:
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
        self.n_features_in_ = len(plan.encoding.features)
        self.from_table_ = bool(plan.names)
        if plan.names:
            self.feature_names_in_ = np.array(plan.names[: self.n_features_in_], object)
        self._encoding_ = plan.encoding
        self._finish(read_released(stored), plan.encoding)

    def checked(self, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return arrays of the right shape and type; their values are not looked at."""
        columns = _matrix(X)
        return columns, _labels(y, columns.shape[0], self.kind)

    def _fit_arrays(self, X: Any, y: Any) -> tuple[FitPlan, StoredAnswer]:
        named = _column_names(X)
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

    def _asked(self) -> AskedPrice:
        return AskedPrice.read(epsilon=self.epsilon, delta=self.delta, rho=self.rho)

    def _key(self) -> str | None:
        if self.key is not None and not isinstance(self.key, str):
            raise WrongKind(
                what="the key of a fit is no text.",
                why="it is the name under which the model is on record.",
                do="give key='first model', say, or none.",
            )
        key: str | None = self.key
        return key

    def _encoding(self, width: int) -> Encoding:
        """Return how rows of arrays are bounded, from the parameters."""
        return Encoding(features=number_columns(self.bounds, width), constant=self.constant)

    # --- using --------------------------------------------------------------------------------

    def _features(self, X: Any) -> Floats:
        """Return rows for a prediction, in the same steps as those that were learned from."""
        encoding = cast("Encoding | None", self.__dict__.get("_encoding_"))
        if encoding is None:
            raise _not_fitted(type(self).__name__)
        columns = self._columns(X)
        expected = len(encoding.features)
        if len(columns) != expected:
            raise BadArrays(
                what=f"X has {len(columns)} features, but {type(self).__name__} is expecting "
                f"{expected} features as input.",
                why="a model knows the columns that it was fitted on.",
                do="give the same columns in the same order.",
            )
        parts = [c.cells(v) for c, v in zip(encoding.features, columns, strict=True)]
        return np.nan_to_num(np.concatenate(parts, axis=1), nan=0.0)

    def _columns(self, X: Any) -> list[NDArray[Any]]:
        """Return one array a column: by name from a frame or a table, otherwise in order."""
        known = self.__dict__.get("feature_names_in_")
        named = _column_names(X)
        if known is not None and named is not None:
            if self.__dict__.get("from_table_", False) and set(known) <= set(named):
                return [np.asarray(_listed(X[name]), object) for name in known]
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
        return list(_matrix(X).T)


def _not_fitted(name: str) -> Exception:
    """Return the error for a model that is not fitted, one of scikit-learn's where it is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = NotFitted if theirs is None else type("NotFitted", (NotFitted, theirs), {})
    error: Exception = kind(
        what=f"this {name} is not fitted yet.",
        why="it has learned nothing that it could tell.",
        do="call fit first, which pays for it.",
    )
    return error


def number_columns(bounds: Any, width: int) -> tuple[Column, ...]:
    """Read declared bounds: one pair for all columns, or a list of numbers for either end.

    >>> number_columns((0, [1, 5]), 2)[1].high
    Fraction(5, 1)
    """
    lows, highs = _ends(bounds, width)
    columns = []
    for low, high in zip(lows, highs, strict=True):
        if not low < high:
            raise OutOfRange(
                what="a lower bound is not below its upper bound.",
                why="a number between them could be nothing else, or nothing at all.",
                do="give bounds=(low, high) with low < high, for all columns or one each.",
            )
        columns.append(NumberColumn(low, high))
    return tuple(columns)


def _ends(bounds: Any, width: int) -> tuple[list[Fraction], list[Fraction]]:
    pair = None if bounds is None or isinstance(bounds, str) else tuple(bounds)
    if pair is None or len(pair) != 2:
        raise WrongKind(
            what="no bounds are given, or they are no pair.",
            why="bounds that were read off the data would tell of the largest value.",
            do="give bounds=(low, high), each a number or one number a column, from public "
            "knowledge.",
        )
    ends = []
    for end in pair:
        listed = list(end) if isinstance(end, Iterable) and not isinstance(end, str) else None
        values = [end] * width if listed is None else listed
        if len(values) != width:
            raise BadArrays(
                what=f"there are {len(values)} bounds and {width} columns.",
                why="every column needs its own two bounds.",
                do="give one number for all columns, or one for each.",
            )
        ends.append([decimal(_plain(value), name="a bound") for value in values])
    return ends[0], ends[1]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def declared_classes(classes: Any) -> tuple[KeyValue, ...]:
    """Read declared classes.

    >>> declared_classes(["well", "ill"])
    ('well', 'ill')
    """
    given = None if classes is None or isinstance(classes, str) else tuple(map(_plain, classes))
    if given is None or len(set(given)) < max(2, len(given)):
        raise WrongKind(
            what="no classes are given, fewer than two, or one of them twice.",
            why="a class that only the data names would tell of whoever is in it.",
            do="give classes=['well', 'ill'], say, from public knowledge.",
        )
    return given


def _matrix(X: Any) -> NDArray[Any]:
    """Return an array of two dimensions; only its shape and type are looked at."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise BadArrays(
            what="Sparse data is given, which is not taken here.",
            why="rows are bounded one by one, with a constant beside them.",
            do="give an array, as X.toarray() returns it.",
        )
    array = _as_array(X)
    if array.dtype.kind == "c":
        raise BadArrays(
            what="Complex data not supported: the array holds complex numbers.",
            why="bounds are about real numbers.",
            do="give real and imaginary parts as two columns.",
        )
    if array.ndim != 2:
        raise BadArrays(
            what=f"Expected 2D array, got {array.ndim}D array instead. Reshape your data.",
            why="each row is one unit, and each column one number.",
            do="use array.reshape(-1, 1) for one column.",
        )
    if array.shape[1] == 0:
        raise BadArrays(
            what=f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is "
            "required.",
            why="there is nothing to learn from.",
            do="give at least one column.",
        )
    if array.dtype.kind not in _NUMBERS + "O":  # cells of objects are read after the charge
        raise BadArrays(
            what="an array holds something else than numbers: argument must be a string or a "
            "number.",
            why="bounds are about numbers.",
            do="give numbers; categories of a table are read in a session.",
        )
    return array


def _as_array(values: Any) -> NDArray[Any]:
    """Return an array whose type no value decides: that of an array, or objects for a list."""
    if hasattr(values, "dtype") or hasattr(values, "__array__"):
        return np.asarray(values)
    try:
        return np.asarray(values, object)
    except ValueError:
        pass
    raise BadArrays(
        what="Rows of different lengths are given.",
        why="each row has one value in each column.",
        do="give rows of one length.",
    )


def _labels(y: Any, count: int, kind: str) -> NDArray[Any] | None:
    """Return what is learned, one value a row."""
    if kind not in {"classifier", "regressor"}:
        return None
    if y is None:
        raise BadArrays(
            what="this model requires y to be passed, but the target y is None.",
            why="it learns one column from the others.",
            do="give fit(X, y).",
        )
    array = _as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_column()
        array = array[:, 0]
    if array.ndim != 1 or array.shape[0] != count:
        raise BadArrays(
            what="y has another shape than one value for each row of X (inconsistent numbers of "
            "samples).",
            why="each row has one value that is learned.",
            do="give a y of one dimension, as long as X.",
        )
    return array


def _warn_column() -> None:
    """Say in scikit-learn's own way that a column was taken for a vector, if it is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples,), for example using ravel().",
        theirs,
        stacklevel=4,
    )


def _column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame or a table, if all of them are text."""
    names = getattr(X, "column_names", None)
    names = getattr(X, "columns", None) if names is None else names
    if names is None:
        return None
    listed = list(names)
    return listed if all(isinstance(name, str) for name in listed) else None


def _listed(column: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        found = getattr(column, method, None)
        if callable(found):
            return list(found())
    return list(column)
