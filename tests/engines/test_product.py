"""A product of public values gives the groups of a list that are touched, with the same numbers."""

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder, Performance
from discreet.requests.table_schema import Product
from tests.engines.answers import by_group, flat
from tests.engines.visits import by_ward, visits

WARDS = (*(f"ward {number}" for number in range(0, 30, 2)), "empty", None)


@pytest.mark.parametrize("rows", [500, 70_000])
def test_touched_groups_are_those_of_the_list(rows):
    table = visits(rows, patients=900, wards=40)
    order = HashOrder(salt=5)
    with DuckDB({"visits": table}, Performance(threads=1)) as engine:
        product = flat(engine.run(by_ward(public=Product((WARDS,))), order=order))
        listed = flat(engine.run(by_ward(public=tuple((ward,) for ward in WARDS)), order=order))
    assert by_group(product) == by_group(listed)
    assert all(product["units"])
    (wards,) = product["keys"]
    assert wards == sorted(wards)
    assert len(wards) == 15
    assert len(listed["units"]) == len(WARDS)


def test_statements_hold_no_group():
    product = Product((tuple(f"ward {number}" for number in range(10_000)),))
    with DuckDB({"visits": visits(10)}) as engine:
        statements = engine.prepare(by_ward(public=product))
    for text in (statements.totals, *statements.distinct.values(), *statements.leaves.values()):
        assert len(text) < 5000
        assert 'JOIN "public values 0"' in text
