"""Arrays and frames as they are given: judged by shape, names and declared types; no value is read.

Trust: kernel (T2).  All checks here happen before anything is charged.

Definition.  A column of numbers or booleans becomes floats, and NULL becomes NaN; so does a column
that is declared to hold nothing but NULL, and one of categories that are numbers.  A column of
Python objects stays unchanged, and its cells are read after the charge.  All others are refused.
Proposition.  Whether a frame is refused, and whether it becomes floats or objects, depends on names
and types of its columns alone.  Proof.  Nothing else is read before a column is converted, and
every number becomes a float, the nearest one or infinity, without a warning.

pandas turns a column of booleans into objects if one is missing, so columns are taken one by
one.  Bounds and classes are declared by the caller: read off the data, they would reveal it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

from discreet.errors import BadArrays, OutOfRange, WrongKind
from discreet.exact import decimal
from discreet.extend import KeyValue
from discreet.models.bounded_rows import NumberColumn

_NUMBERS: Final = "iufb"
_OBJECTS: Final = np.dtype(object)
_OURS: Final = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean)
_TEXTS: Final = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
_DECLARED: Final = ("bounds", "target_bounds", "categories", "classes", "ledger", "key")


def _bad(what: str, do: str) -> BadArrays:
    why = "arrays are judged by shape and type, before anything is paid for."
    return BadArrays(what=what, why=why, do=do)


def refuse_ignored(*, table: bool, **given: Any) -> None:
    """Refuse arguments that rows of this kind leave no use for.

    >>> refuse_ignored(table=True, y=None, ledger=None)
    """
    unused = [name for name, value in given.items() if value is not None]
    if unused:
        rows = "a table of a session" if table else "arrays"
        do = (
            "leave it out: the label is a column, label='ill' say, bounds and classes come from "
            "the policy, and the session's ledger pays."
            if table
            else "leave it out, and give the columns of X and y that it stands for; a table of a "
            "session is session.table('visits')."
        )
        raise WrongKind(
            what=f"{', '.join(unused)} is given beside {rows}.",
            why="it would be ignored, and anyone who wrote it means something by it.",
            do=do,
        )


def refuse_declared(model: Any, **more: Any) -> None:
    """Refuse declarations of a model that a table of a session has of its own."""
    given = model.get_params()
    refuse_ignored(table=True, **more, **{name: given.get(name) for name in _DECLARED})


# --- arrays -----------------------------------------------------------------------------------


def matrix(X: Any) -> NDArray[Any]:
    """Return an array of two dimensions; only its shape and type are looked at."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise _bad("Sparse data is given.", "give an array, as X.toarray() returns it.")
    framed = None if isinstance(X, np.ndarray) else frame_matrix(X)
    array = _as_array(X) if framed is None else framed
    if array.dtype.kind == "c":
        raise _bad(
            "Complex data not supported: the array holds complex numbers.",
            "give real and imaginary parts as two columns.",
        )
    if array.ndim != 2:
        raise _bad(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data.",
            "use array.reshape(-1, 1) for one column.",
        )
    if array.shape[1] == 0:
        raise _bad(
            f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is "
            "required.",
            "give at least one column.",
        )
    if array.dtype.kind not in _NUMBERS + "O":  # cells of objects are read after the charge
        raise _bad(
            "an array holds something else than numbers: argument must be a string or a number.",
            "give numbers; categories of a table are read in a session.",
        )
    return array


def _as_array(values: Any) -> NDArray[Any]:
    """Return an array whose type no value decides: that of an array, or objects for a list."""
    typed = hasattr(values, "dtype") or hasattr(values, "__array__")
    try:
        return np.asarray(values) if typed else np.asarray(values, object)
    except Exception:  # noqa: BLE001, S110  of any library, and its text may quote values
        pass
    if typed:
        raise _bad(
            "NumPy cannot make an array of what is given.",
            "give an array of numbers, or a frame of pandas, Polars or Arrow.",
        )
    raise _bad("Rows of different lengths are given.", "give rows of one length.")


def one_a_row(values: Any) -> NDArray[Any]:
    """Return one value a row, whose type no value decides: that of an array, or objects.

    Columns of other libraries turn into floats if a value is missing, and a list of answers into
    texts if one of them is a text: then one person's value would change that of all others.

    >>> one_a_row([True, "no"]).tolist()
    [True, 'no']
    """
    typed = isinstance(getattr(values, "dtype", None), np.dtype)
    if typed or getattr(values, "ndim", 1) != 1 or not hasattr(values, "__len__"):
        return _as_array(values)
    found = listed(values)
    cells = np.empty(len(found), object)
    for place, value in enumerate(found):
        cells[place] = value
    return cells


