"""64-bit integers that never wrap around, and sequences read with care."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.arrays import INT64_MAX, INT64_MIN, array_of, int64_range, listed, saturating_add
from discreet.errors import TooLarge, WrongKind


@pytest.mark.parametrize("value", [INT64_MIN, INT64_MAX, 0])
def test_what_fits_in_64_bits_passes(value):
    assert int64_range(value, name="score") == value


@pytest.mark.parametrize("value", [INT64_MIN - 1, INT64_MAX + 1, 10**30])
def test_what_does_not_fit_in_64_bits_is_too_large(value):
    with pytest.raises(TooLarge):
        int64_range(value, name="score")


ends = st.sampled_from([INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX])
words = st.one_of(ends, st.integers(INT64_MIN, INT64_MAX))


@settings(max_examples=500)
@given(st.lists(st.tuples(words, words)))
@example([(INT64_MIN, INT64_MIN), (INT64_MAX, INT64_MAX), (INT64_MIN, INT64_MAX), (INT64_MIN, -1)])
def test_sums_stop_at_the_ends(pairs):
    left = np.array([a for a, _ in pairs], np.int64)
    right = np.array([b for _, b in pairs], np.int64)
    expected = [min(max(a + b, INT64_MIN), INT64_MAX) for a, b in pairs]
    total = saturating_add(left, right)
    assert total.dtype == np.int64
    assert total.tolist() == expected
    assert left.tolist() == [a for a, _ in pairs]


def test_a_wrapping_sum_would_be_caught():
    left = right = np.array([INT64_MAX])
    assert (left + right).tolist() != saturating_add(left, right).tolist()


@pytest.mark.parametrize("kind", [np.uint64, np.int32, np.float64, np.bool_, object])
def test_only_64_bit_integers_are_added(kind):
    wrong, right = np.zeros(3, kind), np.zeros(3, np.int64)
    for pair in ((wrong, right), (right, wrong)):
        with pytest.raises(WrongKind):
            saturating_add(*pair)


@pytest.mark.parametrize("wrong", [[1, 2], 5, None, "12", 1.5])
def test_only_arrays_are_added(wrong):
    with pytest.raises(WrongKind):
        saturating_add(wrong, np.array([1, 2]))


def test_arrays_of_different_shapes_are_not_added():
    with pytest.raises(WrongKind):
        saturating_add(np.array([1, 2]), np.array([1, 2, 3]))


@pytest.mark.parametrize("values", [[1, 2], (1, 2), range(1, 3), np.array([1, 2])])
def test_ordered_sequences_are_read(values):
    assert listed(values, name="values") == [1, 2]


@pytest.mark.parametrize("values", ["12", b"12", {1, 2}, {1: 2}, 12, None, np.array(1), np.eye(2)])
def test_what_has_no_order_is_refused(values):
    with pytest.raises(WrongKind):
        listed(values, name="values")


def test_a_ragged_list_is_no_array_of_numbers():
    assert array_of([[1, 2], [3]]).dtype == object
