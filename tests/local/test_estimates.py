"""Tables of shares: what they say, what they refuse, and how they are made consistent."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import DiscreetError
from discreet.exact import Interval
from discreet.local import Direct, Estimates, Hashing, Unary
from discreet.local.consistency import METHODS, consistent_shares, expected, project
from discreet.local.estimates import PoolBias
from discreet.local.intervals import Coins

CHANCES = (Interval("3/4", "3/4"), Interval("1/4", "1/4"))


def few(**changes):
    given = {"values": ("a", "b", "c"), "supports": [60, 30, 25], "people": 90, "chances": CHANCES}
    return Estimates(**(given | changes))


def test_text_html_and_picture_say_what_they_are_about():
    table = few().table(confidence="0.9", consistent="simplex", hostile=3, target="reported")
    text = str(table)
    assert "among those who reported" in text
    assert "even if 3 reports are hostile" in text
    assert "biased" in text
    assert table.biased
    assert "biased" not in str(few().table())
    assert "in the population" in str(few())
    assert few(values=("<a>", "b", "c")).table()._repr_html_().count("&lt;a&gt;") == 1
    assert few().table().chart().svg().startswith("<svg")
    assert [row.value for row in table] == ["a", "b", "c"]


def test_a_long_table_says_how_much_it_leaves_out():
    many = few(values=tuple(range(100)), supports=[5] * 100)
    assert "and 40 more values" in str(many)
    assert len(many.table()) == 100


def test_intervals_for_all_values_are_wider_and_hold_at_once():
    each, every = few().table(bars="each"), few().table(bars="all")
    assert (every.high - every.low > each.high - each.low).all()
    coins, people, runs, size = few().coins, 500, 400, 40
    every_count = few(values=range(people + 1), supports=range(people + 1), people=people)
    counts = np.random.default_rng(3).binomial(people, coins.q, (runs, size))
    for miss, holds in ((0.05 / size, True), (0.05, False)):  # the mutant has no union bound
        low = every_count.table(confidence=str(1 - miss)).low  # nobody holds these values
        hit = int((low[counts] == 0).all(axis=1).sum())
        assert (stats.binom.cdf(hit, runs, 0.95) > 1e-6) == holds
    table = few(values=range(size), supports=counts[0], people=people).table(bars="all")
    alone = every_count.table(confidence=str(1 - 0.05 / size))
    assert table.high == pytest.approx(alone.high[counts[0]])


@pytest.mark.parametrize(
    "changes",
    [
        {"people": 0},
        {"people": 20},
        {"supports": [1, 2]},
        {"supports": [-1, 2, 3]},
        {"supports": [1.5, 2.0, 3.0]},
        {"chances": CHANCES[::-1]},
        {"values": ()},
        {"people": "many"},
    ],
)
def test_counts_that_no_reports_have_are_refused(changes):
    with pytest.raises(DiscreetError):
        few(**changes)


@pytest.mark.parametrize(
    "options",
    [
        {"confidence": 1},
        {"confidence": "high"},
        {"consistent": "clip"},
        {"target": "all"},
        {"bars": "some"},
        {"hostile": 91},
    ],
)
def test_a_table_that_means_nothing_is_refused(options):
    with pytest.raises(DiscreetError):
        few().table(**options)


shares = st.lists(st.floats(-1, 2), min_size=1, max_size=8).map(np.array)


@pytest.mark.theorem("simplex-projection")
@given(shares, st.randoms(use_true_random=False))
def test_no_point_of_the_simplex_is_nearer(values, chance):
    found = project(values)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    other = np.array([chance.random() + 1e-9 for _ in values])
    other /= other.sum()
    assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum() + 1e-9


def expectation_maximization(counts, people, coins, steps=4000):
    """The slow way to the likeliest shares of direct response."""
    found = np.full(len(counts), 1 / len(counts))
    for _ in range(steps):
        rates = coins.q + found * (coins.p - coins.q)
        ratio = counts / people / rates
        found = found * (coins.q * ratio.sum() + (coins.p - coins.q) * ratio)
    return found


@pytest.mark.theorem("simplex-likelihood")
def test_the_likeliest_shares_are_where_expectation_maximization_ends():
    coins = Coins.of(Direct(epsilon=1, values=4).chances())
    counts = np.array([500, 240, 160, 100])
    found = consistent_shares(counts, people=1000, coins=coins, method="likelihood")
    slow = expectation_maximization(counts, 1000, coins)
    assert found == pytest.approx(slow, abs=1e-6)
    assert found[-1] == 0


@pytest.mark.theorem("simplex-likelihood")
@given(st.lists(st.integers(0, 300), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_no_shares_are_likelier(counts, chance):
    coins, people = Coins.of(Unary(epsilon=1, values=6).chances()), 300

    def likelihood(found):
        rates = coins.q + found * (coins.p - coins.q)
        return float(stats.binom.logpmf(np.array(counts), people, rates).sum())

    found = consistent_shares(np.array(counts), people=people, coins=coins, method="likelihood")
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    other = np.array([chance.random() + 1e-9 for _ in counts])
    assert likelihood(found) >= likelihood(other / other.sum()) - 1e-6


def on_a_grid(centre, spread, tilt, points=20_001):
    """The slow way to one expected share: the posterior on a fine grid, tilted."""
    share = np.linspace(0, 1, points)
    height = -(((share - centre) / spread) ** 2) / 2 - tilt * share
    weight = np.exp(height - height.max())
    weight[[0, -1]] /= 2
    return float((share * weight).sum() / weight.sum())


@pytest.mark.theorem("simplex-posterior")
@pytest.mark.parametrize(
    ("raw", "spreads"),
    [
        ([0.6, 0.3, 0.1], [0.05, 0.04, 0.03]),
        ([1.3, -0.2, -0.4], [0.2, 0.1, 0.1]),
        ([0.9, 0.8, 0.7, 0.6], [0.3, 0.1, 2.0, 0.02]),
        ([-0.5, -0.6], [0.01, 0.02]),
    ],
)
def test_expected_shares_are_the_means_of_one_tilt(raw, spreads):
    found = expected(np.array(raw), deviations=np.array(spreads))
    assert found.sum() == pytest.approx(1)
    low, high = -1e6, 1e6
    for _ in range(60):
        tilt = (low + high) / 2
        slow = [on_a_grid(*law, tilt) for law in zip(raw, spreads, strict=True)]
        low, high = (tilt, high) if sum(slow) > 1 else (low, tilt)
    assert found == pytest.approx(slow, abs=2e-5)
    wrong = expected(np.array(raw), deviations=2 * np.array(spreads))  # the mutant: twice as wide
    assert wrong != pytest.approx(slow, abs=2e-4)


@pytest.mark.theorem("simplex-posterior")
@given(
    st.lists(st.tuples(st.floats(-2, 3), st.floats(1e-6, 10)), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_expected_shares_are_on_the_simplex_and_follow_their_values(laws, chance):
    raw, spreads = map(np.array, zip(*laws, strict=True))
    found = expected(raw, deviations=spreads)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    order = np.array(chance.sample(range(len(raw)), len(raw)))
    moved = expected(raw[order], deviations=spreads[order])
    assert moved == pytest.approx(found[order], abs=1e-9)


def test_expected_shares_err_least_if_all_shares_were_alike_before():
    coins, people, runs = Coins.of(Direct(epsilon=1, values=2).chances()), 20, 2000
    generator = np.random.default_rng(6)
    truth = generator.uniform(size=runs)
    counts = generator.binomial(people, coins.q + truth * (coins.p - coins.q))
    errors = {}
    for method in METHODS:
        table = [
            consistent_shares(np.array([c, people - c]), people=people, coins=coins, method=method)
            for c in range(people + 1)
        ]
        errors[method] = float(np.mean((np.array(table)[counts, 0] - truth) ** 2))
    assert min(errors, key=errors.get) == "posterior"
    assert errors["posterior"] < 0.9 * min(errors["simplex"], errors["likelihood"])


def test_a_table_without_a_tree_says_who_has_one():
    with pytest.raises(DiscreetError, match="Ranges"):
        few().table(consistent="tree")


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_clipped_table_is_biased(method):
    coins, runs = few().coins, 100
    rates = coins.q + np.array([1.0, 0, 0, 0]) * (coins.p - coins.q)
    counts = np.random.default_rng(5).binomial(100, rates, (runs, 4))
    means = {
        name: np.mean(
            [consistent_shares(c, people=100, coins=coins, method=name) for c in counts], axis=0
        )
        for name in ("raw", method)
    }
    error = math.sqrt(float(coins.variance(0.0)) / 100 / runs)
    assert abs(means["raw"][1]) < 5.5 * error
    assert means[method][1] > 5.5 * error / 3
    assert means[method][0] < 1 - 5.5 * error / 3


@pytest.mark.theorem("pool-bias")
def test_a_pool_moves_estimates_no_further_than_stated():
    people, pool, runs = 400_000, 20, 60
    oracle = Hashing(epsilon=3, values=12, pool=pool)
    generator = np.random.default_rng(11)
    moved = []
    for _ in range(runs):  # a fresh pool each time: functions drawn at random
        hashed = generator.integers(0, oracle.cells, (pool, 12))
        collisions = (hashed == hashed[:, :1]).mean(axis=0)
        shares = np.r_[0.0, 0.4, 0.3, np.full(9, 0.3 / 9)]
        q = 1 / oracle.cells
        moved.append(float((shares[1:] * (collisions[1:] - q)).sum() / (1 - q)))
    bias = PoolBias(functions=pool, cells=oracle.cells)
    assert np.mean(np.abs(moved) > bias.reach(largest=0.4, miss=0.1)) <= 0.1
    assert np.mean(np.abs(moved) > bias.reach(largest=0.4, miss=0.1) / 4) > 0.1  # not just large
    few_reports = np.full(pool * oracle.cells, people // (pool * oracle.cells))
    wide = Estimates.of(
        oracle, few_reports, people=int(few_reports.sum()), values=range(12)
    ).table()
    plain = Estimates(
        values=tuple(range(12)),
        supports=oracle.supports(few_reports),
        people=int(few_reports.sum()),
        chances=oracle.chances(),
    ).table()
    assert (wide.high > plain.high + 0.02).all()
