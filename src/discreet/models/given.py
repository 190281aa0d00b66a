"""Arrays as they are given: their shape and type are checked, and no value is looked at.

Trust: kernel.  What is checked here happens before anything is paid for, so it depends on shapes,
types and names of columns alone.  Frames and tables are taken apart by columns
(:mod:`discreet.models.given`).

Frames and tables as they are given: each column is judged by its declared type.

truth values into objects, and then it takes the moments beside them for objects, too, which it
refuses otherwise.  So columns are taken one by one, before anything is paid for.

Definition.  A column of numbers or truth values becomes floats, and NULL becomes NaN; so does a
column that is declared to hold nothing but NULL, and one of categories that are numbers.  A column
of Python objects stays as it is, and its cells are read after the charge.  All others are refused.
Proposition.  Whether a frame is refused, and whether it becomes floats or objects, depends on names
and types of its columns alone.  Proof.  Nothing else is asked before a column is converted, and
every number becomes a float, the nearest one or infinity; no warning tells of it.

Bounds and classes that a caller declares for arrays, read into exact values.

tell of whoever has it.
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
from discreet.models.bounded_rows import Column, NumberColumn
from discreet.requests.table_schema import KeyValue

_NUMBERS: Final = "iufb"
_DECLARED: Final = ("bounds", "target_bounds", "categories", "classes", "ledger", "key")


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
            why="it would be ignored, and whoever wrote it means something by it.",
            do=do,
        )


def refuse_declared(model: Any, **more: Any) -> None:
    """Refuse declarations of a model that a table of a session has of its own."""
    given = model.get_params()
    refuse_ignored(table=True, **more, **{name: given.get(name) for name in _DECLARED})


def matrix(X: Any) -> NDArray[Any]:
    """Return an array of two dimensions; only its shape and type are looked at."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise BadArrays(
            what="Sparse data is given, which is not taken here.",
            why="rows are bounded one by one, with a constant beside them.",
            do="give an array, as X.toarray() returns it.",
        )
    framed = None if isinstance(X, np.ndarray) else frame_matrix(X)
    array = _as_array(X) if framed is None else framed
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
    typed = hasattr(values, "dtype") or hasattr(values, "__array__")
    try:
        return np.asarray(values) if typed else np.asarray(values, object)
    except Exception:  # noqa: BLE001  of any library, and its text may quote values
        error = _no_array() if typed else _ragged()
    raise error


def _no_array() -> BadArrays:
    return BadArrays(
        what="NumPy cannot make an array of what is given.",
        why="each row is one unit, and each column one number.",
        do="give an array of numbers, or a frame of pandas, Polars or Arrow.",
    )


def _ragged() -> BadArrays:
    return BadArrays(
        what="Rows of different lengths are given.",
        why="each row has one value in each column.",
        do="give rows of one length.",
    )


