"""Arrays as they are given: their shape and type are checked, and no value is looked at.

Trust: kernel.  What is checked here happens before anything is paid for, so it depends on shapes,
types and names of columns alone.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadArrays, WrongKind

_NUMBERS: Final = "iufb"
_DECLARED: Final = ("bounds", "target_bounds", "categories", "classes", "ledger", "key")
_TEXTS: Final = ("str", "large_string", "utf8")


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
    text = _text_column(X)
    if text is not None:
        raise BadArrays(
            what=f"the column '{text}' holds text.",
            why="bounds are about numbers, and rows without a number in it would be left out.",
            do="give numbers, such as pandas.get_dummies makes; categories of a table are read in "
            "a session.",
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


def _text_column(X: Any) -> str | None:
    """Return the name of a column of a frame or a table whose type is text, if there is one."""
    names = column_names(X)
    schema = getattr(X, "schema", None)  # of Arrow and Polars; pandas has none
    kinds = getattr(schema, "types", None) or getattr(X, "dtypes", None)
    if names is None or kinds is None:
        return None
    found = zip(names, (str(kind).lower() for kind in kinds), strict=False)
    return next((name for name, kind in found if kind.startswith(_TEXTS)), None)


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
    array = _as_array(y) if isinstance(y, list | tuple) else one_a_row(y)
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
