"""Frames and tables: types of columns decide what is refused, and one cell moves only itself."""

# ruff: noqa: DTZ001 (timestamps have no time zone)

import itertools
import math
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadArrays
from discreet.ledger import Ledger
from discreet.models.given import labels_of, matrix
from discreet.session import Rehearsal

DAY = datetime(1980, 5, 17)
INTERVAL = pd.Interval(0, 1)
ARROW = {
    "int64": (pa.int64(), 2**63 - 1),
    "uint64": (pa.uint64(), 2**64 - 1),
    "int8": (pa.int8(), -7),
    "float32": (pa.float32(), 0.5),
    "float64": (pa.float64(), math.nan),
    "decimal": (pa.decimal128(9, 2), Decimal("1.50")),
    "bool": (pa.bool_(), True),
    "null": (pa.null(), None),
    "codes": (pa.dictionary(pa.int8(), pa.int64()), 3),
    "text": (pa.string(), "A"),
    "large text": (pa.large_string(), "A"),
    "categories": (pa.dictionary(pa.int8(), pa.string()), "A"),
    "moment": (pa.timestamp("us"), DAY),
    "day": (pa.date32(), date(1980, 5, 17)),
    "duration": (pa.duration("s"), timedelta(1)),
    "bytes": (pa.binary(), b"A"),
    "list": (pa.list_(pa.float64()), [1.0]),
    "struct": (pa.struct([("a", pa.int64())]), {"a": 1}),
}
PANDAS = {
    "float64": ("float64", 1.5),
    "Int64": ("Int64", 2**63 - 1),
    "Float64": ("Float64", 1.5),
    "boolean": ("boolean", True),
    "object": ("object", True),
    "int64[pyarrow]": ("int64[pyarrow]", 7),
    "bool[pyarrow]": ("bool[pyarrow]", True),
    "decimal": (pd.ArrowDtype(pa.decimal128(9, 2)), Decimal("1.50")),
    "sparse": ("Sparse[float]", 1.5),
    "codes": (pd.CategoricalDtype([1, 7]), 7),
    "mixed codes": (pd.CategoricalDtype(pd.Index([1, 7], dtype=object)), 7),
    "str": ("str", "A"),
    "string": ("string", "A"),
    "categories": (pd.CategoricalDtype(["A", "B"]), "A"),
    "moment": ("datetime64[us]", DAY),
    "moment with a zone": ("datetime64[us, UTC]", pd.Timestamp(DAY, tz="UTC")),
    "period": ("period[D]", pd.Period("1980-05-17", "D")),
    "interval": ("interval", INTERVAL),
    "complex": ("complex128", 1j),
}
POLARS = {
    "int64": (pl.Int64, 7),
    "int128": (pl.Int128, 7),
    "float32": (pl.Float32, 0.5),
    "decimal": (pl.Decimal(9, 2), Decimal("1.50")),
    "bool": (pl.Boolean, True),
    "null": (pl.Null, None),
    "text": (pl.String, "A"),
    "categories": (pl.Categorical, "A"),
    "enum": (pl.Enum(["A"]), "A"),
    "moment": (pl.Datetime, DAY),
    "list": (pl.List(pl.Float64), [1.0]),
    "object": (pl.Object, 7),
}


def arrow(columns):
    """Make a table of Arrow from types and values."""
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})


def batch(columns):
    """Make a batch of rows of Arrow."""
    return arrow(columns).to_batches()[0]


def pandas(columns):
    """Make a frame of pandas from dtypes and values."""
    return pd.DataFrame(
        {name: pd.Series(values, dtype=kind) for name, (kind, values) in columns.items()}
    )


def polars(columns):
    """Make a frame of Polars from types and values."""
    return pl.DataFrame(
        {name: pl.Series(values, dtype=kind) for name, (kind, values) in columns.items()}
    )


FRAMES = {
    "arrow": (arrow, ARROW),
    "batch": (batch, ARROW),
    "pandas": (pandas, PANDAS),
    "polars": (polars, POLARS),
}


def decision(frame):
    """Return what is decided before the charge, and the rows that come of it."""
    try:
        found = matrix(frame)
    except BadArrays as refused:
        return str(refused), None
    return (found.dtype, found.shape), found


