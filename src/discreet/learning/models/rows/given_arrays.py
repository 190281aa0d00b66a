"""Arrays as they are given: their shape and type are checked, and no value is looked at.

Trust: kernel.  What is checked here happens before anything is paid for, so it depends on shapes,
types and names of columns alone.  Frames and tables are taken apart by columns
(:mod:`discreet.learning.models.rows.given_frames`).
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadArrays, WrongKind
from discreet.learning.models.rows.given_frames import frame_columns, frame_matrix

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
