"""Quantiles from one tree of noisy counts: what moves them, what is read from them, how exact."""

import dataclasses
import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.errors import DiscreetError, OutOfRange
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import error_bound
from discreet.plan.pricing.calibration import rho_sum
from discreet.plan.pricing.group_sensitivity import Releases, trees_of
from discreet.plan.pricing.quantile_tree import (
    QuantileLevels,
    QuantileTree,
    TreeChoice,
    TreeSensitivity,
    best_arity,
)
from discreet.plan.pricing.release_composition import check_claims, composition_of
from discreet.plan.pricing.requested_price import estimate
from discreet.release import choices as quantile_tree
from discreet.release.choices import chosen_leaves, read_tree
from discreet.units import Relation, person
from tests.noise.laws import stream
from tests.plan.clinic import planned
from tests.release.clinic import asked, plan_of, tables
from tests.release.draws import enough

F = Fraction
FORTIETH = F(1, 40)
QUARTERS = (F(1, 4), F(1, 2), F(3, 4))
SIDES = {0: (1,), 1: (-1,)}


def tree_of(leaves, arity, noise=None, *, rows=1, groups=1, available=1):
    far = TreeSensitivity(
        low=0, high=rows, groups=groups, available=available, leaves=leaves, arity=arity
    )
    return QuantileTree(measure="x", mechanism=noise or Laplace(scale=2), distances=far)


def choices_of(tree, levels, missed=FORTIETH):
    far = tree.distances
    return tuple(
        TreeChoice(
            measure="x",
            rows=far.high,
            groups=far.groups,
            available=far.available,
            offset=side,
            level=level,
            tree=tree,
            missed=missed,
        )
        for level in levels
        for side in SIDES.get(level, (0, -1, 1))
    )


def sparse_of(counts, groups=1):
    leaf = np.flatnonzero(counts)
    return (
        np.repeat(np.arange(groups), leaf.size),
        np.tile(leaf, groups),
        np.tile(np.asarray(counts, np.int64)[leaf], groups),
    )


def blocks_of(counts, arity, levels):
    """Count every block of every level, by hand."""
    padded = list(counts) + [0] * (arity**levels - len(counts))
    return [
        [sum(padded[at : at + size]) for at in range(0, len(padded), size)]
        for size in (arity ** (levels - level) for level in range(1, levels + 1))
    ]


def vector(groups, arity, levels):
    blocks = [blocks_of(counts, arity, levels) for counts in groups]
    return np.array([y for counts in blocks for level in counts for y in level])


def histograms(leaves, rows):
    return [c for c in itertools.product(range(rows + 1), repeat=leaves) if sum(c) <= rows]


@pytest.mark.theorem("quantile-tree")
@pytest.mark.parametrize(("leaves", "arity"), [(2, 2), (3, 3), (4, 2), (5, 3)])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("touched", "available"), [(1, 1), (1, 2), (2, 2)])
def test_no_unit_moves_the_counts_further_than_is_priced(leaves, arity, rows, touched, available):
    """All that one unit, or one in place of another, can add to the groups there are."""
    far = tree_of(leaves, arity, rows=rows, groups=touched, available=available).distances
    alone = histograms(leaves, rows)
    if available == 1:
        units = [(c,) for c in alone]
    else:
        some = alone if leaves < 4 else [c for c in alone if sum(c) in {0, rows} and max(c) == rows]
        some = [*some, (0,) * leaves]
        units = [
            pair
            for pair in itertools.product(some, repeat=2)
            if sum(any(c) for c in pair) <= touched
        ]
    vectors = np.unique([vector(unit, arity, far.levels) for unit in units], axis=0)
    added = np.abs(vectors).sum(axis=1).max(), (vectors**2).sum(axis=1).max()
    apart = vectors[:, np.newaxis] - vectors
    replaced = np.abs(apart).sum(axis=2).max(), (apart**2).sum(axis=2).max()
    assert added == (far.added, far.added_squared)  # and it is reached
    assert replaced[0] <= far.replaced
    assert replaced[1] <= far.replaced_squared
    assert replaced == (far.replaced, far.replaced_squared)