def one_a_row(values: Any) -> NDArray[Any]:
    """Return one value a row, whose type no value decides: that of an array, or objects.

    Columns of other libraries turn into floats where a value is missing, and a list of answers into
    texts where one of them is a text: then one person's value would change that of all others.

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
    """Return what is learned, one value a row."""
    if kind not in {"classifier", "regressor"}:
        return None
    if y is None:
        raise BadArrays(
            what="this model requires y to be passed, but the target y is None.",
            why="it learns one column from the others.",
            do="give fit(X, y).",
        )
    array = _answers(y)
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


def _answers(y: Any) -> NDArray[Any]:
    """Return one value a row as it is, as a column if it is one of a frame, which has no other."""
    if isinstance(y, list | tuple):
        return _as_array(y)
    columns = frame_columns(y)
    if columns is None:
        return one_a_row(y)
    return one_a_row(columns[0])[:, None] if len(columns) == 1 else np.empty((0, len(columns)))


def _warn_column() -> None:
    """Say in scikit-learn's own way that a column was taken for a vector, if it is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples,), for example using ravel().",
        theirs,
        stacklevel=4,
    )


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame or a table, if all of them are text."""
    names = getattr(X, "column_names", None)
    names = getattr(X, "columns", None) if names is None else names
    if names is None:
        return None
    listed = list(names)
    return listed if all(isinstance(name, str) for name in listed) else None


def listed(column: Any) -> list[Any]:
    """Return the values of a column of a frame or a table."""
    for method in ("to_pylist", "to_list", "tolist"):
        found = getattr(column, method, None)
        if callable(found):
            return list(found())
    return list(column)


_OBJECTS: Final = np.dtype(object)
_OURS: Final = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean)
_TEXTS: Final = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)


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
    if _is_pandas(X) and all(_is_number(kind) for kind in X.dtypes):
        return np.asarray(X)  # of the type that NumPy has for these types
    columns = frame_columns(X)
    if columns is None:
        return None
    read = [
        _read(each, f"the column '{name}'") for name, each in zip(_names(X), columns, strict=True)
    ]
    objects = any(each.dtype == _OBJECTS for each in read)
    lines = np.empty((len(read), len(X)), object if objects else np.float64)
    for line, values in zip(lines, read, strict=True):
        line[:] = values
    return lines.T


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2


def _is_number(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in _NUMBERS


def _names(X: Any) -> list[Any]:
    names = getattr(X, "column_names", None)
    return list(X.columns if names is None else names)


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
        raise BadArrays(
            what=f"{whose} holds text.",
            why="bounds are about numbers, and rows without a number in it would be left out.",
            do="give numbers, such as pandas.get_dummies makes; categories of a table are read in "
            "a session.",
        )
    if not kinds.is_null(kind) and not any(test(kind) for test in _OURS):
        raise _no_numbers(whose)
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy())


def _no_numbers(whose: str) -> BadArrays:
    return BadArrays(
        what=f"{whose} holds something else than numbers.",
        why="bounds are about numbers; what a column holds is judged by its type, and not by its "
        "values.",
        do="give numbers, such as years in place of dates; or leave the column out.",
    )


def number_columns(bounds: Any, width: int, *, name: str = "bounds") -> tuple[Column, ...]:
    """Read declared bounds: one pair for all columns, or a list of numbers for either end.

    >>> number_columns((0, [1, 5]), 2)[1].high
    Fraction(5, 1)
    """
    lows, highs = _ends(bounds, width, name)
    columns: list[NumberColumn] = []
    for low, high in zip(lows, highs, strict=True):
        if columns and low is columns[-1].low and high is columns[-1].high:
            columns.append(columns[-1])
            continue
        if not low < high:
            raise OutOfRange(
                what="a lower bound is not below its upper bound.",
                why="a number between them could be nothing else, or nothing at all.",
                do=f"give {name}=(low, high) with low < high, for all columns or one each.",
            )
        columns.append(NumberColumn(low, high))
    return tuple(columns)


def _ends(bounds: Any, width: int, name: str) -> tuple[list[Fraction], list[Fraction]]:
    pair = None if bounds is None or isinstance(bounds, str) else tuple(bounds)
    if pair is None or len(pair) != 2:
        raise WrongKind(
            what=f"no {name} are given, or they are no pair.",
            why="bounds that were read off the data would tell of the largest value.",
            do=f"give {name}=(low, high), each a number or one number a column, from public "
            "knowledge.",
        )
    ends = []
    for end in pair:
        if isinstance(end, str) or not isinstance(end, Iterable):
            ends.append([decimal(_plain(end), name="bound")] * width)
            continue
        values = list(end)
        if len(values) != width:
            raise BadArrays(
                what=f"there are {len(values)} bounds and {width} columns.",
                why="every column needs its own two bounds.",
                do="give one number for all columns, or one for each.",
            )
        ends.append([decimal(_plain(value), name="bound") for value in values])
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
