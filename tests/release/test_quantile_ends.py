"""Intervals of quantiles: their coverage by the law itself, on all small tables, and by draws."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregates.noisy_totals import Chosen, Intervals, Noisy
from discreet.aggregates.quantile import QuantileEstimator, QuantilesEstimator, quantile_interval
from discreet.mechanisms import Exponential
from discreet.plan.noise_errors import ranks_aside
from discreet.plan.pricing.group_sensitivity import QuantileChoice
from discreet.plan.pricing.release_parts import VALUE_SHARE, QuantileLevel
from discreet.plan.statistics.fixed_point import Grid
from discreet.query.types import Type
from discreet.release.choices import chosen_leaves, chosen_spans
from discreet.units import Relation
from tests.noise.laws import stream
from tests.plan.clinic import scores
from tests.release.draws import enough, held, interval_of, lowered

C95 = Fraction(19, 20)
LEVELS = [Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1)]


def choice_of(level, leaves, scale, offset):
    return QuantileChoice(
        measure="x",
        level=level,
        offset=offset,
        mechanism=Exponential(candidates=leaves, scale=scale),
        rows=1,
        groups=1,
        available=None,
    )


def end_of(level, leaves, scale, missed, side):
    """A choice from below or above, as a plan makes it."""
    select = Exponential(candidates=leaves, scale=scale)
    return choice_of(
        level, leaves, scale, side * ranks_aside(level, select, missed, above=side > 0)
    )


def ranks_of(level, rows):
    """The two ranks between which a quantile is, by its definition."""
    place = level * (rows - 1)
    return math.floor(place) + 1, math.ceil(place) + 1


def leaf_of(counts, rank):
    return next(leaf for leaf in range(len(counts)) if sum(counts[: leaf + 1]) >= rank)


def missed_by(choice, counts):
    """Return the chance that an end is on the wrong side of its quantile, at most."""
    numerators, parts = scores(choice, dict(enumerate(counts)))
    law = choice.mechanism.reference_pmf([Fraction(int(each), parts) for each in numerators])
    low, high = ranks_of(choice.level, sum(counts))
    if choice.side < 0:
        wrong = range(leaf_of(counts, low) + 1, len(counts))
    else:
        wrong = range(leaf_of(counts, high))
    return sum((law[leaf].high for leaf in wrong), Fraction(0))


TABLES = [counts for counts in product((0, 1, 3), repeat=4) if sum(counts)]


@pytest.mark.theorem("quantile-ends")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("scale", "missed"), [("1/2", "1/40"), ("2", "1/10"), ("1/9", "1/4")])
def test_ends_miss_as_rarely_as_is_claimed_on_all_small_tables(level, side, scale, missed):
    end = end_of(level, 4, Fraction(scale), Fraction(missed), side)
    chances = [missed_by(end, counts) for counts in TABLES]
    assert max(chances) <= Fraction(missed)


@pytest.mark.theorem("quantile-ends")
@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(0, 60), min_size=2, max_size=7).filter(any),
    level=st.sampled_from(LEVELS),
    side=st.sampled_from([-1, 1]),
    scale=st.sampled_from([Fraction(1, 3), Fraction(2), Fraction(9)]),
)
def test_ends_miss_as_rarely_as_is_claimed_on_larger_ones(counts, level, side, scale):
    end = end_of(level, len(counts), scale, Fraction(1, 40), side)
    assert missed_by(end, counts) <= Fraction(1, 40)


@pytest.mark.theorem("quantile-ends")
def test_the_claim_is_nearly_reached():
    """One row or few, so that all leaves above them are barely too high, and wide noise."""
    leaves, scale, missed = 50, Fraction(40), Fraction(1, 40)
    end = end_of(Fraction(1, 2), leaves, scale, missed, -1)
    worst = max(
        missed_by(end, [0, below, rows] + [0] * (leaves - 3))
        for below, rows in [(0, n) for n in range(1, 80)] + [(n, n) for n in range(1, 40)]
    )
    assert Fraction(9, 10) * missed < worst <= missed


@pytest.mark.theorem("quantile-ends")
@pytest.mark.parametrize("side", [-1, 1])
def test_a_mutant_that_forgets_to_aim_aside_misses(side):
    end = end_of(Fraction(1, 2), 4, Fraction(2), Fraction(1, 10), side)
    mutants = [replace(end, offset=0), replace(end, offset=end.offset // 2)]
    for mutant in mutants:
        both = replace(mutant, offset=mutant.offset or side)  # which side it is on
        assert max(missed_by(both, counts) for counts in TABLES) > Fraction(1, 10)


def without_more(choice, counts):
    """The mutant that counts no rows besides those that are there: it knows few rows badly."""
    target = choice.level * sum(counts) + choice.offset
    gaps = [
        max(Fraction(0), sum(counts[:i]) - target, target - sum(counts[: i + 1]))
        for i in range(len(counts))
    ]
    law = choice.mechanism.reference_pmf([min(gaps) - gap for gap in gaps])
    wrong = range(leaf_of(counts, ranks_of(choice.level, sum(counts))[0]) + 1, len(counts))
    return sum((law[leaf].low for leaf in wrong), Fraction(0))


def test_a_mutant_without_rows_at_the_ends_misses_where_there_are_few():
    end = end_of(Fraction(1, 2), 4, Fraction(2), Fraction(1, 10), -1)
    assert without_more(end, [0, 1, 0, 0]) < 1
    assert max(without_more(end, counts) for counts in TABLES) > Fraction(1, 10)


AGES = Grid(low=Fraction(20), width=Fraction(1), leaves=81, high=Fraction(100))


def noisy_of(counts, level, scale, groups=20_000, forgotten=()):
    """Choose a quantile and its ends in many groups with the same rows."""
    leaf = np.flatnonzero(counts)
    sparse = (
        np.repeat(np.arange(groups), leaf.size),
        np.tile(leaf, groups),
        np.tile(np.asarray(counts)[leaf], groups),
    )
    leaves = len(counts)
    chosen = []
    for side in (0, -1, 1):
        choice = choice_of(level, leaves, scale, 0)
        if side:
            choice = end_of(level, leaves, scale, (1 - C95) / 2, side)
        drawn = replace(choice, offset=side) if side in forgotten else choice
        found = chosen_leaves(drawn, sparse, groups=groups, entropy=stream(f"side {side}"))
        chosen.append(Chosen(choice=choice, leaves=found))
    return Noisy(size=groups, keys=(), totals={}, chosen=tuple(chosen))


def ages(rows, spread=None):
    """Counts of ages: all the same, or spread evenly."""
    counts = np.zeros(81, np.int64)
    places = np.full(rows, 30) if spread is None else np.linspace(*spread, rows).astype(int)
    np.add.at(counts, places, 1)
    return counts


def truth_of(counts, level):
    """PERCENTILE_CONT, by interpolation."""
    values = np.repeat(np.arange(20, 101), counts)
    return float(np.quantile(values, float(level)))


@pytest.mark.theorem("quantile-ends")
@pytest.mark.parametrize("level", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize(
    "counts", [ages(1), ages(7, (10, 60)), ages(60, (10, 60)), ages(900, (0, 80)), ages(400)]
)
def test_quantiles_are_held(level, counts):
    noisy = noisy_of(counts, level, Fraction(4))
    quantile = QuantileEstimator(measure="x", level=level, offset=0, grid=AGES)
    ends = interval_of(quantile, Intervals(lowered(), noisy, C95))
    assert enough(held(ends, truth_of(counts, level)), noisy.size, C95)
    value = quantile.value(Type.FLOAT, noisy)
    assert ((ends[0] <= value) & (value <= ends[1])).all()
    if counts.sum() == 1:  # too few rows to say anything
        assert np.mean((ends[0] == 20) & (ends[1] == 100)) > 0.94
    if counts.sum() == 900:
        assert (ends[1] - ends[0]).mean() < 16
    if counts.sum() == 400 and level <= Fraction(1, 2):  # all the same
        assert np.mean(ends[0] == ends[1]) > 0.99


@pytest.mark.theorem("quantile-ends")
@pytest.mark.parametrize("forgotten", [(-1,), (1,)])
def test_a_mutant_that_aims_at_the_quantile_itself_is_noticed(forgotten):
    counts, level = ages(900, (0, 80)), Fraction(1, 2)
    noisy = noisy_of(counts, level, Fraction(4), forgotten=forgotten)
    quantile = QuantileEstimator(measure="x", level=level, offset=0, grid=AGES)
    ends = quantile_interval(quantile, noisy, C95)
    assert not enough(held(ends, truth_of(counts, level)), noisy.size, C95)


@pytest.mark.theorem("quantile-ends")
@pytest.mark.parametrize("level", [Fraction(0), Fraction(1)])
@pytest.mark.parametrize("rows", [1, 5, 300])
def test_the_lowest_and_the_highest_value_have_one_end(level, rows):
    counts = ages(rows, (10, 60))
    side = 1 if level == 0 else -1
    choice = end_of(level, 81, Fraction(2), 1 - C95, side)
    leaf = np.flatnonzero(counts)
    groups = 20_000
    sparse = (
        np.repeat(np.arange(groups), leaf.size),
        np.tile(leaf, groups),
        np.tile(counts[leaf], groups),
    )
    found = chosen_leaves(choice, sparse, groups=groups, entropy=stream("lowest"))
    chosen = (Chosen(choice=choice, leaves=found),)
    noisy = Noisy(size=groups, keys=(), totals={}, chosen=chosen)
    quantile = QuantileEstimator(measure="x", level=level, offset=choice.offset, grid=AGES)
    ends = quantile_interval(quantile, noisy, C95)
    assert enough(held(ends, truth_of(counts, level)), groups, C95)
    assert (ends[0] == 20).all() if level == 0 else (ends[1] == 100).all()
    value = quantile.value(Type.INTEGER, noisy)
    assert (value == (ends[1] if level == 0 else ends[0])).all()


def test_a_higher_confidence_than_was_paid_for_leaves_the_bounds():
    noisy = noisy_of(ages(900, (0, 80)), Fraction(1, 2), Fraction(4), groups=50)
    quantile = QuantileEstimator(measure="x", level=Fraction(1, 2), offset=0, grid=AGES)
    known = Intervals(lowered(), noisy, Fraction(99, 100))
    assert [set(end.tolist()) for end in interval_of(quantile, known)] == [{20.0}, {100.0}]
    lower = interval_of(quantile, Intervals(lowered(), noisy, Fraction(1, 2)))
    assert (lower[1] - lower[0]).max() < 30
    both = quantile.range(Intervals(lowered(), noisy, C95), {}, 2)
    assert [set(end.tolist()) for end in both] == [{20.0}, {100.0}]
    assert interval_of(QuantilesEstimator((quantile,)), Intervals(lowered(), noisy, C95)) is None


def test_edges_of_leaves_hold_what_is_in_them():
    """Wide leaves of whole numbers, and leaves of floats, which are rounded at their edges."""
    noisy = noisy_of([0, 5, 0, 0], Fraction(1, 2), Fraction(1, 9), groups=3)
    level = Fraction(1, 2)
    wide = Grid(
        low=Fraction(0), width=Fraction(5), leaves=4, shift=Fraction(2, 5), high=Fraction(17)
    )
    ends = quantile_interval(
        QuantileEstimator(measure="x", level=level, offset=0, grid=wide), noisy, C95
    )
    assert [end[0] for end in ends] == [5.0, 9.0]
    fine = Grid(low=Fraction(0), width=Fraction(1, 3), leaves=4, shift=Fraction(1, 2))
    low, high = quantile_interval(
        QuantileEstimator(measure="x", level=level, offset=0, grid=fine), noisy, C95
    )
    assert 0.333333 < low[0] < 1 / 3
    assert 2 / 3 < high[0] < 0.666667


def test_ends_that_cross_are_both_held():
    quantile = QuantileEstimator(measure="x", level=Fraction(1, 2), offset=0, grid=AGES)
    noisy = noisy_of(ages(40), Fraction(1, 2), Fraction(1), groups=1)
    value, below, above = noisy.chosen
    crossed = replace(
        noisy,
        chosen=(
            value,
            replace(below, leaves=np.array([50])),
            replace(above, leaves=np.array([40])),
        ),
    )
    assert [end[0] for end in quantile_interval(quantile, crossed, C95)] == [60.0, 70.0]
    assert quantile.value(Type.INTEGER, crossed).tolist() == [60]


def spanned(level, *, every, leaves=20_001, groups=1000):
    """Values and intervals of a plan's choices, in groups with a row in every so many leaves."""
    part = QuantileLevel(measure="x", level=level, leaves=leaves, rows=1, groups=1, available=None)
    value, span = part.within_epsilon(Fraction(1), Relation.ADD_REMOVE)
    leaf = np.arange(0, leaves, every)
    places = np.repeat(np.arange(groups), leaf.size), np.tile(leaf, groups)
    sparse = (*places, np.ones(groups * leaf.size, np.int64))
    near = chosen_leaves(value, sparse, groups=groups, entropy=stream("value"))
    wide = chosen_spans(span, sparse, near=near, entropy=stream("span"))
    chosen = Chosen(choice=value, leaves=near), Chosen(choice=span, leaves=wide)
    noisy = Noisy(size=groups, keys=(), totals={}, chosen=chosen)
    grid = Grid(low=Fraction(0), width=Fraction(1), leaves=leaves)
    return QuantileEstimator(measure="x", level=level, offset=0, grid=grid), noisy