class Scripted:
    """Counts with noise from a list, by level and place, and a record of what was counted."""

    def __init__(self, monkeypatch, noise):
        self.noise, self.seen = noise, []
        real = quantile_tree._Counts.drawn

        def drawn(counts, blocks, level):
            arity = counts._tree.distances.arity
            self.places = (blocks[:, np.newaxis] * arity + np.arange(arity)).ravel()
            self.level = level
            self.seen += [(level, place) for place in self.places.tolist()]
            return real(counts, blocks, level)

        monkeypatch.setattr(quantile_tree._Counts, "drawn", drawn)

    scale = F(2)

    def run(self, exact, *, entropy):
        del entropy
        return exact + self.noise[self.level][self.places]


def reference(choice, noisy, arity):
    """Read a choice from all noisy counts, by the definition, in exact numbers."""
    level, side, block, factors = choice.level, choice.side, 0, None
    start = end = F(0)
    for counts in noisy:
        parts = [F(int(y)) for y in counts[block * arity : (block + 1) * arity]]
        sums = [sum(parts[:i], F(0)) for i in range(arity + 1)]
        if factors is None:
            gaps = [each - level * sums[-1] for each in sums]
            squares = [i * (1 - level) ** 2 + (arity - i) * level**2 for i in range(arity + 1)]
            ways = [[1 - level] * i + [-level] * (arity - i) for i in range(arity + 1)]
        else:
            share = [F(i, arity) for i in range(arity + 1)]
            rest = end - start - sums[-1]
            gaps = [start + s + f * rest for s, f in zip(sums, share, strict=True)]
            ways = [
                [(1 - f) * a + f * b for a, b in zip(*factors, strict=True)]
                + [1 - f] * i
                + [-f] * (arity - i)
                for i, f in enumerate(share)
            ]
            squares = [sum(a * a for a in way) for way in ways]
        low, high = gaps, gaps
        if side:
            missed = choice.missed / len(noisy)
            values = np.array([float(each) for each in squares])
            far = [F(m) for m in error_bound(choice.tree.mechanism, values, missed).tolist()]
            low = [gap + level + m for gap, m in zip(gaps, far, strict=True)]
            high = [gap + level - 1 - m for gap, m in zip(gaps, far, strict=True)]
        first = ([i for i in range(arity) if low[i + 1] >= 0] or [arity - 1])[0]
        last = ([i for i in range(arity) if high[i] <= 0] or [0])[-1]
        part = first if side < 0 else last if side > 0 else (first + last) // 2
        start, end, factors = gaps[part], gaps[part + 1], (ways[part], ways[part + 1])
        block = block * arity + part
        assert all(abs(a) <= 1 for way in ways for a in way)
    return min(block, choice.tree.distances.leaves - 1)


@pytest.mark.theorem("quantile-tree")
@pytest.mark.parametrize(("leaves", "arity"), [(4, 4), (4, 2), (9, 3), (7, 2)])
def test_answers_are_a_function_of_noisy_counts_each_drawn_once(leaves, arity, monkeypatch):
    rng = np.random.default_rng(leaves)
    tree = tree_of(leaves, arity)
    levels = tree.distances.levels
    for _ in range(12):
        counts = rng.integers(0, 9, leaves)
        sizes = [arity**level for level in range(1, levels + 1)]
        noise = [np.rint(rng.laplace(0, 4, size)).astype(int) for size in sizes]
        with monkeypatch.context() as patched:
            script = Scripted(patched, noise)
            drawn = QuantileTree(measure="x", mechanism=script, distances=tree.distances)
            choices = choices_of(drawn, (F(0), F(1, 10), *QUARTERS, F(1)))
            found = read_tree(drawn, choices, sparse_of(counts), groups=1)
        assert len(script.seen) == len(set(script.seen))
        noisy = [np.add(c, z) for c, z in zip(blocks_of(counts, arity, levels), noise, strict=True)]
        for choice, leaf in found.items():
            assert leaf.tolist() == [reference(choice, noisy, arity)]