def labels_of(y: Any, count: int, kind: str) -> NDArray[Any] | None:
    """Return the target, one value a row."""
    if kind not in {"classifier", "regressor"}:
        return None
    if y is None:
        raise _bad(
            "this model requires y to be passed, but the target y is None.", "give fit(X, y)."
        )
    columns = None if isinstance(y, list | tuple) else frame_columns(y)
    if isinstance(y, list | tuple):
        array = _as_array(y)
    elif columns is None:
        array = one_a_row(y)
    else:  # a frame has no other column than the one that is learned
        array = one_a_row(columns[0])[:, None] if len(columns) == 1 else np.empty((0, 0))
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_column()
        array = array[:, 0]
    if array.ndim != 1 or array.shape[0] != count:
        raise _bad(
            "y has another shape than one value for each row of X (inconsistent numbers of "
            "samples).",
            "give a y of one dimension, as long as X.",
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


# --- frames -----------------------------------------------------------------------------------


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame or a table, if all of them are text."""
    names = _names(X)
    return names if names is not None and all(isinstance(n, str) for n in names) else None


def _names(X: Any) -> list[Any] | None:
    names = getattr(X, "column_names", None)
    names = getattr(X, "columns", None) if names is None else names
    return None if names is None else list(names)


def listed(column: Any) -> list[Any]:
    """Return the values of a column of a frame or a table."""
    for method in ("to_pylist", "to_list", "tolist"):
        found = getattr(column, method, None)
        if callable(found):
            return list(found())
    return list(column)


def frame_columns(X: Any) -> list[Any] | None:
    """Return the columns of a frame or a table, of pandas or Arrow; None for anything else.

    >>> frame_columns(np.ones((2, 2))) is None
    True
    """
    if isinstance(X, np.ndarray) or not hasattr(X, "__array__"):
        return None
    if _is_pandas(X):
        return [X.iloc[:, place] for place in range(X.shape[1])]
    if not hasattr(X, "__arrow_c_stream__") or not hasattr(X, "columns"):
        return None
    try:
        return list((X if isinstance(X, pa.Table) else pa.table(X)).columns)
    except pa.ArrowException:  # of a type that Arrow has not
        pass
    raise _no_numbers("a column")


def frame_matrix(X: Any) -> NDArray[Any] | None:
    """Return a frame as an array of two dimensions, of floats or of objects; None for all else.

    >>> frame_matrix(pa.table({"age": [30, None], "smokes": [True, False]})).tolist()
    [[30.0, 1.0], [nan, 0.0]]
    """
    if _is_pandas(X) and all(isinstance(k, np.dtype) and k.kind in _NUMBERS for k in X.dtypes):
        return np.asarray(X)  # of the type that NumPy has for these types
    columns = frame_columns(X)
    if columns is None:
        return None
    names = _names(X) or ()
    read = [_read(each, f"the column '{n}'") for n, each in zip(names, columns, strict=True)]
    objects = any(each.dtype == _OBJECTS for each in read)
    lines = np.empty((len(read), len(X)), object if objects else np.float64)
    for line, values in zip(lines, read, strict=True):
        line[:] = values
    return lines.T


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2


def _read(column: Any, whose: str) -> NDArray[Any]:
    """Return the values of a column; refuse it by its type."""
    if isinstance(column, pa.ChunkedArray):
        return _from_arrow(column, whose)
    kind = column.dtype
    categories = getattr(kind, "categories", None)
    if categories is not None:
        values = np.append(_read(categories, whose), np.nan)  # the last of them is NULL
        return np.asarray(values[column.cat.codes.to_numpy()])
    if kind == _OBJECTS:
        return np.asarray(column, object)
    if kind.kind in _NUMBERS:
        with np.errstate(all="ignore"):
            return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    try:
        return _from_arrow(pa.chunked_array([pa.Array.from_pandas(column)]), whose)
    except pa.ArrowException:  # of a type that Arrow has not
        pass
    raise _no_numbers(whose)


def _from_arrow(column: pa.ChunkedArray, whose: str) -> NDArray[Any]:
    if column.type == pa.float64():
        return np.asarray(column.to_numpy())
    kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
    if any(test(kind) for test in _TEXTS):
        raise _bad(
            f"{whose} holds text.",
            "give numbers, such as pandas.get_dummies makes; categories of a table are read in a "
            "session.",
        )
    if not kinds.is_null(kind) and not any(test(kind) for test in _OURS):
        raise _no_numbers(whose)
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def _no_numbers(whose: str) -> BadArrays:
    return _bad(
        f"{whose} holds something else than numbers.",
        "give numbers, such as years in place of dates; or leave the column out.",
    )


# --- declared bounds and classes --------------------------------------------------------------


def number_columns(bounds: Any, width: int, *, name: str = "bounds") -> tuple[NumberColumn, ...]:
    """Read declared bounds: one pair for all columns, or a list of numbers for either end.

    >>> number_columns((0, [1, 5]), 2)[1].high
    Fraction(5, 1)
    """
    pair = None if bounds is None or isinstance(bounds, str) else tuple(bounds)
    if pair is None or len(pair) != 2:
        raise WrongKind(
            what=f"no {name} are given, or they are not a pair.",
            why="bounds that were read off the data would reveal the largest value.",
            do=f"give {name}=(low, high), each a number or one number a column, from public "
            "knowledge.",
        )
    columns: list[NumberColumn] = []
    for low, high in zip(*(_end(end, width) for end in pair), strict=True):
        if columns and low is columns[-1].low and high is columns[-1].high:
            columns.append(columns[-1])
            continue
        if not low < high:
            raise OutOfRange(f"{name}=(low, high) must have low < high, in each column.")
        columns.append(NumberColumn(low, high))
    return tuple(columns)


def _end(end: Any, width: int) -> list[Fraction]:
    if isinstance(end, str) or not isinstance(end, Iterable):
        return [decimal(_plain(end), name="bound")] * width
    values = list(end)
    if len(values) != width:
        raise _bad(
            f"there are {len(values)} bounds and {width} columns.",
            "give one number for all columns, or one for each.",
        )
    return [decimal(_plain(value), name="bound") for value in values]


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
            why="a class that only the data names would reveal anyone who is in it.",
            do="give classes=['well', 'ill'], say, from public knowledge.",
        )
    return given
