"""Intervals hold the numbers without noise as often as they say.

Coverage is counted over many groups with the same totals; every count has a false-alarm rate of at
most 1e-6, and each kind of interval has a mutant, narrower by little, that is noticed.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.aggregates import mean as ratios
from discreet.aggregates.count import Count
from discreet.aggregates.mean import Mean
from discreet.aggregates.noisy_totals import Intervals, Noisy, NoisyTotal, Run, joined_totals
from discreet.aggregates.sum import Sum
from discreet.aggregates.variance import Variance, variance_range
from discreet.mechanisms import Gaussian, Laplace, NoisyKeys
from discreet.plan.noise_errors import coordinate_confidence
from discreet.plan.pricing.linear_strategy import Chain
from discreet.plan.workload.simplex import SimplexWorkload
from discreet.query.types import Type
from discreet.requests.raw_totals import RawTotals
from tests.noise.laws import stream
from tests.release.draws import CONFIDENCES, LAWS, drawn, enough, held, interval_of, lowered

GROUPS = 20_000
C95 = Fraction(19, 20)


def known(noisy, confidence=C95, **bounds):
    return Intervals(lowered(**bounds), noisy, confidence)


@pytest.mark.theorem("weighted-noise-reach")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("truth", [0, 3, 10**6])
def test_counts_are_held_and_end_at_zero(law, confidence, truth):
    mechanism = LAWS[law](4)
    noisy = drawn({"n": truth}, {"n": mechanism}, groups=GROUPS)
    ends = interval_of(Count("n"), known(noisy, confidence, n=(0, 3)))
    assert enough(held(ends, truth), GROUPS, confidence)
    assert ends[0].min() >= 0
    assert (ends[0] <= ends[1]).all()
    narrow = noisy.totals["n"].exact().nearest()
    far = float(mechanism.error(confidence=confidence))
    if truth == 10**6:
        assert (ends[0] == narrow - far).all()
        assert not enough(held((ends[0] + 1, ends[1] - 1), truth), GROUPS, confidence)


def test_numbers_of_units_and_sums_know_their_signs():
    noisy = drawn(
        {"units": 0, "s": 0, "t": 0},
        dict.fromkeys(("units", "s", "t"), Laplace(scale=5)),
        groups=200,
    )
    box = known(noisy, s=(-9, 0), t=(-9, 9))
    assert interval_of(Count(), box)[0].min() == 0
    assert interval_of(Sum(measure="s", step=Fraction(1, 2)), box)[1].max() == 0
    assert interval_of(Sum(measure="t", step=Fraction(1, 2)), box)[0].min() < 0


SUM = Sum(measure="s", step=Fraction(1, 2**10), center=Fraction(50), count="n")


@pytest.mark.theorem("weighted-noise-reach")
@pytest.mark.parametrize(
    ("one", "other"), [("laplace", "gaussian"), ("gaussian", "gaussian"), ("laplace", "laplace")]
)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_centered_sums_are_held(one, other, confidence):
    mechanisms = {"s": LAWS[one](90 * 2**10), "n": LAWS[other](3)}
    noisy = drawn({"s": -5 * 2**10, "n": 200}, mechanisms, groups=GROUPS)
    ends = interval_of(SUM, known(noisy, confidence, s=(-9, 9), n=(0, 1)))
    truth = -5 + 50 * 200
    count = held(ends, truth)
    assert enough(count, GROUPS, confidence)
    assert count < GROUPS * (float(confidence) + 0.02)  # and hardly wider than needed
    less = 0.05 * (ends[1] - ends[0])
    assert not enough(held((ends[0] + less, ends[1] - less), truth), GROUPS, confidence)


MEAN = Mean(
    measure="s",
    count="n",
    step=Fraction(1, 2**10),
    center=Fraction(50),
    low=Fraction(0),
    high=Fraction(100),
)


def means(law, rows, theta, groups=GROUPS, label="means"):
    mechanisms = {"s": LAWS[law](100 * 2**10), "n": LAWS[law](2)}
    return drawn({"s": theta * rows * 2**10, "n": rows}, mechanisms, groups=groups, label=label)


@pytest.mark.theorem("ratio-interval")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize(
    ("rows", "theta"), [(1, 20), (5, -50), (30, 30), (300, 10), (300, 49), (3000, 0)]
)
def test_means_are_held(law, confidence, rows, theta):
    noisy = means(law, rows, theta)
    ends = interval_of(MEAN, known(noisy, confidence, s=(-9, 9), n=(0, 1)))
    assert enough(held(ends, 50 + theta), GROUPS, confidence)
    assert ends[0].min() >= 0
    assert ends[1].max() <= 100
    value = MEAN.value(Type.FLOAT, noisy)
    assert ((ends[0] <= value) & (value <= ends[1])).all()
    if rows >= 300:
        less = 0.06 * (ends[1] - ends[0])
        assert not enough(held((ends[0] + less, ends[1] - less), 50 + theta), GROUPS, confidence)


@pytest.mark.theorem("ratio-interval")
@pytest.mark.parametrize("law", LAWS)
def test_means_are_narrower_than_the_box(law):
    noisy = means(law, 300, 30, groups=2000)
    box = known(noisy, s=(-9, 9), n=(0, 1))
    alone = interval_of(MEAN, box)
    wide = MEAN.range(box, box.box(("s", "n")))
    assert (alone[1] - alone[0]).mean() < 0.8 * (wide[1] - wide[0]).mean()


@pytest.mark.theorem("ratio-interval")
def test_the_search_finds_the_ends_of_the_definition():
    """Compare with trying many theta, one after the other."""
    noisy = means("laplace", 4, 20, groups=60)
    total, count = noisy.totals["s"], noisy.totals["n"]
    edges, reached = ratios._cells(MEAN, total, count, C95)
    sums, rows = total.exact().nearest() / 2**10, count.exact().nearest()
    low, high = ratios._Ratios(sums, rows, edges, reached).ends()
    theta = np.linspace(-50, 50, 20_001)

    def far(at):
        return reached[np.clip(np.searchsorted(edges, at) - 1, 0, reached.size - 1)]

    for at in range(60):
        inside = theta[np.abs(sums[at] - theta * rows[at]) <= far(theta)]
        if inside.size:
            assert low[at] <= inside[0] + 1e-9
            assert high[at] >= inside[-1] - 1e-9
        for end in (low[at], high[at]):  # allowed, up to rounding, or none is
            distance = abs(sums[at] - end * rows[at])
            assert np.isnan(end) or distance <= max(far(end - 1e-9), far(end + 1e-9)) + 1e-6


VARIANCE = Variance(
    mean=MEAN,
    squares="q",
    square_step=Fraction(1, 4),
    offset=Fraction(1250),
    sample=False,
    root=False,
)


def variances(rows, mean, spread, groups=GROUPS, size=1):
    mechanisms = {
        "s": Laplace(scale=60 * 2**10 * size),
        "n": Laplace(scale=2 * size),
        "q": Laplace(scale=4 * 1250 * size),
    }
    squares = int(4 * rows * (spread**2 + mean**2 - 1250))
    truths = {"s": mean * rows * 2**10, "n": rows, "q": squares}
    return drawn(truths, mechanisms, groups=groups, label="variances")


@pytest.mark.theorem("variance-interval")
@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize(
    ("rows", "mean", "spread"), [(2, 0, 0), (20, 30, 10), (400, -20, 25), (4000, 0, 50)]
)
def test_variances_are_held(root, sample, rows, mean, spread):
    estimator = Variance(
        mean=MEAN,
        squares="q",
        square_step=Fraction(1, 4),
        offset=Fraction(1250),
        sample=sample,
        root=root,
    )
    noisy = variances(rows, mean, spread)
    ends = interval_of(estimator, known(noisy, s=(-9, 9), n=(0, 1), q=(-9, 9)))
    truth = spread**2 * (rows / (rows - 1) if sample else 1)
    assert enough(held(ends, truth**0.5 if root else truth), GROUPS, C95)
    value = estimator.value(Type.FLOAT, noisy)
    assert ((ends[0] <= value) & (value <= ends[1])).all()
    assert ends[0].min() >= 0
    if rows >= 400:
        less = 0.15 * (ends[1] - ends[0])
        inner = ends[0] + less, ends[1] - less
        assert not enough(held(inner, truth**0.5 if root else truth), GROUPS, C95)
        box = known(noisy, s=(-9, 9), n=(0, 1), q=(-9, 9))
        wide = estimator.range(box, box.box(estimator.totals()))
        assert enough(held(wide, truth**0.5 if root else truth), GROUPS, C95)
        assert (ends[1] - ends[0]).mean() < 0.8 * (wide[1] - wide[0]).mean()


@pytest.mark.theorem("variance-box")
@pytest.mark.theorem("joint-box")
def test_the_range_of_a_variance_is_that_of_all_points_of_the_box():
    source = np.random.default_rng(3)
    for _ in range(200):
        rows = np.sort(source.uniform(1, 30, 2))
        sums, squares = np.sort(source.normal(0, 300, 2)), np.sort(source.normal(0, 4000, 2))
        box = [
            (np.array([low]), np.array([high])) for low, high in (rows, sums * 2**10, squares * 4)
        ]
        low, high = variance_range(VARIANCE, *box)
        n, s, q = (source.uniform(*ends, 3000) for ends in (rows, sums, squares))
        ends = [
            np.append(each, pair)
            for each, pair in zip((n, s, q), (rows, sums, squares), strict=True)
        ]
        n, s, q = (np.concatenate([end[:3000], source.choice(end[3000:], 3000)]) for end in ends)
        found = np.clip(1250 + q / n - (s / n) ** 2, 0, 2500)
        assert low[0] <= found.min() + 1e-9
        assert found.max() <= high[0] + 1e-9
        corners = np.clip(
            [
                1250 + q / n - (s / n) ** 2
                for n in np.linspace(*rows, 400)
                for s in (*sums, 0.0 if sums[0] < 0 < sums[1] else sums[0])
                for q in squares
            ],
            0,
            2500,
        )
        assert low[0] == pytest.approx(corners.min(), abs=1e-6)
        assert high[0] == pytest.approx(corners.max(), rel=1e-3, abs=1e-6)


KEYS = NoisyKeys(noise=Laplace(scale=2), threshold=12, groups=1, relation="add_remove")


@pytest.mark.theorem("joint-box")
@pytest.mark.parametrize("units", [1, 8, 12, 40])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_numbers_of_units_that_showed_their_group_are_held(units, confidence):
    shown = KEYS.run(np.full(200_000, units), entropy=stream("keys"))
    run = Run(values=shown.counts, mechanism=KEYS.noise, keys=KEYS)
    noisy = Noisy(size=shown.counts.size, keys=(), totals={"units": NoisyTotal((run,))}, chosen=())
    ends = interval_of(Count(), known(noisy, confidence))
    assert enough(held(ends, units), noisy.size, confidence)
    plain = noisy.totals["units"].exact().nearest()
    far = float(KEYS.noise.error(confidence=confidence))
    if units == 8 and confidence == C95:  # noise alone would say too little
        assert not enough(held((plain - far, plain + far), units), noisy.size, confidence)


@pytest.mark.theorem("joint-box")
def test_a_box_holds_all_of_its_totals_at_once():
    mechanisms = {"a": Laplace(scale=3), "b": Gaussian(sigma=4), "c": Laplace(scale=9)}
    noisy = drawn({"a": 100, "b": 200, "c": 300}, mechanisms, groups=GROUPS)
    box = known(noisy, a=(-1, 1), b=(-1, 1), c=(-1, 1)).box(("a", "b", "c"))
    inside = [
        (box[name][0] <= truth) & (truth <= box[name][1])
        for name, truth in (("a", 100), ("b", 200), ("c", 300))
    ]
    together = int(np.logical_and.reduce(inside).sum())
    assert enough(together, GROUPS, C95)
    single = known(noisy, a=(-1, 1), b=(-1, 1), c=(-1, 1))
    apart = [single.box((name,))[name] for name in ("a", "b", "c")]
    lone = np.logical_and.reduce(
        [(e[0] <= t) & (t <= e[1]) for e, t in zip(apart, (100, 200, 300), strict=True)]
    )
    assert not enough(int(lone.sum()), GROUPS, C95)  # each for itself is not all of them


@pytest.mark.theorem("joint-box")
def test_a_count_that_showed_its_group_shares_the_confidence_too():
    counts = np.array([12, 15, 40])
    total = NoisyTotal((Run(values=counts, mechanism=KEYS.noise, keys=KEYS),))
    for coordinates in (1, 2, 3):
        each = coordinate_confidence(C95, coordinates)
        low, high = total.interval(C95, coordinates)
        expected = KEYS.intervals(counts, confidence=each.high)
        assert low.tolist() == expected[0].tolist()
        assert high.tolist() == expected[1].tolist()
    assert (total.interval(C95, 3)[1] > total.interval(C95)[1]).all()


def test_a_thresholded_count_in_a_sum_and_a_mean():
    shown = KEYS.run(np.full(100_000, 20), entropy=stream("sum"))
    size = shown.counts.size
    counted = NoisyTotal((Run(values=shown.counts, mechanism=KEYS.noise, keys=KEYS),))
    mechanism = Laplace(scale=90 * 2**10)
    values = mechanism.run(np.full(size, 20 * 10 * 2**10), entropy=stream("values"))
    totals = {"n": counted, "s": NoisyTotal((Run(values=values, mechanism=mechanism),))}
    noisy = Noisy(size=size, keys=(), totals=totals, chosen=())
    box = known(noisy, s=(-9, 9), n=(0, 1))
    assert enough(held(interval_of(SUM, box), 20 * 60), size, C95)
    assert enough(held(interval_of(MEAN, box), 60), size, C95)


@pytest.mark.theorem("peaked-reach")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("rows", "theta"), [(30, 30), (300, 49)])
def test_means_of_combined_totals_are_held(law, rows, theta):
    first, second = (means(law, rows, theta, label=label) for label in ("one", "two"))
    third = Fraction(1, 3)
    totals = {
        name: NoisyTotal(
            tuple(
                Run(values=run.values, mechanism=run.mechanism, weight=weight)
                for part, weight in ((first, third), (second, 1 - third))
                for run in part.totals[name].runs
            )
        )
        for name in ("s", "n")
    }
    noisy = Noisy(size=GROUPS, keys=(), totals=totals, chosen=())
    ends = interval_of(MEAN, known(noisy, s=(-9, 9), n=(0, 1)))
    assert enough(held(ends, 50 + theta), GROUPS, C95)
    once = interval_of(MEAN, known(first, s=(-9, 9), n=(0, 1)))
    assert (ends[1] - ends[0]).mean() < (once[1] - once[0]).mean()


@pytest.mark.parametrize(
    ("row", "drawn", "ends"),
    [
        ((0, 1), -100, (0, 6)),
        ((0, 1), -7, (0, 6)),
        ((0, 1), -3, (0, 6)),
        ((0, 1), 4, (0, 10)),
        ((0, 1), 9, (3, 15)),
        ((-1, 0), 100, (-6, 0)),
        ((-1, 0), 2, (-6, 0)),
        ((-1, 1), -100, (-106, -94)),
    ],
)
def test_unlikely_noise_makes_no_interval_short(row, drawn, ends):
    """Zero plus or minus nothing would be read as certain."""
    run = Run(values=np.array([drawn]), mechanism=Laplace(scale=2))  # off by six at most
    noisy = Noisy(size=1, keys=(), totals={"n": NoisyTotal((run,))}, chosen=())
    low, high = known(noisy, n=row).box(("n",))["n"]
    assert (low.item(), high.item()) == ends


CHAIN = Chain(counts=("n",), total="s", low=-(2**8), high=2**8)
TWO = (CHAIN, Chain(counts=("n",), total="t", low=-3, high=3))
SHARED_MEAN = Mean(
    measure="s",
    count="n",
    step=Fraction(50, 2**8),
    center=Fraction(50),
    low=Fraction(0),
    high=Fraction(100),
)


def corners(chains, law, rows, mean):
    """Draw sums and counts that share noise: rows whose deviations from the middle add up."""
    strategy = SimplexWorkload(measure="parts", chains=chains, rows=3).strategy
    total = round((mean - 50) * rows * 2**8 / 50)
    raw = RawTotals(
        keys=(),
        units=np.array([rows]),
        totals={"n": np.array([rows]), "s": np.array([total]), "t": np.array([rows])},
        leaves={},
    )
    exact = np.tile(strategy.read(raw, np.array([0])), GROUPS)
    mechanism = LAWS[law](2 * strategy.unit)
    values = mechanism.run(exact, entropy=stream("corners"))
    totals = joined_totals(strategy, mechanism, values)
    truth = 50 + total * 50 / 2**8 / rows
    return Noisy(size=GROUPS, keys=(), totals=totals, chosen=()), truth


@pytest.mark.theorem("peaked-reach")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("chains", [(CHAIN,), TWO], ids=len)
@pytest.mark.parametrize(("rows", "mean"), [(300, 50), (300, 97), (40, 5), (3, 0), (3000, 70)])
def test_sums_counts_and_means_that_share_noise_are_held(law, chains, rows, mean):
    noisy, truth = corners(chains, law, rows, mean)
    box = known(noisy, C95, s=(-(2**8), 2**8), n=(0, 1))
    ends = interval_of(SHARED_MEAN, box)
    count = held(ends, truth)
    assert enough(count, GROUPS, C95)
    wide = Sum(measure="s", step=Fraction(50, 2**8), center=Fraction(50), count="n")
    sums = interval_of(wide, box)
    assert enough(held(sums, truth * rows), GROUPS, C95)
    assert enough(held(interval_of(Count("n"), box), rows), GROUPS, C95)
    if rows >= 300:  # and hardly wider than needed
        assert count < GROUPS * 0.97
        assert held(sums, truth * rows) < GROUPS * 0.96
        less = 0.07 * (ends[1] - ends[0])
        assert not enough(held((ends[0] + less, ends[1] - less), truth), GROUPS, C95)


@pytest.mark.theorem("variance-interval")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("chains", [(CHAIN,), TWO], ids=len)
@pytest.mark.parametrize(("rows", "mean", "spread"), [(3, 50, 0), (400, 20, 25), (3000, 60, 30)])
def test_variances_whose_mean_and_count_share_noise_are_held(law, chains, rows, mean, spread):
    noisy, mean = corners(chains, law, rows, mean)
    exact = round(4 * rows * (spread**2 + (mean - 50) ** 2 - 1250))
    squares = drawn({"q": exact}, {"q": LAWS[law](4 * 1250 * 2)}, groups=GROUPS, label="q")
    noisy = replace(noisy, totals={**noisy.totals, **squares.totals})
    estimator = replace(VARIANCE, mean=SHARED_MEAN)
    ends = interval_of(estimator, known(noisy, C95, s=(-(2**8), 2**8), n=(0, 1), q=(-9, 9)))
    truth = 1250 + exact / 4 / rows - (mean - 50) ** 2
    assert enough(held(ends, truth), GROUPS, C95)
    if rows >= 400:  # and hardly wider than needed
        less = 0.15 * (ends[1] - ends[0])
        assert not enough(held((ends[0] + less, ends[1] - less), truth), GROUPS, C95)


@pytest.mark.theorem("peaked-reach")
@pytest.mark.parametrize("weights", [(1, 1, 1), (3, 1, 0), (2, 2, 1), (5, 4, 3)])
def test_smaller_factors_reach_no_further(weights):
    """All sums of three noises of few values, exactly."""
    law = {-2: 1, -1: 2, 0: 4, 1: 2, 2: 1}

    def missed(factors, far):
        return sum(
            math.prod(law[each] for each in drawn)
            for drawn in itertools.product(law, repeat=3)
            if abs(sum(a * z for a, z in zip(factors, drawn, strict=True))) > far
        )

    for less in itertools.product(*(range(weight + 1) for weight in weights)):
        for far in range(2 * sum(weights) + 1):
            assert missed(less, far + sum(weights)) <= missed(weights, far)