@pytest.mark.theorem("quantile-tree")
def test_the_law_on_a_tiny_table_is_as_private_as_is_charged():
    """Every outcome of all choices together, by all noises that have a chance to speak of."""
    scale, reach, leaves = F(1), 8, 3
    tree = tree_of(leaves, 3, Laplace(scale=scale))
    choices = choices_of(tree, QUARTERS)
    every = np.array(list(itertools.product(range(-reach, reach + 1), repeat=leaves)))
    decay = math.exp(-1)
    chance = ((1 - decay) / (1 + decay) * decay ** np.abs(every)).prod(axis=1)

    @cache
    def law(*counts):
        noisy = every + np.array(counts)
        read = [quantile_tree._Path.first(choice, len(every)) for choice in choices]
        for path in read:
            path.down(noisy.astype(float), tree)
        keys = np.stack([path.block for path in read], axis=1)
        outcomes, place = np.unique(keys, axis=0, return_inverse=True)
        return dict(
            zip(map(tuple, outcomes.tolist()), np.bincount(place.ravel(), chance), strict=True)
        )

    rest, charged = 1 - chance.sum(), math.exp(tree.distances.added / scale)
    largest = 0.0
    for counts in [(0, 0, 0), (2, 0, 1), (1, 1, 1)]:
        for leaf in range(leaves):
            more = [c + (at == leaf) for at, c in enumerate(counts)]
            one, other = law(*counts), law(*more)
            for outcome in one | other:
                p, q = one.get(outcome, 0.0), other.get(outcome, 0.0)
                assert p <= charged * (q + rest) + rest
                assert q <= charged * (p + rest) + rest
                if min(p, q) > 1e-4:
                    largest = max(largest, p / q, q / p)
    assert largest > 0.8 * charged  # so that a law with less noise would be noticed


LAWS = [Laplace(scale=1), Laplace(scale=4), Gaussian(sigma=1), Gaussian(sigma=6)]


def tail_of(noise, factors, bound, parts):
    """P[sum of factors times noises > bound]; factors are multiples of one over ``parts``."""
    reach = 60 if isinstance(noise, Laplace) else 12
    most = round(reach * noise.width)
    places = np.arange(-most, most + 1)
    single = np.array([noise.law.pmf(int(z)) for z in places])
    sums = np.ones(1)
    for factor in factors:
        step = abs(round(factor * parts))
        spread = np.zeros(2 * most * step + 1)
        spread[:: max(step, 1)] = single if step else single.sum()
        sums = np.convolve(sums, spread)
    middle = sums.size // 2
    return sums[middle + 1 + math.floor(bound * parts) :].sum()


@pytest.mark.theorem("tree-error")
@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("missed", [F(1, 20), F(1, 1000)])
def test_sums_of_noises_stay_within_their_bound(noise, missed):
    closest = 0.0
    for factors in [(1,), (0.5, -0.5), (1, -0.25, 0.75), (0.25,) * 6, (1, 1, 1, -1)]:
        bound = error_bound(noise, np.array([sum(a * a for a in factors)]), missed)[0]
        beyond = tail_of(noise, factors, bound, 4)
        assert beyond <= missed
        closest = max(closest, tail_of(noise, factors, bound / 2, 4))
    assert closest > missed  # half of the bound does not hold


TABLES = {
    "spread": np.bincount(np.linspace(0, 99, 700).astype(int), minlength=100),
    "tied": np.bincount([3] * 300 + [40] * 5 + [90] * 200, minlength=100),
    "narrow": np.bincount(np.linspace(30, 36, 300).astype(int), minlength=100),
    "few": np.bincount([10, 11, 60], minlength=100),
}


def truth_of(counts, level):
    """The leaves of the two values between which a quantile is."""
    values, place = np.repeat(np.arange(len(counts)), counts), level * (sum(counts) - 1)
    return values[math.floor(place)], values[math.ceil(place)]


def read(counts, noise, levels, groups=4000):
    arity = best_arity(len(counts), squared=isinstance(noise, Gaussian))
    tree = tree_of(len(counts), arity, noise)
    sparse = sparse_of(counts, groups)
    return read_tree(
        tree, choices_of(tree, levels, F(1, 20)), sparse, groups=groups, entropy=stream("tree")
    )


