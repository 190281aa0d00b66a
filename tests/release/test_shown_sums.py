"""Intervals of groups that were shown by what their noisy coordinates add up to."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.aggregates.noisy_totals import Noisy, joined_totals, shown_confidences
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.noise_errors import half_width
from discreet.plan.pricing.group_sensitivity import UNITS, Noise
from discreet.plan.pricing.linear_strategy import Chain
from discreet.plan.workload.simplex import SimplexWorkload


@pytest.mark.theorem("shown-sums")
@pytest.mark.parametrize("noise", [Laplace(scale=5), Gaussian(sigma=7)], ids=str)
@pytest.mark.parametrize("confidence", [Fraction(4, 5), Fraction(19, 20)])
def test_intervals_of_shown_groups_hold(noise, confidence):
    """Exactly, for the first of two coordinates, in groups of all sizes near the threshold."""
    chains = (Chain(counts=(UNITS, "count")),)
    workload = SimplexWorkload(measure="parts", chains=chains, rows=4)
    (far, _), *_ = workload.candidates(1, None)
    keys = workload.selection(1, 1).by(
        [Noise(measure="parts", mechanism=noise, distances=far)], Fraction(1, 10**6)
    )
    radius = 110
    once = np.array([noise.law.pmf(k) for k in range(-radius, radius + 1)])
    drawn = np.stack(np.meshgrid(*2 * [np.arange(-radius, radius + 1)], indexing="ij"), axis=-1)
    law = np.outer(once, once).ravel()
    for units in range(1, 2 * keys.smallest("0.5"), 2):
        points = (drawn + 2 * units).reshape(-1, 2)
        shown = points.sum(axis=1) >= keys.threshold
        total = joined_totals(far.cells, noise, points[shown].ravel(), keys)
        noisy = Noisy(size=int(shown.sum()), keys=(), totals=total, chosen=())
        missed = 0.0
        for kind, sure in shown_confidences(noisy, confidence):
            reach = float(half_width(((Fraction(1), noise),), sure))
            off = abs(points[shown][:, 0] - 2 * units) > reach
            missed += law[shown][kind & off].sum()
        assert missed <= (1 - confidence) * (1 + 1e-9)
        if law[shown].sum() >= 0.5:
            assert missed <= (1 - confidence) * law[shown].sum() * (1 + 1e-9)
