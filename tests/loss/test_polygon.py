"""Polygons above and below convex profiles."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.loss.composition import Composition
from discreet.loss.curved_pair import CompositionPair
from discreet.loss.polygon import Polygon, floor_under
from discreet.loss.pure_pairs import ResponsePair
from tests.loss.finite_laws import laws, of, profile


def values(p, q, x):
    return np.array([float(profile(p, q, Fraction(math.exp(e)))) for e in x])


def nodes(draw_from):
    return st.lists(draw_from, min_size=1, max_size=12, unique=True).map(
        lambda found: np.array(sorted({0.0, *found}))
    )


@pytest.mark.theorem("dots")
@given(laws(2), nodes(st.integers(1, 300).map(lambda k: k / 100)))
def test_chords_lie_above_and_floors_below(pq, x):
    p, q = pq
    exact = values(p, q, x)
    above, (below, sag) = Polygon.hull(x, exact), floor_under(x, exact, exact)
    dense = np.linspace(0.0, float(x[-1]), 97)
    truth = values(p, q, dense)
    assert (above.at(dense) >= truth - 1e-13).all()
    assert (below.at(dense) <= truth + 1e-13).all()
    assert (sag >= -1e-12).all()
    assert (above.at(x) <= exact + 1e-13).all()


@given(laws(2), nodes(st.integers(1, 300).map(lambda k: k / 100)))
def test_a_hull_is_convex(pq, x):
    hull = Polygon.hull(x, values(*pq, x) + 0.01 * np.sin(50 * x) ** 2)
    slopes = hull.slopes()
    assert (np.diff(slopes) <= 1e-9 * (1 + np.abs(slopes[1:]))).all()


def hockey(law, step, eps):
    x = (law.start + np.arange(len(law.mass))) * float(step)
    return float(law.mass @ np.maximum(-np.expm1(eps - np.maximum(x, eps)), 0.0))


@pytest.mark.theorem("connect-the-dots")
@settings(max_examples=25)
@given(laws(2), st.sampled_from([Fraction(1, 3), Fraction(1, 10), Fraction(1, 77)]))
def test_polygons_on_a_lattice_enclose_the_profile(pq, step):
    p, q = pq
    pair = CompositionPair(of(p, q))
    above, below = pair.above(step), pair.below(step)
    for eps in np.linspace(-3.0, 3.0, 41):
        truth = float(profile(p, q, Fraction(math.exp(eps))))
        assert hockey(below, step, eps + below.drift) + below.infinite <= truth + 1e-13
        assert hockey(above, step, eps - above.drift) + above.infinite >= truth - 1e-13


def test_corners_on_the_lattice_stay_there():
    pair = CompositionPair(Composition.of(ResponsePair(Fraction(1))))
    for law in (pair.above(Fraction(1, 8)), pair.below(Fraction(1, 8))):
        where = law.start + np.flatnonzero(law.mass > 1e-6)
        assert list(where) == [-8, 8]
        assert law.mass[where[-1] - law.start] == pytest.approx(math.e / (1 + math.e), abs=1e-6)


def test_one_node_is_constant():
    assert Polygon(np.zeros(1), np.array([0.25])).at(np.array([3.0]))[0] == 0.25
