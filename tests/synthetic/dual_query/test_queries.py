"""Conjunctions, their counts, and the oracles, against their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.noise import KeyedEntropy
from discreet.synthetic.dual_query import conjunctions as query_counts
from discreet.synthetic.dual_query.conjunctions import (
    LARGEST_COUNT,
    Conjunctions,
    count_conjunctions,
    random_conjunctions,
)
from discreet.synthetic.dual_query.oracle import ExactSearch, LocalSearch, Sample
from discreet.synthetic.inference.inference import CodedDomain

DOMAIN = CodedDomain(("a", "b", "c", "d"), (3, 2, 4, 1))


def stream(label):
    return KeyedEntropy(key=bytes(range(32)), label=label)


def literals(draw):
    column = draw(st.integers(0, 3))
    return column, draw(st.integers(0, DOMAIN.sizes[column] - 1)), draw(st.booleans())


@st.composite
def problems(draw):
    width = draw(st.integers(1, 4))
    queries = [[literals(draw) for _ in range(width)] for _ in range(draw(st.integers(1, 12)))]
    rows = draw(st.integers(1, 150))
    seed = draw(st.integers(0, 10**6))
    generator = np.random.default_rng(seed)
    codes = [generator.integers(0, size, rows) for size in DOMAIN.sizes]
    counts = generator.integers(0, draw(st.sampled_from([2, 9, 10**6])), rows)
    return queries, codes, counts


def holds(query, row):
    return all((row[column] == code) == wanted for column, code, wanted in query)


@settings(max_examples=60, deadline=None)
@given(problems(), st.booleans())
def test_counts_follow_the_definition(problem, small):
    written, codes, counts = problem
    queries = Conjunctions.of(DOMAIN, written)
    rows = list(zip(*[column.tolist() for column in codes], strict=True))
    wanted = [
        sum(count for count, row in zip(counts.tolist(), rows, strict=True) if holds(query, row))
        for query in written
    ]
    before = query_counts._TABLE_BYTES, query_counts._CHUNK_BYTES
    if small:  # many blocks of rows, bits and queries
        query_counts._TABLE_BYTES, query_counts._CHUNK_BYTES = 64, 64
    try:
        held, missed = count_conjunctions(queries, codes, counts)
        table = np.stack(codes)
        assert count_conjunctions(queries, table, counts)[0].tolist() == wanted
    finally:
        query_counts._TABLE_BYTES, query_counts._CHUNK_BYTES = before
    assert held.tolist() == wanted
    assert (held + missed).tolist() == [int(counts.sum())] * len(written)
    for number, row in enumerate(rows[:5]):
        assert queries.holds(np.array(row)).tolist() == [holds(q, row) for q in written], number


def test_huge_counts_are_clamped_and_negative_ones_are_none():
    queries = Conjunctions.of(DOMAIN, [[(0, 0, True)]])
    codes = [np.array([0, 0, 1]), *[np.zeros(3, int)] * 3]
    held, missed = count_conjunctions(queries, codes, np.array([2**62, -5, 2**62]))
    assert (held.tolist(), missed.tolist()) == ([LARGEST_COUNT], [LARGEST_COUNT])


def test_no_rows_count_nothing():
    queries = Conjunctions.of(DOMAIN, [[(0, 0, True)]])
    held, missed = count_conjunctions(queries, [np.zeros(0, int)] * 4, np.zeros(0, np.int64))
    assert (held.tolist(), missed.tolist()) == ([0], [0])


def test_random_conjunctions_name_different_bits_and_repeat():
    domain = CodedDomain(tuple("abcde"), (2, 2, 5, 1, 2))
    one, same, other = (
        random_conjunctions(domain, count=4000, stream=stream(label)) for label in ("q", "q", "r")
    )
    assert one.digest() == same.digest() != other.digest()
    assert (np.diff(np.sort(one.bits, axis=1), axis=1) > 0).all()
    pairs = set(zip(one.bit_columns.tolist(), one.bit_codes.tolist(), strict=True))
    assert pairs == {(0, 1), (1, 1), (4, 1), *((2, code) for code in range(5))}
    uses = np.bincount(one.bits.ravel(), minlength=8)
    assert abs(uses / 4000 - 3 / 8).max() < 0.05
    assert abs(one.negated.mean() - 0.5) < 0.05


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [[(0, 0, True)], [(0, 0, True)] * 2],
        [[(9, 0, True)]],
        [[(1, 2, True)]],
        [[(0, -1, True)]],
    ],
)
def test_conjunctions_that_name_nothing_are_refused(wrong):
    with pytest.raises(InputError):
        Conjunctions.of(DOMAIN, wrong)
    with pytest.raises(InputError):
        random_conjunctions(DOMAIN, count=1, width=9, stream=stream("x"))


def best_by_trying(sample):
    return max(sample.met(np.array(row)) for row in itertools.product(*map(range, DOMAIN.sizes)))


@pytest.mark.parametrize("seed", range(12))
def test_the_exact_oracle_is_exact_and_the_local_one_is_locally_best(seed):
    queries = random_conjunctions(DOMAIN, count=30, width=1 + seed % 3, stream=stream(f"{seed}"))
    drawn = np.random.default_rng(seed).integers(0, 60, 25)
    sample = Sample.of(queries, drawn)
    exact = ExactSearch().best(sample, stream("exact"))
    assert sample.met(exact) == best_by_trying(sample)
    local = LocalSearch(restarts=2).best(sample, stream("local"))
    found = sample.met(local)
    for column, size in enumerate(DOMAIN.sizes):
        for code in range(size):
            row = local.copy()
            row[column] = code
            assert sample.met(row) <= found


def test_negations_are_met_where_the_conjunction_is_not():
    queries = Conjunctions.of(DOMAIN, [[(0, 1, True)]])
    sample = Sample.of(queries, np.array([0, 1, 1]))
    assert sample.met(np.array([1, 0, 0, 0])) == 1
    assert sample.met(np.array([2, 0, 0, 0])) == 2


def test_conjunctions_that_share_no_column_are_all_met():
    """A random row meets one of eight, and no single bit of it helps half of the others."""
    domain = CodedDomain(tuple(map(str, range(300))), (2,) * 300)
    wanted = [[(3 * at + part, 1, bool((at + part) % 2)) for part in range(3)] for at in range(100)]
    sample = Sample.of(Conjunctions.of(domain, wanted), np.arange(100))
    assert sample.met(LocalSearch().best(sample, stream("wide"))) == 100
