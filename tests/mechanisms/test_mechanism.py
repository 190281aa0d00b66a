"""Post-processing: the map of a mechanism costs what the mechanism costs."""

from fractions import Fraction

import pytest

from discreet.mechanisms import Gaussian, Laplace
from discreet_course.optimal import geometric_on_counts
from tests.mechanisms.contract import least_divergence
from tests.noise.laws import stream

VOTE = geometric_on_counts(largest=5, epsilon="1/2")
MAPS = [lambda y: y % 2, lambda y: y >= 3, lambda y: -y, lambda y: "same", lambda y: y // 2]


@pytest.mark.theorem("post-processing")
@pytest.mark.parametrize("function", MAPS)
def test_no_map_raises_the_divergence(function):
    mapped = VOTE.map(function)
    for x in range(6):
        for y in range(6):
            if x == y:
                continue
            loss = mapped.loss(distance=abs(x - y))
            p, q = mapped.reference_pmf(x), mapped.reference_pmf(y)
            for epsilon in (0, 0.3, 1.1):
                assert float(least_divergence(p, q, epsilon)) <= loss.delta(epsilon=epsilon) + 1e-15


@pytest.mark.theorem("post-processing")
def test_maps_may_follow_maps():
    twice = VOTE.map(lambda y: y // 2).map(lambda y: y == 0)
    assert twice.loss(distance=2) == VOTE.loss(distance=2)
    both = twice.reference_pmf(0)
    assert set(both) == {True, False}
    assert both[True].low <= sum(VOTE.reference_pmf(0)[y].high for y in (0, 1))
    assert twice.run(0, entropy=stream("twice")) in {True, False}


@pytest.mark.theorem("post-processing")
def test_a_known_stretch_gives_the_error():
    for mechanism in (Laplace(scale=3), Gaussian(sigma=3)):
        tenth = mechanism.map(lambda y: Fraction(y, 10), stretch="1/10")
        assert tenth.error(confidence=0.9) == Fraction(mechanism.error(confidence=0.9), 10)


def test_the_function_sees_the_answer_and_nothing_else():
    assert Laplace(scale=3).map(lambda y: y).run(7, entropy=stream("same")) == Laplace(scale=3).run(
        7, entropy=stream("same")
    )