@pytest.mark.theorem("tree-ends")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("noise", [Laplace(scale=6), Gaussian(sigma=4)])
def test_ends_are_on_their_side_of_the_quantile(table, noise):
    """Each end misses rarely enough; ``enough`` allows one false alarm in a million."""
    counts = TABLES[table]
    for choice, leaves in read(counts, noise, (F(0), F(1, 10), *QUARTERS, F(1))).items():
        low, high = truth_of(counts, choice.level)
        if choice.side:
            kept = leaves <= low if choice.side < 0 else leaves >= high
            assert enough(int(kept.sum()), leaves.size, 1 - choice.missed)


@pytest.mark.theorem("tree-ends")
@pytest.mark.parametrize("noise", [Laplace(scale=6), Gaussian(sigma=4)])
def test_a_mutant_that_allows_for_no_error_is_noticed(noise, monkeypatch):
    monkeypatch.setattr(quantile_tree, "error_bound", lambda noise, squares, missed: 0.0 * squares)
    counts, caught = TABLES["spread"], 0
    for choice, leaves in read(counts, noise, QUARTERS).items():
        low, high = truth_of(counts, choice.level)
        kept = leaves <= low if choice.side < 0 else leaves >= high
        caught += choice.side != 0 and not enough(int(kept.sum()), leaves.size, 1 - choice.missed)
    assert caught == 2 * len(QUARTERS)


@pytest.mark.theorem("tree-reach")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("noise", [Laplace(scale=6), Gaussian(sigma=4)])
def test_nothing_misses_its_level_by_more_than_is_forecast(table, noise):
    counts = TABLES[table]
    upto = np.cumsum(counts)
    for choice, leaves in read(counts, noise, (F(0), *QUARTERS, F(1))).items():
        rank = float(choice.level) * upto[-1]
        below = upto[leaves] - counts[leaves]
        missed = np.maximum(np.maximum(below - rank, rank - upto[leaves]), 0)
        reach = float(choice.farthest(F(1, 20)))
        assert enough(int((missed <= reach).sum()), leaves.size, F(19, 20))
        if table == "spread" and choice.side == 0:
            assert 0.2 * reach < np.quantile(missed, 0.99)
            assert np.abs(missed).mean() < 2 * choice.spread


def twenty(leaves=4096, **more):
    return QuantileLevels(
        measure="x",
        leaves=leaves,
        rows=1,
        groups=1,
        available=1,
        levels=tuple(F(k, 20) for k in range(1, 20)),
        **more,
    )


@pytest.mark.parametrize("kind", ["uniform", "tied"])
def test_twenty_quantiles_err_by_less_than_half_of_what_single_choices_do(kind):
    rng = np.random.default_rng(20)
    places = (
        rng.integers(1365, 2730, 2000) if kind == "uniform" else rng.integers(14, 27, 2000) * 100
    )
    counts = np.bincount(places, minlength=4096)
    part, groups = twenty(), 100
    single = [p.within_epsilon(F(1, 19), Relation.ADD_REMOVE)[0] for p in part.single()]
    joint = part.within_epsilon(F(1), Relation.ADD_REMOVE)
    (tree,) = trees_of(joint)
    sparse = sparse_of(counts, groups)
    found = read_tree(tree, joint, sparse, groups=groups, entropy=stream("joint"))
    upto = np.cumsum(counts)

    def missed(level, leaves):
        rank = float(level) * 2000
        below = upto[leaves] - counts[leaves]
        return np.maximum(np.maximum(below - rank, rank - upto[leaves]), 0).mean()

    alone = [chosen_leaves(each, sparse, groups=groups, entropy=stream("one")) for each in single]
    today = np.mean([missed(each.level, own) for each, own in zip(single, alone, strict=True)])
    mine = np.mean([missed(choice.level, found[choice]) for choice in joint if choice.side == 0])
    assert mine < today / 2
    assert mine < 25


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("price", [{"epsilon": F(1)}, {"rho": F(1, 10)}])
def test_a_tree_costs_its_share_and_is_one_release(relation, price):
    kind = Relation.read(relation)
    part = dataclasses.replace(twenty(), as_tree=True)
    if "epsilon" in price:
        choices = part.within_epsilon(price["epsilon"], kind)
    else:
        choices = part.within_rho(price["rho"], kind)
    unit = person("patient", relation=relation)
    tree = composition_of(Releases(choices=choices), unit)
    assert tree.name == "x at 19 levels"
    loss = tree.price(1, int(kind.replaces))
    if "epsilon" in price:
        assert loss.epsilon(delta=0) == pytest.approx(1)
        assert loss.epsilon(delta=0) <= 1
    else:
        assert F(99, 1000) < rho_sum(tree, unit)[0] <= F(1, 10)


