"""Arguments that have no meaning are refused, each in one line."""

import math
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError
from discreet.loss import (
    Approximate,
    Bracket,
    Composition,
    GaussianDP,
    Pure,
    RenyiCurve,
    RenyiDP,
    Shuffle,
    ZeroConcentrated,
    gaussian_sigma,
    laplace_scale,
    least_scale,
)
from discreet.loss.amplification import sampled_group
from discreet.loss.finite import FinitePair
from discreet.loss.gaussian import DiscreteGaussianPair, GaussianPair, SmoothedGaussianPair
from discreet.loss.parameters import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_order,
    checked_rate,
)
from discreet.loss.poisson_sampling import Direction, SampledPair
from discreet.loss.pure_pairs import DiscreteLaplacePair

F = Fraction
ONE, HALF = F(1), F(1, 2)
GAUSSIAN = Composition(((GaussianPair(ONE), 1),))
MANY = [(F(1, prime), 0) for prime in (*range(2, 23), *range(101, 110))]
BAD = [
    *((checked_epsilon, (x,), {}) for x in (-1, 10**7, math.inf, math.nan, True, "one", None)),
    *((checked_delta, (x,), {}) for x in (-0.1, 1.5, math.nan)),
    *((checked_order, (x,), {}) for x in (1, 0.5)),
    *((checked_rate, (x,), {}) for x in (0, 1.01)),
    *((checked_count, (x,), {}) for x in (0, 1.0, 10**13)),
    *((Pure, (), {"epsilon": x}) for x in (-1, math.inf, math.nan, "one", None)),
    *((Approximate, (), {"epsilon": 1, "delta": x}) for x in (-0.1, 1.1, math.nan)),
    *((ZeroConcentrated, (), {"rho": x}) for x in (-1, math.inf)),
    *((GaussianDP, (), {"mu": x}) for x in (-1, math.nan)),
    (GaussianDP, (), {}),
    (GaussianDP, (), {"mu": 1, "mu_squared": 1}),
    (RenyiDP, (), {"orders": (1,), "values": (1,)}),
    (RenyiDP, (), {"orders": (4, 2), "values": (1, 1)}),
    (RenyiDP, (), {"orders": (2,), "values": (1, 1)}),
    (RenyiDP, (), {"orders": (), "values": ()}),
    (RenyiDP, (), {"orders": (2,), "values": (-1,)}),
    (RenyiCurve, (), {"orders": (ONE,), "values": (ONE,)}),
    (RenyiCurve, (), {"orders": (F(3), F(2)), "values": (ONE, ONE)}),
    (RenyiCurve, (), {"orders": (F(3),), "values": ()}),
    (RenyiCurve, (), {"rho": F(-1)}),
    *((Shuffle, (), {"epsilon": 1, "population": x}) for x in (1, 10**7, 2.5)),
    (Shuffle, (), {"epsilon": -1, "population": 10}),
    *((Bracket, ends, {}) for ends in ((2.0, 1.0), (math.nan, 1.0), (0.0, math.nan))),
    (FinitePair, ((HALF,), (HALF,)), {}),
    (DiscreteLaplacePair, (ONE, 0), {}),
    (DiscreteGaussianPair, (F(0), 1), {}),
    *(
        (SmoothedGaussianPair, tuple(map(F, numbers)), {})
        for numbers in ((0, 0, 1), (1, 2, 1), (1, 0, 0), (1, -1, 1))
    ),
    (SampledPair, (GAUSSIAN, F(2), Direction.ADD), {}),
    (Composition, (((GaussianPair(ONE), -1),),), {}),
    (GAUSSIAN.delta, (math.nan,), {}),
    (GAUSSIAN.epsilon, (-1,), {}),
    (GAUSSIAN.epsilon, (2,), {}),
    (sampled_group, ([], "0.1"), {}),
    (gaussian_sigma, (), {"epsilon": 1, "delta": 0}),
    (least_scale, (lambda _: Pure(epsilon=2),), {"epsilon": 1}),
    (least_scale, (lambda _: Pure(epsilon=0),), {"epsilon": 1}),
    (laplace_scale, (), {"epsilon": 0}),
]


@pytest.mark.parametrize(("call", "arguments", "named"), BAD)
def test_what_has_no_meaning_is_refused(call, arguments, named):
    with pytest.raises(DiscreetError) as caught:
        call(*arguments, **named)
    assert caught.value.what
