"""Answers depend on the rows alone: not on their order, on threads, on chunks or on memory."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import HashOrder, Performance
from tests.engines.answers import flat
from tests.engines.visits import by_ward, visits

ROWS = visits(30000, patients=900, wards=40)
ORDER = HashOrder(salt=11)


def answered(table, **options):
    with DuckDB({"visits": table}, Performance(**options)) as engine:
        return flat(engine.run(by_ward(), order=ORDER))


EXPECTED = answered(ROWS, threads=1)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_does_not_matter(seed):
    places = np.random.default_rng(seed).permutation(ROWS.num_rows)
    assert answered(ROWS.take(places)) == EXPECTED


def test_threads_and_chunks_do_not_matter():
    chunked = pa.concat_tables(
        [ROWS.slice(number, 1000) for number in range(0, ROWS.num_rows, 1000)]
    )
    assert answered(chunked, threads=4) == EXPECTED


def test_little_memory_does_not_matter():
    assert answered(ROWS, threads=1, memory="40MB") == EXPECTED


def test_two_runs_give_the_same_and_another_salt_something_else():
    with DuckDB({"visits": ROWS}) as engine:
        first = engine.run(by_ward(), order=ORDER)
        second = engine.run(by_ward(), order=ORDER)
        other = engine.run(by_ward(), order=HashOrder(salt=12))
    assert flat(first) == flat(second) == EXPECTED
    assert flat(other) != EXPECTED


def test_rows_come_sorted_by_key_whatever_the_order():
    (wards,) = EXPECTED["keys"]
    assert wards == sorted(wards)
    places, leaves, _ = EXPECTED["leaves"]["leaf"]
    assert list(zip(places, leaves, strict=True)) == sorted(zip(places, leaves, strict=True))


def test_every_choice_is_fair():
    """Over many salts, each of the groups of a unit is kept about equally often."""
    one = pa.table({"patient": [1] * 6, "ward": list("abcdef"), "cost": [1.0] * 6})
    kept = dict.fromkeys("abcdef", 0)
    with DuckDB({"visits": one}, Performance(threads=1)) as engine:
        for salt in range(120):
            raw = engine.run(by_ward(measures=()), order=HashOrder(salt=salt))
            for ward in raw.keys[0].to_pylist():
                kept[ward] += 1
    assert sum(kept.values()) == 360
    assert min(kept.values()) > 30  # 60 is expected, with a deviation of 5.5
