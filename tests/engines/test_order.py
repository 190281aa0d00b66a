"""The order of hashes: canonical texts, and the meaning of salt and purpose."""

# ruff: noqa: DTZ001 (timestamps have no time zone)

from datetime import date, datetime
from hashlib import md5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.hash_order import GROUPS, LEAVES, HashOrder, value_text
from discreet.errors import OutOfRange, WrongKind

PARTS = st.lists(st.none() | st.text(max_size=3) | st.integers(-9, 9), min_size=2, max_size=2)


@given(PARTS, PARTS)
def test_different_values_have_different_texts(left, right):
    order = HashOrder(salt=1)
    same = list(map(value_text, left)) == list(map(value_text, right))
    assert (order.text(GROUPS, left) == order.text(GROUPS, right)) == same


def test_texts_are_pinned():
    values = (
        None,
        True,
        -5,
        "é:1",
        date(1, 2, 3),
        datetime(1969, 12, 31, 23, 59, 59, 1),
        0.1,
        -0.0,
    )
    text = HashOrder(salt=2**63 - 1).text(LEAVES, values)
    assert text == "9223372036854775807 leaves-4:true2:-53:é:110:0001-02-037:-9999993:0.13:0.0"
    assert HashOrder(salt=0).place(GROUPS, ()) == md5(b"0 groups").hexdigest()  # noqa: S324


@pytest.mark.parametrize(
    ("salt", "error"), [(-1, OutOfRange), (2**63, OutOfRange), (1.5, WrongKind)]
)
def test_a_salt_is_a_number_of_63_bits(salt, error):
    with pytest.raises(error):
        HashOrder(salt=salt)