def test_a_claim_that_nothing_enforces_is_refused():
    plan = plan_of("SELECT APPROX_QUANTILES(age, 20) AS q FROM visits", epsilon=1)
    releases = Releases(choices=plan.choices)
    check_claims(plan.request, releases)
    ((tree, _),) = trees_of(plan.choices).items()
    far = tree.distances
    for wrong in (
        {"high": far.high - 1},
        {"leaves": far.leaves - 1},
        {"leaves": far.leaves + 1},
        {"groups": 0},
        {"always": True},
    ):
        planted = tuple(
            _with(choice, distances=_with(far, **wrong), tree=tree) for choice in plan.choices
        )
        with pytest.raises(OutOfRange):
            check_claims(plan.request, Releases(choices=planted))


def _with(value, *, tree=None, **changes):

    if tree is not None:
        return dataclasses.replace(value, tree=dataclasses.replace(tree, **changes))
    return dataclasses.replace(value, **changes)


@pytest.mark.parametrize("price", ["0.05", "1", "40"])
def test_lists_rise_and_lie_within_their_intervals(price):
    sql = (
        "SELECT sex, APPROX_QUANTILES(age, 20) AS q, MEDIAN(cost) AS m, MIN(cost) AS l, "
        "PERCENTILE_CONT(cost, 0.05) AS a, PERCENTILE_CONT(cost, 0.95) AS z, MAX(cost) AS h "
        "FROM visits GROUP BY sex"
    )
    for label in "abcd":
        for row in asked(sql, label=label, epsilon=price):
            assert row["q"] == sorted(row["q"])
            assert row["q_low"] == sorted(row["q_low"])
            assert row["q_high"] == sorted(row["q_high"])
            for low, value, high in zip(row["q_low"], row["q"], row["q_high"], strict=True):
                assert low <= value <= high
            assert row["l"] <= row["a"] <= row["m"] <= row["z"] <= row["h"]


def test_lists_of_many_rows_are_right():
    ages = np.array([row["age"] for row in tables()["visits"]])
    row = asked("SELECT APPROX_QUANTILES(age, 20) AS q FROM visits", epsilon=4000).rows()[0]
    truth = np.quantile(ages, np.arange(21) / 20)
    for low, value, exact, high in zip(row["q_low"], row["q"], truth, row["q_high"], strict=True):
        assert low <= exact <= high
        assert abs(value - exact) <= 3


def test_the_plan_says_that_they_are_bought_together():
    plan = plan_of("SELECT APPROX_QUANTILES(age, 20) AS q FROM visits", epsilon=1)
    text = plan.details
    assert "at 21 levels and their intervals" in text
    assert "times the error of single choices" in text
    assert text.count("leaves:") == 1
    few = plan_of(
        "SELECT PERCENTILE_CONT(cost, 0.25) AS a, PERCENTILE_CONT(cost, 0.75) AS b FROM visits",
        epsilon=1,
    )
    assert not trees_of(few.choices)
    assert (
        plan.digest
        != plan_of("SELECT APPROX_QUANTILES(age, 19) AS q FROM visits", epsilon=1).digest
    )


def test_bounds_that_are_found_leave_the_price_as_it_was_promised():
    sql = "SELECT PERCENTILE_CONT(note, 0.25) AS a, PERCENTILE_CONT(note, 0.75) AS b FROM visits"
    plan = plan_of(sql, epsilon=1, bounds=estimate(epsilon="0.5"))
    assert len(trees_of(plan.choices)) == 1  # whatever number of leaves will be found


@pytest.mark.parametrize(
    "price",
    [
        {"epsilon": "1e-300"},
        {"epsilon": "1e6"},
        {"rho": "1e-300"},
        {"epsilon": 1, "confidence": 1 - F(1, 10**400)},
    ],
)
def test_extreme_prices_are_planned_or_refused(price):
    try:
        plan = planned("SELECT APPROX_QUANTILES(cost, 20) AS q FROM visits", **price)
    except DiscreetError:
        return
    assert plan.price.rho is not None
