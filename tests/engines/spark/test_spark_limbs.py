"""Limbs: every number comes back, sums of them as well, and none is too large."""

# ruff: noqa: S608 (all text here is printed by us)

import itertools

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.spark.statements import (
    BITS,
    LIMBS,
    MOST_PARTS,
    joined_limbs,
    limb_names,
    split_limbs,
)

CONNECTION = duckdb.connect()
LARGEST = 2**126 - 1
POWERS = [2**bits + step for bits in range(127) for step in (-1, 0, 1)]
EDGES = sorted({sign * power for power in POWERS for sign in (1, -1) if power <= LARGEST} | {0})


def limbs_of(values):
    """Split numbers with DuckDB."""
    rows = ", ".join(f"({value}::HUGEINT)" for value in values)
    shown = ", ".join(split_limbs("t"))
    return CONNECTION.execute(f"SELECT {shown} FROM (VALUES {rows}) AS x(t)").fetchall()


def put_together(rows):
    names = [f"c{number}" for number in range(LIMBS)]
    values = ", ".join(str(tuple(row)) for row in rows)
    sql = f"SELECT {joined_limbs(names)} FROM (VALUES {values}) AS x({', '.join(names)})"
    return [value for (value,) in CONNECTION.execute(sql).fetchall()]


@pytest.mark.theorem("limbs")
def test_edges_come_back_and_their_limbs_are_small():
    found = limbs_of(EDGES)
    assert put_together(found) == EDGES
    for value, limbs in zip(EDGES, found, strict=True):
        assert value == sum(limb << (BITS * index) for index, limb in enumerate(limbs))
        *low, top = limbs
        assert all(0 <= limb < 2**BITS for limb in low)
        assert -(2**BITS) <= top < 2**BITS


@pytest.mark.theorem("limbs")
@given(st.lists(st.integers(-LARGEST // 9, LARGEST // 9), min_size=1, max_size=9))
def test_sums_of_limbs_are_the_limbs_of_sums(values):
    sums = [sum(column) for column in zip(*limbs_of(values), strict=True)]
    assert put_together([sums]) == [sum(values)]


@pytest.mark.theorem("limbs")
def test_as_many_parts_as_there_may_be_do_not_overflow():
    for signs in itertools.product((1, -1), repeat=2):
        (limbs,) = limbs_of([signs[0] * LARGEST])
        assert all(abs(limb) * MOST_PARTS < 2**63 for limb in limbs)
    most = 2**63 * (2**63 - 1)  # fewer than 2^63 rows that add as much as they can
    assert most <= LARGEST


def test_a_limb_narrower_than_its_place_loses_something():
    """A mutant: limbs of another width do not come back."""
    (limbs,) = limbs_of([2**100 + 12345])
    assert sum(limb << (41 * index) for index, limb in enumerate(limbs)) != 2**100 + 12345


def test_columns_of_limbs_have_names():
    assert limb_names(2) == ["t2_0", "t2_1", "t2_2"]
