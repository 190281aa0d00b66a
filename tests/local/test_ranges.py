"""Ranges and quantiles: exact decoding, the table of variances, and coverage."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DiscreetError, WrongKind
from discreet.local import (
    Hadamard,
    Ranges,
    SignedHadamard,
    Unary,
)
from discreet.local.consistency import project
from discreet.local.intervals import Coins, sum_variance
from discreet.local.ranges import RangeEstimates, _Level
from tests.noise.laws import stream

MEAN_VARIANCES = {  # over all ranges, times n/V: cells, and b = 2, 4, 8, 16, Haar
    64: (7.26, 6.58, 6.79, 10.04, 5.21),
    256: (12.40, 11.80, 14.11, 14.73, 9.57),
    1024: (18.86, 18.51, 24.66, 29.1, 15.28),
}


@pytest.mark.theorem("range-variance")
@pytest.mark.parametrize("cells", [64, 256, pytest.param(1024, marks=pytest.mark.slow)])
def test_the_mean_variance_of_all_ranges(cells):
    found = [
        Ranges(cells=cells, epsilon=1, branching=width).mean_variance()
        for width in (2, 4, 8, 16, 0)
    ]
    assert found == pytest.approx(MEAN_VARIANCES[cells], abs=0.05 if cells == 1024 else 0.0051)


def test_the_default_tree_at_a_thousand_cells():
    tree = Ranges(cells=1024, epsilon=1).mean_variance()
    wavelets = Ranges(cells=1024, epsilon=1, branching=0).mean_variance()
    assert tree == pytest.approx(18.51, abs=0.005)
    unary = Unary(epsilon=1, values=1024).variance().nearest()
    assert tree * unary == pytest.approx(68.2, abs=0.05)
    signs = Hadamard(epsilon=1, values=1024).variance().nearest()
    assert wavelets * signs == pytest.approx(71.6, abs=0.05)
    assert flat_mean_variance(1024) * unary == pytest.approx(1260, abs=1)


@pytest.mark.parametrize(("epsilon", "width"), [("0.84", 0), ("0.85", 4), (1, 4)])
def test_wavelets_are_used_below_an_epsilon_of_085(epsilon, width):
    assert Ranges(cells=64, epsilon=epsilon).branching == width


def flat_mean_variance(cells):
    return sum((cells + 1 - length) * length for length in range(1, cells + 1)) / (
        cells * (cells + 1) / 2
    )


@pytest.mark.parametrize(("cells", "expected"), [(64, 22.0), (256, 86.0), (1024, 342.0)])
def test_without_a_tree(cells, expected):
    assert flat_mean_variance(cells) == pytest.approx(expected)


def noiseless(plan, truth):
    """Return the estimates whose every node is what it should be."""
    levels = []
    for level, part in enumerate(plan.record.parts):
        width = (plan.branching or 2) ** level
        nodes = np.add.reduceat(truth, np.arange(0, plan.cells, width))
        if not plan.branching:  # left minus right, and the opposite
            sides = nodes.reshape(-1, 2)
            nodes = np.stack([sides[:, 0] - sides[:, 1], sides[:, 1] - sides[:, 0]], 1).ravel()
        levels.append(_Level(nodes, 1000, Coins.of(part.chances())))
    return RangeEstimates(plan=plan, levels=tuple(levels))


@pytest.mark.theorem("signed-hadamard")
@pytest.mark.parametrize("width", [0, 2, 4, 8])
def test_without_noise_every_threshold_is_right(width):
    truth = np.random.default_rng(1).dirichlet(np.ones(16))
    answers = noiseless(Ranges(cells=16, epsilon=1, branching=width), truth)
    assert answers.thresholds() == pytest.approx(truth.cumsum())
    assert answers.range(3, 9).share == pytest.approx(truth[3:10].sum())
    assert answers.quantile("0.5").cell == int(np.searchsorted(truth.cumsum(), 0.5))


@pytest.mark.parametrize("width", [0, 4])
def test_weights_are_those_of_the_decoding(width):
    plan = Ranges(cells=16, epsilon=1, branching=width)
    base = noiseless(plan, np.full(16, 1 / 16))
    for number, level in enumerate(base.levels):
        for node in range(0, len(level.shares), 1 if width else 2):
            moved = level.shares.copy()
            moved[node] += 1
            if not width:
                moved[node + 1] -= 1
            levels = list(base.levels)
            levels[number] = level._replace(shares=moved)
            other = RangeEstimates(plan=plan, levels=tuple(levels))
            change = other.thresholds() - base.thresholds()
            weights = [plan.weights(threshold)[number][node] for threshold in range(16)]
            assert change == pytest.approx(weights, abs=1e-12)


@pytest.mark.theorem("weighted-shares")
@pytest.mark.parametrize("width", [0, 4])
def test_ranges_and_quantiles_are_covered_as_often_as_stated(width):
    plan, people, runs = Ranges(cells=16, epsilon=1, branching=width), 2000, 60
    truth = np.random.default_rng(7).dirichlet(np.ones(16))
    generator, words = np.random.default_rng(8), stream(f"ranges, {width}")
    hits, narrow, quantiles = 0, 0, 0
    share, middle = truth[2:7].sum(), int(np.searchsorted(truth.cumsum(), 0.5))
    for _ in range(runs):
        values = plan.codes(generator.choice(16, people, p=truth))
        answers = plan.estimates(plan.record.tally(plan.record.run_each(values, entropy=words)))
        found = answers.range(2, 6)
        hits += found.low <= share <= found.high
        sums = answers.thresholds()
        estimate, reach = sums[6] - sums[1], 0.4 * 1.96 * answers._deviation(2, 6, "population")
        narrow += abs(estimate - share) <= reach
        median = answers.quantile("0.5")
        quantiles += median.low <= middle <= median.high
    assert stats.binom.cdf(hits, runs, 0.95) > 1e-6
    assert stats.binom.cdf(quantiles, runs, 0.95) > 1e-6
    assert stats.binom.cdf(narrow, runs, 0.95) < 1e-6


@pytest.mark.parametrize("width", [0, 4])
def test_a_table_of_cells_is_made_of_ranges_of_one_cell(width):
    plan, people = Ranges(cells=16, epsilon=1, branching=width), np.arange(16).repeat(50)
    words = stream(f"cells, {width}")
    tally = plan.record.tally(plan.record.run_each(plan.codes(people), entropy=words))
    answers = plan.estimates(tally)
    table = answers.table(confidence="0.9", target="reported")
    for cell, row in enumerate(table):
        alone = answers.range(cell, cell, confidence="0.9", target="reported")
        assert row[1:] == pytest.approx(tuple(alone))
    assert not table.biased
    assert table.shares.min() < 0  # unbiased, and not clipped
    assert table.shares.sum() == pytest.approx(1)
    clipped = answers.table(consistent="simplex")
    assert clipped.biased
    assert clipped.shares == pytest.approx(project(table.shares))
    for other in ("raw", "likelihood", "posterior", "clip"):
        with pytest.raises(WrongKind):
            answers.table(consistent=other)


def test_who_is_asked_about_a_level_is_drawn_and_counts_as_error():
    plan, runs, people = Ranges(cells=16, epsilon=6), 150, np.arange(16).repeat(60)
    hits, words = {1.0: 0, 0.0: 0}, stream("who is asked")
    for _ in range(runs):
        codes = plan.codes(people)
        answers = plan.estimates(plan.record.tally(plan.record.run_each(codes, entropy=words)))
        sums = answers.thresholds()
        error = abs(sums[8] - sums[2] - 6 / 16)
        hits[1.0] += error <= 1.96 * answers._deviation(3, 8, "reported")
        blind = 0.0  # the mutant: noise alone
        for level, high, low in zip(answers.levels, plan.weights(8), plan.weights(2), strict=True):
            own = sum_variance(high - low, level.shares, level.coins, "reported")
            blind += own / level.people
        hits[0.0] += error <= 1.96 * blind**0.5
    assert stats.binom.cdf(hits[1.0], runs, 0.95) > 1e-6
    assert stats.binom.cdf(hits[0.0], runs, 0.95) < 1e-6


@pytest.mark.parametrize(
    "arguments",
    [
        {"cells": 1},
        {"cells": 16, "branching": 1},
        {"cells": 12, "branching": 0},
        {"cells": 1 << 13},
        {"cells": 16, "epsilon": 0},
    ],
)
def test_trees_that_do_not_exist_are_refused(arguments):
    with pytest.raises(DiscreetError):
        Ranges(**({"epsilon": 1} | arguments))


def test_a_level_without_reports_is_refused():
    plan = Ranges(cells=16, epsilon=1)
    nobody = plan.record.tally(plan.record.run_each(np.empty(0, np.int64)))
    with pytest.raises(DiscreetError):
        plan.estimates(nobody)


# A node and a side in one sign


@pytest.mark.theorem("signed-hadamard")
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_a_signed_report_estimates_the_difference_of_two_sides(nodes):
    oracle = SignedHadamard(epsilon=1, values=2 * nodes)
    p, q = oracle.exact_chances()
    for code in range(2 * nodes):
        law = oracle.reference_pmf(code)
        assert sum(chance.low for chance in law.values()) == 1
        mean = [Fraction(0)] * nodes
        for report, chance in law.items():
            one = oracle.tally(np.array([report], np.uint8))
            sides = oracle.supports(one)
            for node in range(nodes):
                mean[node] += chance.low * (int(sides[2 * node]) - q) / (p - q)
        expected = [Fraction((node == code >> 1) * (1 - 2 * (code & 1))) for node in range(nodes)]
        assert mean == expected
    worst = max(
        here.low / there.low
        for a in range(2 * nodes)
        for b in range(2 * nodes)
        for here, there in zip(
            dict(sorted(oracle.reference_pmf(a).items())).values(),
            dict(sorted(oracle.reference_pmf(b).items())).values(),
            strict=True,
        )
    )
    assert Fraction("2.71828182845") < worst < Fraction("2.7182818284590452354")
    assert oracle.loss().epsilon(delta=0) == 1
