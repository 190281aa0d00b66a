"""One unit moves an answer by no more than the lowered question says, whatever the order."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.engines.engine import HashOrder
from discreet.requests.engine_request import CellSums, DistinctCount, DistinctSum, Leaves, Total
from tests.engines.answers import by_group, reference, run
from tests.engines.questions import (
    crowded_tables,
    lowered_questions,
    orders,
    plain_questions,
    tables,
)

FEW = settings(max_examples=12, suppress_health_check=list(HealthCheck))
MOST = {
    Total: lambda m: m.most,
    DistinctCount: lambda m: m.most,
    DistinctSum: lambda m: max(map(abs, m.ends)),
    Leaves: lambda m: m.rows,
    CellSums: lambda m: m.rows * max(abs(m.low), abs(m.high)),
}


def check_neighbors(lowered, one, other, *, groups):
    """Compare the answers of two tables that differ in one unit."""
    left, right = by_group(one), by_group(other)
    changed = [
        (left.get(group, {}), right.get(group, {}))
        for group in left.keys() | right.keys()
        if left.get(group) != right.get(group)
    ]
    assert len(changed) <= groups
    for here, there in changed:
        assert moved("units", here, there) <= 1
        for measure in lowered.measures:
            assert moved(measure.name, here, there) <= MOST[type(measure)](measure)


def moved(name, here, there):
    """Return the L1 distance of all numbers of one measure."""
    names = [key for key in here.keys() | there.keys() if key[0] == name]
    return sum(abs(here.get(key, 0) - there.get(key, 0)) for key in names)


def units(lowered, rows):
    """Return the units of a table: the values of the columns that name them."""
    return {owner(lowered, row) for row in rows["events"]}


def owner(lowered, row):
    return tuple(row[column.name] for column in lowered.unit)


def without(lowered, rows, unit):
    return {**rows, "events": [row for row in rows["events"] if owner(lowered, row) != unit]}


@pytest.mark.theorem("bounded-contribution")
@given(rows=crowded_tables(), lowered=plain_questions(by_row=False), order=orders())
@settings(FEW, max_examples=100)
def test_a_unit_moves_the_reference_within_its_bounds(rows, lowered, order):
    whole = reference(lowered, rows, order)
    for unit in units(lowered, rows):
        rest = reference(lowered, without(lowered, rows, unit), order)
        check_neighbors(lowered, whole, rest, groups=lowered.groups)


@pytest.mark.theorem("bounded-contribution")
@given(rows=tables(most=14), lowered=lowered_questions(by_row=False), order=orders(portable=False))
@FEW
def test_a_unit_moves_duckdb_within_its_bounds_in_its_own_order(rows, lowered, order):
    whole = run(lowered, rows, order)
    for unit in sorted(units(lowered, rows), key=str)[:3]:
        rest = run(lowered, without(lowered, rows, unit), order)
        check_neighbors(lowered, whole, rest, groups=lowered.groups)


@pytest.mark.theorem("bounded-contribution")
@given(
    rows=crowded_tables(most=12),
    lowered=plain_questions(by_row=True) | lowered_questions(depth=0, by_row=True),
    at=st.integers(0, 11),
)
@FEW
def test_a_row_moves_one_group_by_one_row(rows, lowered, at):
    assume(at < len(rows["events"]))
    fewer = {**rows, "events": rows["events"][:at] + rows["events"][at + 1 :]}
    order = HashOrder(salt=1)
    whole, rest = run(lowered, rows, order), run(lowered, fewer, order)
    check_neighbors(lowered, whole, rest, groups=1)


@given(rows=tables(most=14), lowered=lowered_questions(by_row=False), order=orders(portable=False))
@FEW
def test_an_answer_is_the_sum_of_the_answers_of_single_units(rows, lowered, order):
    added = {}
    for unit in units(lowered, rows):
        mine = [row for row in rows["events"] if owner(lowered, row) == unit]
        alone = {**rows, "events": mine}
        parts = by_group(run(lowered, alone, order))
        assert len(parts) <= lowered.groups
        for group, values in parts.items():
            kept = added.setdefault(group, {})
            for name, value in values.items():
                kept[name] = kept.get(name, 0) + value
    whole = by_group(run(lowered, rows, order))
    assert clean(whole) == clean(added)


def clean(groups):
    """Leave out distinct values, which units share, and bring sums within their limit."""
    found = {
        group: {
            name: max(-(2**62), min(2**62, value))
            for name, value in values.items()
            if name[0] not in {"values", "added"} and value
        }
        for group, values in groups.items()
    }
    return {group: values for group, values in found.items() if values}