@pytest.mark.parametrize("level", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_intervals_of_even_rows_hold_as_often_as_they_say_and_are_not_much_wider(level):
    """Four times as large an aim, which halves twice, is noticed."""
    quantile, noisy = spanned(level, every=10)
    truth = 20_000 * float(level)
    low, high = quantile_interval(quantile, noisy, C95)
    assert enough(held((low, high), truth), noisy.size, C95)
    values = quantile.value(Type.FLOAT, noisy)
    assert ((low <= values) & (values <= high)).all()
    need = np.quantile(np.abs(values - truth), 0.95)
    assert (high - low).mean() / 2 < 4 * need
    value, span = noisy.chosen
    mutant = replace(span.choice, offset=4 * span.choice.offset)
    halved = replace(noisy, chosen=(value, replace(span, choice=mutant)))
    ends = quantile_interval(quantile, halved, C95)
    assert not enough(held(ends, truth), noisy.size, C95)


def test_too_few_rows_for_a_span_leave_the_bounds():
    quantile, noisy = spanned(Fraction(1, 2), every=1000)
    low, high = quantile_interval(quantile, noisy, C95)
    assert np.mean((low == 0) & (high == 20_000)) > 0.9


@pytest.mark.theorem("part-prices")
def test_a_quantile_and_its_ends_share_one_price():
    """Nine tenths stay with the value; the lowest and the highest value keep all of it."""
    level = QuantileLevel(
        measure="x", level=Fraction(1, 4), leaves=100, rows=3, groups=2, available=None
    )
    value, span = level.within_epsilon(Fraction(1), Relation.ADD_REMOVE)
    spent = [choice.groups * 2 * choice.added / choice.mechanism.scale for choice in (value, span)]
    assert spent == [VALUE_SHARE, 1 - VALUE_SHARE]
    rhos = [
        choice.groups * (2 * choice.added / choice.mechanism.scale) ** 2 / 8
        for choice in level.within_rho(Fraction(1), Relation.ADD_REMOVE)
    ]
    assert 1 - Fraction(1, 10**9) < sum(rhos) <= 1
    for end in (Fraction(0), Fraction(1)):
        (only,) = replace(level, level=end).within_epsilon(Fraction(1), Relation.ADD_REMOVE)
        assert only.groups * 2 * only.added / only.mechanism.scale == 1
        assert only.side == (1 if end == 0 else -1)
    surer = replace(level, confidence=Fraction(99, 100))
    assert surer.within_epsilon(Fraction(1), Relation.ADD_REMOVE) == (value, span)
    bare = replace(level, intervals=False)
    (alone,) = bare.within_epsilon(Fraction(1), Relation.ADD_REMOVE)
    assert alone == replace(value, mechanism=alone.mechanism)
    assert alone.mechanism.scale == VALUE_SHARE * value.mechanism.scale
