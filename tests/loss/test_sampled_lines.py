"""Lines of sampled Gaussians: products of few sines are as exact as many sines are said to be."""

import mpmath
import numpy as np
import pytest

from discreet.loss import GaussianDP
from discreet.loss.poisson_sampling import SampledGaussianCumulants, _characteristic
from discreet.loss.rounding import UNIT


@pytest.mark.theorem("sampled-gaussian-quadrature")
@pytest.mark.parametrize("count", [1, 2, 3, 9, 10, 50])
@pytest.mark.parametrize("start", [0, 7])
def test_sums_of_products_are_those_of_forty_digits(count, start):
    rng = np.random.default_rng(count)
    values, weights = rng.normal(0, 9, 40), rng.random(40)
    weights /= weights.sum()
    heights = 0.75 * (start + np.arange(count))
    found = _characteristic(heights, values, weights)
    assert found.shape == heights.shape
    with mpmath.workdps(40):
        for height, sum_ in zip(heights.tolist(), found.tolist(), strict=True):
            terms = zip(values.tolist(), weights.tolist(), strict=True)
            right = mpmath.fsum(w * mpmath.expj(mpmath.mpf(height) * v) for v, w in terms)
            phases = UNIT * height * float(weights @ np.abs(values))
            assert abs(right - mpmath.mpc(sum_)) <= UNIT * (4 * 40 + 64) + phases


@pytest.mark.parametrize("sign", [1, -1])
def test_a_part_of_a_line_agrees_with_the_whole_line(sign):
    pair = SampledGaussianCumulants(0.1, 1.0, sign)
    whole, bounds = pair.line(0.5, 0.25, 200)
    part, others = pair.line(0.5, 0.25, 60)
    assert (np.abs(whole[:60] - part) <= bounds[:60] + others).all()


def test_few_steps_at_a_high_rate_need_no_outer_product():
    """A narrow bracket around what several million sines gave before."""
    bracket = GaussianDP(mu=1).sampled(rate="0.1").power(5).interval(delta="1e-5")
    assert bracket.low <= 2.3540786018
    assert bracket.high >= 2.3540785958
    assert bracket.width < 1e-7
