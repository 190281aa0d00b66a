"""The choice of leaves: its law by enumeration, at sizes beyond it, and on absurd counts."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats

from discreet.exact import Interval
from discreet.mechanisms import Exponential
from discreet.noise.bernoulli import CoinSizes
from discreet.plan.noise_errors import ranks_around
from discreet.plan.pricing.group_sensitivity import QuantileChoice, QuantileSpan, spans_of
from discreet.query.expressions import FINEST_LEVEL
from discreet.release import choices as leaf_choice
from discreet.release.choices import chosen_leaves, chosen_spans
from tests.noise.laws import ALPHA, WrongLaw, check_law, stream

TINY = CoinSizes(word_bits=4, step_bits=3)


def choice_of(*, leaves, level="1/2", offset=0, scale=1):
    return QuantileChoice(
        measure="x",
        level=Fraction(level),
        offset=offset,
        mechanism=Exponential(candidates=leaves, scale=scale),
        rows=1,
        groups=1,
        available=None,
    )


def sparse_of(tables):
    cells = [
        (group, leaf, count)
        for group, counts in enumerate(tables)
        for leaf, count in enumerate(counts)
        if count
    ]
    columns = zip(*cells, strict=True) if cells else ((), (), ())
    return tuple(np.array(part, np.int64) for part in columns)


def scores(choice, counts):
    """The definition, leaf by leaf."""
    target = choice.level * sum(counts) + max(choice.offset, 0)
    counts = list(counts)
    counts[0 if choice.offset < 0 else -1] += abs(choice.offset)
    return [
        min(target - sum(counts[:i]), sum(counts[: i + 1]) - target) for i in range(len(counts))
    ]


def law_of(choice, counts):
    return choice.mechanism.reference_pmf(scores(choice, counts))


def check_one(choice, counts):
    law = law_of(choice, counts)

    def program(entropy):
        found = chosen_leaves(choice, sparse_of([counts]), groups=1, entropy=entropy, sizes=TINY)
        return int(found[0])

    check_law(program, lambda leaf: law[leaf], unexplored=Fraction(1, 20), max_runs=2500)


def span_of(*, leaves, level="1/2", offset=1, scale=1):
    select = Exponential(candidates=len(spans_of(leaves)), scale=scale)
    return QuantileSpan(
        measure="x",
        level=Fraction(level),
        offset=offset,
        mechanism=select,
        rows=1,
        groups=1,
        available=None,
        leaves=leaves,
    )


def span_scores(choice, counts, near):
    """The definition, span by span."""
    sizes = span_sizes(choice, counts, near)[:-1]
    own = [size - choice.offset for size in sizes]
    before = [choice.offset - size for size in sizes]
    return [
        min([*own[at : at + 1], *before[at - 1 : at or 0]], default=Fraction(0))
        for at in range(len(sizes) + 1)
    ]


def span_sizes(choice, counts, near):
    rank, last = choice.level * sum(counts), len(counts) - 1
    sizes = []
    for wide in spans_of(len(counts)):
        low, high = max(near - wide, 0), min(near + wide, last)
        depth = min(rank - sum(counts[:low]), sum(counts[: high + 1]) - rank)
        others = sum(counts[low : high + 1]) - counts[near]
        sizes.append(max(depth, Fraction(others, 3)))
    return sizes


@pytest.mark.theorem("quantile-span")
@pytest.mark.parametrize("level", ["1/2", "9/10"])
@pytest.mark.parametrize("near", [0, 3, 7])
@pytest.mark.parametrize("counts", [[0] * 8, [1, 0, 0, 2, 0, 0, 1, 0], [3, 0, 0, 0, 0, 0, 0, 1]])
def test_the_law_of_a_span_is_that_of_its_size(counts, near, level):
    choice = span_of(leaves=8, level=level, scale=2)
    law = choice.mechanism.reference_pmf(span_scores(choice, counts, near))
    place = {wide: at for at, wide in enumerate(spans_of(8))}

    def program(entropy):
        sparse = sparse_of([counts])
        found = chosen_spans(choice, sparse, near=np.array([near]), entropy=entropy, sizes=TINY)
        return place[int(found[0])]

    check_law(program, lambda at: law[at], unexplored=Fraction(1, 20), max_runs=2500)


@pytest.mark.theorem("span-scores")
@pytest.mark.parametrize("level", ["1/2", "1/10", "3/4"])
def test_no_row_moves_the_score_of_a_span_further(level):
    choice = span_of(leaves=5, level=level, offset=2)
    moved = []
    for counts in product(range(3), repeat=5):
        for near, leaf in product(range(5), range(5)):
            more = [count + (at == leaf) for at, count in enumerate(counts)]
            pairs = zip(*(span_scores(choice, each, near) for each in (counts, more)), strict=True)
            moved += [abs(one - other) for one, other in pairs]
    assert max(moved) == choice.weight


@pytest.mark.theorem("quantile-span")
@pytest.mark.parametrize("level", ["1/10", "1/2", "3/4"])
@pytest.mark.parametrize(("scale", "missed"), [("1/2", "1/20"), ("2", "1/10"), ("1/9", "1/4")])
def test_spans_are_empty_as_rarely_as_is_claimed_on_all_small_tables(level, scale, missed):
    worst = Fraction(0)
    select = Exponential(candidates=len(spans_of(5)), scale=Fraction(scale))
    aim = ranks_around(select, Fraction(missed))
    choice = span_of(leaves=5, level=level, offset=aim, scale=Fraction(scale))
    for counts in product((0, 1, 4, 30), repeat=5):
        for near in range(5):
            law = select.reference_pmf(span_scores(choice, counts, near))
            sizes = span_sizes(choice, counts, near)[:-1]
            empty = [law[at].high for at, size in enumerate(sizes) if size <= 0]
            worst = max(worst, sum(empty, Fraction(0)))
    assert 0 < worst <= Fraction(missed)


def test_spans_of_several_groups_are_those_of_each():
    tables = [[1, 2, 0, 4, 0, 0, 7, 1, 3], [0] * 9, [5, 0, 0, 0, 0, 0, 0, 0, 0]]
    near, widths = np.array([4, 2, 8]), np.array(spans_of(9))
    for level in ("1/2", f"1/{FINEST_LEVEL}"):
        choice = span_of(leaves=9, level=level, offset=3)
        found = leaf_choice._span_gaps(choice, sparse_of(tables), near, widths)
        for row, counts, value in zip(found, tables, near.tolist(), strict=True):
            expected = span_scores(choice, counts, value)
            assert [max(expected) - each for each in expected] == [
                Fraction(int(gap), choice.parts) for gap in row
            ]


TABLES = [
    [0, 0, 0],
    [0, 2, 0],
    [1, 0, 0, 0, 3],
    [0, 0, 1, 2],
    [4, 0, 0],
    [2, 2],
    [0, 0, 0, 0, 1],
    [7],
]


@pytest.mark.theorem("leaf-runs")
@pytest.mark.parametrize("counts", TABLES)
@pytest.mark.parametrize(
    ("level", "offset", "scale"),
    [("1/2", 0, 1), ("1/4", 1, 2), ("1", -3, 1), ("0", 3, 1), ("1/3", -2, "1/2")],
)
def test_one_group_has_the_law_of_the_exponential_mechanism(counts, level, offset, scale):
    check_one(choice_of(leaves=len(counts), level=level, offset=offset, scale=scale), counts)


@pytest.mark.theorem("leaf-runs")
def test_groups_are_chosen_independently():
    tables = [[0, 1, 0], [0, 0, 0], [2, 0, 1]]
    choice = choice_of(leaves=3)
    laws = [law_of(choice, counts) for counts in tables]

    def program(entropy):
        sizes = CoinSizes(word_bits=2, step_bits=2)
        found = chosen_leaves(choice, sparse_of(tables), groups=3, entropy=entropy, sizes=sizes)
        return tuple(found.tolist())

    def joint(outcome):
        parts = [law[leaf] for law, leaf in zip(laws, outcome, strict=True)]
        return Interval(
            parts[0].low * parts[1].low * parts[2].low,
            parts[0].high * parts[1].high * parts[2].high,
        )

    check_law(program, joint, unexplored=Fraction(1, 3), max_runs=6000)


def without_lengths(runs):
    return replace(runs, length=np.minimum(runs.length, 1))


def without_below(runs):
    return replace(runs, below=np.zeros_like(runs.below))


def one_row_off(runs):
    return replace(runs, upto=runs.upto + 1)


@pytest.mark.theorem("leaf-runs")
@pytest.mark.parametrize("mutant", [without_lengths, without_below, one_row_off])
def test_mutants_of_the_runs_have_another_law(mutant, monkeypatch):
    real = leaf_choice._Runs.of
    monkeypatch.setattr(leaf_choice._Runs, "of", lambda *args, **kw: mutant(real(*args, **kw)))
    with pytest.raises(WrongLaw):
        check_one(choice_of(leaves=5, level="1/4"), [0, 0, 0, 2, 0])


def test_floats_and_integers_choose_alike(monkeypatch):
    """The same words choose the same leaves, whoever decides."""
    tables = np.random.default_rng(5).poisson(0.2, (400, 50)).tolist()
    choice, sparse = choice_of(leaves=50, level="1/4", scale=3), sparse_of(tables)
    by_floats = chosen_leaves(choice, sparse, groups=400, entropy=stream("floats"))
    real = leaf_choice._Batch.by_floats

    def unsure(batch, words, bits):
        found, sure = real(batch, words, bits)
        assert sure.all()
        return np.full_like(found, -1), np.zeros_like(sure)

    monkeypatch.setattr(leaf_choice._Batch, "by_floats", unsure)
    by_integers = chosen_leaves(choice, sparse, groups=400, entropy=stream("floats"))
    assert by_floats.tolist() == by_integers.tolist()


def test_a_large_histogram_follows_its_law():
    counts = [0] * 1000
    counts[100], counts[400], counts[900] = 30, 40, 50
    choice, groups = choice_of(leaves=1000, scale=10), 20_000
    law = law_of(choice, counts)
    sparse = (
        np.repeat(np.arange(groups), 3),
        np.tile([100, 400, 900], groups),
        np.tile([30, 40, 50], groups),
    )
    found = chosen_leaves(choice, sparse, groups=groups, entropy=stream("law"))
    edges = [0, 100, 250, 400, 401, 650, 900, 1000]  # fixed before any draw
    chances = [float(sum(law[i].low for i in range(*ends))) for ends in pairwise(edges)]
    chances = np.array(chances) * groups
    assert chances.min() > 5
    seen = np.histogram(found, bins=edges)[0]
    assert stats.chisquare(seen, chances / chances.sum() * groups).pvalue > ALPHA


def test_counts_near_the_ends_of_64_bits_are_taken_as_they_are():
    huge = 2**61
    sparse = np.array([0, 0]), np.array([1, 3]), np.array([huge, huge - 2])
    choice = choice_of(leaves=5, level="999/1000")
    assert chosen_leaves(choice, sparse, groups=1).tolist() == [3]


def test_no_groups_need_no_words():
    empty = np.zeros(0, np.int64)
    assert chosen_leaves(choice_of(leaves=3), (empty,) * 3, groups=0).size == 0


def test_a_hundred_thousand_groups_take_less_than_seconds():
    groups = 100_000
    leaf = np.sort(np.random.default_rng(1).integers(0, 1024, (groups, 4)) * 4 + np.arange(4))
    sparse = np.repeat(np.arange(groups), 4), leaf.ravel(), np.ones(4 * groups, np.int64)
    started = time.process_time()
    found = chosen_leaves(choice_of(leaves=4100), sparse, groups=groups)
    assert found.shape == (groups,)
    assert time.process_time() - started < 3


FINE = [Fraction(1, 2), Fraction(1, FINEST_LEVEL), 1 - Fraction(1, FINEST_LEVEL)]
FINE += [Fraction(1, 2) + Fraction(1, FINEST_LEVEL), Fraction(2**61 + 1, 2**62)]


@pytest.mark.parametrize("level", FINE)
@pytest.mark.parametrize("offset", [0, 3, -3, 2**40])
@pytest.mark.parametrize("scale", ["1e-30", 1, 10**30])
def test_nothing_fails_for_want_of_rows_or_for_many(level, offset, scale):
    choice = choice_of(leaves=4, level=level, offset=offset, scale=scale)
    for tables in ([[0] * 4], [[0] * 4] * 3, [[1, 0, 0, 0]], [[0, 2**40, 0, 5], [0] * 4]):
        chosen = chosen_leaves(choice, sparse_of(tables), groups=len(tables))
        assert ((chosen >= 0) & (chosen < 4)).all()
