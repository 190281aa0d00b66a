"""Arrow arrays that are filled and read without Arrow's own conversions, against these."""

from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.requests.raw_totals import (
    arrow_numbers,
    arrow_values,
    integers,
    nulls,
    numbers,
    sparse_leaves,
    taken,
)

KINDS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"])),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
}
NUMBERS = [pa.int64(), pa.float64(), pa.bool_()]


@st.composite
def columns(draw, kinds=tuple(KINDS)):
    kind = draw(st.sampled_from(kinds))
    return kind, draw(st.lists(st.none() | KINDS[kind], max_size=40))


@given(columns())
def test_values_are_those_of_arrow(column):
    kind, values = column
    found = arrow_values(values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, type=kind))
    assert found.to_pylist() == values


@given(columns(), st.integers(0, 40), st.integers(0, 40))
def test_nulls_are_those_of_arrow_also_in_a_slice(column, start, size):
    kind, values = column
    array = pa.array(values, type=kind).slice(start, size)
    assert nulls(array).tolist() == [value is None for value in array.to_pylist()]


@given(columns(NUMBERS), st.integers(0, 40), st.integers(0, 40))
def test_numbers_are_those_of_arrow_also_in_a_slice(column, start, size):
    kind, values = column
    array = pa.array(values, type=kind).slice(start, size)
    wanted = [0 if value is None else value for value in array.to_pylist()]
    assert numbers(array).tolist() == wanted
    assert numbers(pa.chunked_array([array, array])).tolist() == wanted * 2


@given(columns(NUMBERS), st.booleans())
def test_numbers_become_arrays_with_and_without_nulls(column, masked):
    kind, values = column
    null = np.array([value is None for value in values], np.bool_)
    filled = np.array([0 if value is None else value for value in values], kind.to_pandas_dtype())
    found = arrow_numbers(filled, kind, null if masked else None)
    found.validate(full=True)
    assert found.equals(pa.array(filled, type=kind, mask=null if masked else None))


@given(columns(), st.data())
def test_taken_is_that_of_arrow(column, data):
    kind, values = column
    array = pa.array(values, type=kind)
    places = st.lists(st.integers(0, len(values) - 1)) if values else st.just([])
    chosen = np.array(data.draw(places), np.int64)
    assert taken(array, chosen).equals(array.take(pa.array(chosen)))
    assert taken(array, np.arange(len(values))) is array


def test_many_values_are_taken_by_arrow():
    array = pa.array(range(1000))
    assert taken(array, np.array([999, 0])).to_pylist() == [999, 0]


def test_a_float_array_from_a_strided_view_is_whole():
    view = np.arange(10.0)[::2]
    assert arrow_numbers(view, pa.float64()).to_pylist() == [0.0, 2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True], pa.int64()),
        ([1.5], pa.int64()),
        ([2**63], pa.int64()),
        (["1"], pa.int64()),
        ([1], pa.float64()),
        ([1], pa.bool_()),
        ([1], pa.string()),
        ([b"a"], pa.string()),
        (["\ud800"], pa.string()),
        ([datetime(2020, 1, 2, 3, 4)], pa.date32()),  # noqa: DTZ001
        ([datetime(2020, 1, 2, 3, 4, tzinfo=UTC)], pa.timestamp("us")),
        ([date(2020, 1, 2)], pa.timestamp("us")),
        ([[1, 2], None], pa.list_(pa.int64())),
        ([None, None], pa.null()),
    ],
)
def test_everything_else_is_left_to_arrow(values, kind):
    def outcome(make):
        try:
            return make(values, kind).to_pylist()
        except (pa.ArrowException, OverflowError, TypeError, UnicodeError) as error:
            return type(error)

    assert outcome(arrow_values) == outcome(pa.array)


def test_numbers_of_another_width_are_left_to_arrow():
    found = arrow_numbers(np.array([1, 2], np.int8), pa.int64(), np.array([True, False]))
    assert found.to_pylist() == [None, 2]


def test_a_column_of_nothing_but_null():
    assert nulls(pa.nulls(3)).tolist() == [True, True, True]
    assert numbers(pa.nulls(3, pa.int64())).tolist() == [0, 0, 0]


def test_texts_that_are_too_long_together_are_left_to_arrow(monkeypatch):
    monkeypatch.setattr("discreet.requests.raw_totals._LONGEST", 3)
    assert arrow_values(["ab", "cd"], pa.string()).to_pylist() == ["ab", "cd"]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32()])
def test_a_total_that_is_missing_is_no_nought(kind):
    """One row could make it so, and a total that is not there has no noise that would hide it."""
    whole = pa.table({name: pa.array([3, 4], kind) for name in ("g", "leaf", "c")})
    torn = whole.set_column(2, "c", pa.array([3, None], kind))
    assert integers(whole, "c").tolist() == [3, 4]
    assert [part.tolist() for part in sparse_leaves(whole)] == [[3, 4]] * 3
    with pytest.raises(RuntimeError):
        integers(torn, "c")
    with pytest.raises(RuntimeError):
        sparse_leaves(torn)
