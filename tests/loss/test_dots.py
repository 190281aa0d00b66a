from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.loss.dots import dotted_pair, sampled_points


def stick(pair, ratio):
    return sum(
        (max(p - ratio * q, Fraction(0)) for p, q in zip(pair.p, pair.q, strict=True)), Fraction(0)
    )


@st.composite
def laws(draw):
    weights = st.lists(st.integers(0, 9), min_size=2, max_size=6)
    p = draw(weights.filter(any))
    q = draw(st.lists(st.integers(0, 9), min_size=len(p), max_size=len(p)).filter(any))
    return [Fraction(x, sum(p)) for x in p], [Fraction(x, sum(q)) for x in q]


def profile(p, q, ratio):
    return sum((max(a - ratio * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


@pytest.mark.theorem("dots")
@given(laws(), st.lists(st.integers(2, 60), min_size=1, max_size=6, unique=True), st.integers(0, 3))
def test_the_pair_lies_above_and_meets_the_points(pq, tens, noise):
    p, q = pq

    def worst(ratio):
        return max(profile(p, q, ratio), profile(q, p, ratio))

    ratios = [Fraction(1), *(1 + Fraction(t, 10) for t in sorted(tens))]
    points = [(r, worst(r) + Fraction(noise * (j % 2), 50)) for j, r in enumerate(ratios)]
    pair = dotted_pair(points)
    assert sorted(pair.p) == sorted(pair.q)
    for ratio in (*ratios, *(r + Fraction(1, 7) for r in ratios), *(1 / r for r in ratios)):
        assert stick(pair, ratio) >= max(profile(p, q, ratio), profile(q, p, ratio))
    if noise == 0:
        assert all(stick(pair, r) <= bound for r, bound in points)


def test_points_end_where_nothing_is_left():
    points = sampled_points(lambda a: max(2 - a, Fraction(0)) / 4, 0.7)
    assert points[0] == (1, Fraction(1, 4))
    assert points[-1][0] >= 2
    assert points[-1][1] == 0