@pytest.mark.parametrize("library", FRAMES)
def test_no_cell_decides_whether_a_frame_is_refused(library):
    """Beside a column of any other type, too: NumPy looks for one that holds all of them."""
    make, types = FRAMES[library]
    for (kind, value), (beside, other) in itertools.product(types.values(), repeat=2):
        given = [
            make({"a": (kind, [value, value, cell]), "b": (beside, [other, other, last])})
            for cell, last in ((value, other), (None, other), (value, None), (None, None))
        ]
        (first, rows), *others = map(decision, given)
        for decided, changed in others:
            assert decided == first
            if rows is not None:
                assert repr(changed[:2].tolist()) == repr(rows[:2].tolist())


NUMBERS = {
    "arrow": {"int64", "uint64", "int8", "float32", "float64", "decimal", "bool", "null", "codes"},
    "pandas": {
        *("float64", "Int64", "Float64", "boolean", "object", "int64[pyarrow]", "bool[pyarrow]"),
        *("decimal", "sparse", "codes", "mixed codes"),
    },
    "polars": {"int64", "float32", "decimal", "bool", "null"},
}


@pytest.mark.parametrize("library", NUMBERS)
def test_numbers_are_taken_and_nothing_else(library):
    make, types = FRAMES[library]
    for name, (kind, value) in types.items():
        decided, rows = decision(make({"x": (kind, [value, None, value])}))
        assert (rows is not None) == (name in NUMBERS[library]), name
        if rows is None:
            assert "'x' holds" in decided or library == "polars"
        elif rows.dtype != object:
            number = math.nan if value is None else float(value)
            assert repr(rows[:, 0].tolist()) == repr([number, math.nan, number])


@pytest.mark.parametrize("value", [False, None])
def test_a_null_beside_a_moment_is_not_charged(tmp_path, value):
    """As it was found: with a NULL among truth values, the moments were taken for objects."""
    table = pa.table({"smokes": [True, False, value], "born": [DAY] * 3})
    budget = dp.Budget(epsilon=2, delta="1e-4")
    with Ledger.open(tmp_path / "study.ledger", unit=dp.row(), budget=budget) as ledger:
        before = ledger.receipt
        model = dp.models.LogisticRegression(
            epsilon=1, delta="1e-6", bounds=(0, 1), classes=(0, 1), ledger=ledger
        )
        for frame in (table, table.to_pandas(), pl.from_arrow(table)):
            with pytest.raises(BadArrays, match="'born' holds something else than numbers"):
                model.fit(frame, [0, 1, 1])
        assert ledger.receipt == before


def test_objects_are_read_after_the_charge():
    class Told:
        def __float__(self):
            raise AssertionError

    frame = pd.DataFrame({"a": [1.5, 2.5], "b": pd.Series([Told(), None], dtype=object)})
    assert matrix(frame).dtype == object
    assert matrix(frame)[:, 0].tolist() == [1.5, 2.5]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.longdouble, object])
def test_no_warning_tells_of_one_number(kind):
    huge = pd.Series([np.longdouble("1e400"), np.longdouble(1)], dtype=kind)
    nullable = pd.Series([1, None], dtype="Int64")
    assert matrix(pd.DataFrame({"a": huge, "b": nullable})).shape == (2, 2)


def test_errors_of_other_libraries_become_ours():
    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("patient 17")

    for call in (matrix, lambda y: labels_of(y, 3, "classifier")):
        with pytest.raises(BadArrays) as caught:
            call(Broken())
        assert "17" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("library", ["arrow", "pandas", "polars"])
def test_labels_in_a_frame_are_taken_as_they_are(library):
    large = 2**53 + 1
    make, types = FRAMES[library]
    kind = types["Int64" if library == "pandas" else "int64"][0]
    for last in (7, None):
        found = labels_of(make({"y": (kind, [7, large, last])}), 3, "classifier").tolist()
        assert found[:2] == [7, large]
    with pytest.raises(BadArrays, match="another shape"):
        labels_of(make({"y": (kind, [7, 7, 7]), "z": (kind, [7, 7, 7])}), 3, "classifier")


def test_categories_are_counted_in_frames_of_truth_values_and_integers():
    codes = {"a": [True, False, None] * 400, "b": [0, 1, 2] * 400}
    labels = ["ill", "well", "well"] * 400
    for frame in (pa.table(codes), pl.DataFrame(codes), pd.DataFrame(codes).convert_dtypes()):
        model = dp.models.CategoricalNB(
            epsilon=20, categories=(2, 3), classes=("well", "ill"), ledger=Rehearsal()
        ).fit(frame, labels)
        assert np.abs(model.class_count_ - 400).max() < 20
