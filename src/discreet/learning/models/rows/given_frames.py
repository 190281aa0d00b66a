"""Frames and tables as they are given: each column is judged by its declared type.

Trust: kernel.  What NumPy makes of a whole frame may depend on its values: a single NULL turns
truth values into objects, and then it takes the moments beside them for objects, too, which it
refuses otherwise.  So columns are taken one by one, before anything is paid for.

Definition.  A column of numbers or truth values becomes floats, and NULL becomes NaN; so does a
column that is declared to hold nothing but NULL, and one of categories that are numbers.  A column
of Python objects stays as it is, and its cells are read after the charge.  All others are refused.
Proposition.  Whether a frame is refused, and whether it becomes floats or objects, depends on names
and types of its columns alone.  Proof.  Nothing else is asked before a column is converted, and
every number becomes a float, the nearest one or infinity; no warning tells of it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

from discreet.errors import BadArrays

_NUMBERS: Final = "iufb"
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
