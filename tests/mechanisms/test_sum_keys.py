"""Groups chosen by what their noisy coordinates add up to: tails, leaks, and intervals."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.mechanisms import Gaussian, Laplace, SumKeys
from discreet.mechanisms.sum_keys import sum_tail

NOISES = [Laplace(scale=1), Laplace(scale=7), Gaussian(variance=3), Gaussian(variance="0.4")]


def law_of(noise, count, radius=400):
    one = np.array([noise.law.pmf(k) for k in range(-radius, radius + 1)])
    found = np.ones(1)
    for _ in range(count):
        found = np.convolve(found, one)
    return found, np.arange(found.size) - radius * count


@pytest.mark.theorem("sum-tail")
@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_no_tail_is_larger_than_its_bound_and_few_are_much_smaller(noise, count):
    law, at = law_of(noise, count)
    exact = np.cumsum(law[::-1])[::-1]
    for least in range(int(6 * noise.width * count**0.5) + 3):
        bound = float(sum_tail(noise, count, least))
        assert exact[at == least].item() <= bound * (1 + 1e-9)
        if noise.width >= 1 and least > 2 * count:
            assert bound <= exact[at == least - 2 * count].item() * 1.05


@pytest.mark.theorem("sum-keys")
@pytest.mark.parametrize("noise", [Laplace(scale=8), Gaussian(sigma=9)], ids=str)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_people_who_are_alone_are_seen_no_more_often_than_was_paid_for(noise, steps):
    """All of them in one group, or each in groups of its own."""
    keys = SumKeys.for_delta(
        delta="1e-4",
        noise=noise,
        coordinates=3,
        most=4,
        squared=16,
        groups=2,
        relation="add_remove",
        fewest=2,
    )
    law, at = law_of(noise, keys.coordinates, radius=250)

    def seen(units):  # added to a group of one
        return law[at >= keys.threshold - (keys.fewest - 1 + units) * keys.most].sum()

    together = 1 - (1 - seen(steps)) ** keys.groups
    apart = 1 - (1 - seen(1)) ** (keys.groups * steps)
    assert max(together, apart) <= float(keys.leak(steps=steps)) * (1 + 1e-9)
    if steps == 1:
        assert apart >= 1e-4 / 3  # and no more than a few steps of noise are given away


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(19, 20)])
def test_sums_are_off_by_no_more_than_the_error(confidence):
    keys = SumKeys(
        noise=Laplace(scale=3),
        threshold=20,
        coordinates=2,
        most=2,
        squared=4,
        groups=1,
        relation="add_remove",
    )
    law, at = law_of(keys.noise, 2)
    far = keys.error(confidence=confidence)
    for total in range(0, 3 * far, 2):
        off = np.where(total + at >= keys.threshold, abs(at), total)
        assert law[off > far].sum() <= 1 - confidence


@pytest.mark.parametrize(
    "wrong",
    [{"most": 0}, {"squared": 99}, {"coordinates": 0}, {"threshold": -1}, {"fewest": 2**61}],
)
def test_bad_numbers_are_refused(wrong):
    plan = {"threshold": 9, "coordinates": 2, "most": 4, "squared": 16, "groups": 1}
    with pytest.raises(DiscreetError):
        SumKeys(**{"noise": Laplace(scale=1), "relation": "add_remove", **plan, **wrong})


@pytest.mark.parametrize("points", [[[1]], [[1, 2, 3]], [1, 2], [[0.5, 1]]])
def test_bad_points_are_refused(points):
    keys = SumKeys(
        noise=Laplace(scale=1),
        threshold=9,
        coordinates=2,
        most=4,
        squared=16,
        groups=1,
        relation="add_remove",
    )
    with pytest.raises(DiscreetError):
        keys.run(points)
