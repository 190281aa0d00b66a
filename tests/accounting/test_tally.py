"""Tallies: vectors of large integers are added, compared and joined as Python's integers are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.cells import (
    AmountArray,
    add_digits,
    decode_hexadecimal,
    encode_hexadecimal,
    from_digits,
    greatest,
    group_runs,
    highest,
    places_for,
    relative_heights,
    to_digits,
)
from discreet.errors import InputError

PLACES = 4
TOP = 2 ** (60 * PLACES) - 1
AMOUNTS = st.one_of(
    st.integers(0, 3),
    st.integers(0, TOP // 2),
    st.sampled_from([2**60 - 1, 2**60, 2**120 - 1, 2**120, 2**179, TOP // 2]),
)


def tally_of(cells):
    columns = [to_digits(cell, places=PLACES) for cell in cells]
    return AmountArray(np.concatenate(columns, axis=2))


def tables(width=2):
    return st.lists(st.tuples(*[AMOUNTS] * width), min_size=1, max_size=8)


@given(tables(), st.tuples(AMOUNTS, AMOUNTS))
def test_sums_are_exact(cells, amounts):
    tally = tally_of(cells)
    assert tally.amounts() == cells
    chosen = np.arange(0, len(cells), 2)
    tally.add(chosen, to_digits(amounts, places=PLACES))
    for at, (cell, before) in enumerate(zip(tally.amounts(), cells, strict=True)):
        added = amounts if at % 2 == 0 else (0, 0)
        assert cell == tuple(old + new for old, new in zip(before, added, strict=True))


@given(AMOUNTS, AMOUNTS)
def test_plus_carries_through_all_places(left, right):
    one, two = to_digits([left], places=PLACES), to_digits([right], places=PLACES)
    assert from_digits(add_digits(one, two)[:, :, 0]) == (left + right,)


@given(tables(), st.data())
def test_joining_takes_the_highest(cells, data):
    groups = data.draw(st.lists(st.integers(0, 3), min_size=len(cells), max_size=len(cells)))
    names = sorted(set(groups))
    numbered = np.array([names.index(group) for group in groups])
    tally = tally_of(cells)
    tally.join(*group_runs(numbered))
    members = [
        [cell for cell, group in zip(cells, groups, strict=True) if group == name] for name in names
    ]
    assert tally.amounts() == [tuple(map(max, zip(*group, strict=True))) for group in members]


@given(tables())
def test_the_highest_is_found(cells):
    digits = tally_of(cells).digits
    columns = list(zip(*cells, strict=True))
    assert highest(digits) == tuple(map(max, columns))
    assert greatest(digits).tolist() == [column.index(max(column)) for column in columns]
    for component, order in enumerate(tally_of(cells).falling().tolist()):
        ranked = [cells[at][component] for at in order]
        assert ranked == sorted(ranked, reverse=True)


@given(tables(), tables())
def test_cells_are_compared_as_wholes(cells, others):
    both = tally_of([*cells, *others])
    for at, cell in enumerate(cells):
        for to, other in enumerate(others, start=len(cells)):
            assert both.same(np.array([at]), np.array([to]))[0] == (cell == other)


def test_levels_are_shares_of_the_highest():
    assert relative_heights(tally_of([(10**30, 0), (0, 5), (10**30 // 2, 1)]).digits).tolist() == [
        1,
        1,
        0.5,
    ]
    assert relative_heights(tally_of([(0, 0)]).digits).tolist() == [0]


def test_places_grow_without_changing_amounts():
    tally = AmountArray(to_digits([2**59], places=1))
    tally.reach(places_for(2**60))
    tally.add(np.array([0]), to_digits([2**59], places=2))
    assert tally.amounts() == [(2**60,)]
    tally.reach(1)
    assert len(tally.digits) == 2


@given(tables())
def test_tallies_survive_being_written(cells):
    tally = tally_of(cells)
    assert AmountArray.read(tally.written(), width=2, places=PLACES).amounts() == cells


def test_text_has_no_longest_number():
    assert decode_hexadecimal(encode_hexadecimal([10**9999]), width=1) == [10**9999]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        ["1"],
        [["1"]],
        [["1", "x"]],
        [["1", 1]],
        [["01", "1"]],
        [["-1", "1"]],
        [["1", "A"]],
    ],
)
def test_only_what_was_written_is_read(data):
    with pytest.raises(InputError):
        AmountArray.read(data, width=2, places=1)


def test_amounts_that_do_not_fit_are_refused():
    with pytest.raises(InputError):
        AmountArray.read([[encode_hexadecimal([2**60])[0]]], width=1, places=1)
