"""The order of groups: few of them by Python, many by Arrow, and both the same."""

from datetime import date

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.columns import _few, _many, order_of

KINDS = {
    pa.int64(): st.integers(-3, 3),
    pa.float64(): st.sampled_from([-1.5, -0.0, 0.0, 2.0]),
    pa.bool_(): st.booleans(),
    pa.string(): st.text("aéz\U00010000\uffff", max_size=2),
    pa.date32(): st.dates(date(2020, 1, 1), date(2020, 1, 3)),
    pa.null(): st.none(),
}


@st.composite
def sorted_by(draw):
    size = draw(st.integers(0, 12))
    items = []
    for kind in draw(st.lists(st.sampled_from(list(KINDS)), max_size=3)):
        values = st.lists(st.none() | KINDS[kind], min_size=size, max_size=size)
        column = pa.array(draw(values), type=kind)
        items.append((column, draw(st.booleans()), draw(st.booleans())))
    return items, size


@given(sorted_by())
def test_few_groups_are_sorted_as_many_are(asked):
    items, size = asked
    assert _few(items, size).tolist() == _many(items, size).tolist()


def test_many_groups_are_sorted():
    values = pa.array([n % 7 for n in range(1000)])
    found = order_of([(values, True, False)], 1000).tolist()
    assert found == sorted(range(1000), key=lambda n: -(n % 7))
