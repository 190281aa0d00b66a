"""Geometric noise inside a range: clamping is free, renormalizing is not."""

import math
from fractions import Fraction

import pytest

from discreet.mechanisms import BoundedGeometric, Laplace, TruncatedGeometric

F = Fraction


@pytest.mark.theorem("truncated-geometric")
def test_the_matrix_of_the_literature():
    """Interior (1 - a)/(1 + a) a**|i - j|, ends a**|i - j| / (1 + a)."""
    a = math.exp(-0.5)
    vote = TruncatedGeometric(scale=2, low=0, high=10)
    for i in (0, 3, 10):
        law = vote.reference_pmf(i)
        for j, chance in law.items():
            share = 1 / (1 + a) if j in {0, 10} else (1 - a) / (1 + a)
            assert chance.nearest() == pytest.approx(share * a ** abs(i - j), rel=1e-12)


@pytest.mark.theorem("truncated-geometric")
@pytest.mark.parametrize(
    ("epsilon", "worst"),
    [(F(1, 2), (1.761511, 5.616988, 0.755081)), (F(1), (0.845185, 1.771606, 0.537883))],
)
def test_the_worst_costs_of_clamped_noise_on_eleven_counts(epsilon, worst):
    vote = TruncatedGeometric(scale=1 / epsilon, low=0, high=10)
    costs = [lambda d: d, lambda d: d * d, lambda d: d != 0]
    for cost, expected in zip(costs, worst, strict=True):
        found = max(
            sum(chance.nearest() * cost(abs(y - x)) for y, chance in vote.reference_pmf(x).items())
            for x in range(11)
        )
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.theorem("truncated-geometric")
def test_clamping_changes_no_loss():
    vote = TruncatedGeometric(scale=2, low=0, high=10)
    for distance in (1, 3, 10):
        assert vote.loss(distance=distance) == Laplace(scale=2).loss(distance=distance)
    assert vote.loss(distance=50) == vote.loss(distance=10)  # no two inputs are farther apart


@pytest.mark.theorem("bounded-geometric")
@pytest.mark.parametrize(
    ("epsilon", "true"), [(F(1, 10), 0.191), (F(1, 2), 0.832), (F(1), 1.490), (F(2), 2.623)]
)
def test_renormalizing_nearly_doubles_the_loss(epsilon, true):
    """In the limit of a fine unit and a wide range: epsilon + ln(2 - exp(-epsilon))."""
    unit = 500
    vote = BoundedGeometric(scale=unit / epsilon, low=0, high=60_000)
    found = vote.loss(distance=unit).epsilon(delta=0)
    limit = float(epsilon) + math.log(2 - math.exp(-epsilon))
    assert limit == pytest.approx(true, abs=6e-4)
    assert found == pytest.approx(limit, abs=5e-3)


@pytest.mark.theorem("bounded-geometric")
@pytest.mark.parametrize("scale", [F(1, 2), F(2), F(9)])
@pytest.mark.parametrize("high", [1, 2, 7])
def test_the_loss_is_the_largest_ratio(scale, high):
    vote = BoundedGeometric(scale=scale, low=0, high=high)
    laws = [vote.reference_pmf(x) for x in range(high + 1)]
    for distance in range(1, high + 1):
        ratio = max(
            laws[x][y].high / laws[z][y].low
            for x in range(high + 1)
            for z in range(high + 1)
            for y in range(high + 1)
            if abs(x - z) <= distance
        )
        claim = vote.loss(distance=distance).epsilon(delta=0)
        assert claim == pytest.approx(math.log(ratio), abs=1e-12)


@pytest.mark.parametrize("kind", [TruncatedGeometric, BoundedGeometric])
def test_a_range_of_one_loses_nothing(kind):
    sure = kind(scale=2, low=3, high=3)
    assert sure.run(3) == 3
    assert sure.loss(distance=5).epsilon(delta=0) == 0
    assert sure.error(confidence=0.99) == 0


@pytest.mark.parametrize("kind", [TruncatedGeometric, BoundedGeometric])
@pytest.mark.parametrize("high", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("confidence", [F(1, 2), F(9, 10), F(99, 100)])
def test_errors_are_exact_at_every_width(kind, high, confidence):
    vote = kind(scale=3, low=0, high=high)

    def worst(r):
        return min(
            sum(chance.low for y, chance in vote.reference_pmf(x).items() if abs(y - x) <= r)
            for x in range(high + 1)
        )

    reach = vote.error(confidence=confidence)
    assert worst(reach) >= confidence - F(1, 10**15)
    assert reach == 0 or worst(reach - 1) < confidence
