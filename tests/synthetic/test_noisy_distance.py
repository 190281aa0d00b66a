"""Bounds on distances behind noise: exact laws first, then coverage, and mutants that fail."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.noise import DiscreteGaussian, KeyedEntropy
from discreet.synthetic.report.marginal_bounds import noise_norm, noisy_distance

ALPHA = 1e-6
MISSED = Fraction(1, 5)
TRIALS = 400


def chances(variance: int) -> dict[int, float]:
    """The law of the noise, up to a mass below 1e-15."""
    reach = math.ceil(9 * math.sqrt(variance))
    weights = {z: math.exp(-(z**2) / (2 * variance)) for z in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


@pytest.mark.theorem("noisy-distance")
@pytest.mark.parametrize("differences", [(0,), (3,), (9,), (0, 0), (0, 5), (4, -4), (1, 12)])
@pytest.mark.parametrize("missed", [Fraction(1, 3), Fraction(1, 20), Fraction(1, 1000)])
def test_the_exact_chance_of_a_bound_that_fails(
    differences: tuple[int, ...], missed: Fraction
) -> None:
    """Add up the chances of all noise for which the bound is at or below the true distance."""
    law, variance = DiscreteGaussian(variance=9), 9
    truth, cells = sum(map(abs, differences)), len(differences)
    bounds: dict[int, float | None] = {}
    failed = 0.0
    for drawn in itertools.product(chances(variance).items(), repeat=cells):
        seen = sum(abs(d + z) for d, (z, _) in zip(differences, drawn, strict=True))
        if seen not in bounds:
            bounds[seen] = noisy_distance(law, seen=seen, cells=cells, missed=missed)
        bound = bounds[seen]
        if bound is not None and bound <= truth:
            failed += math.prod(chance for _, chance in drawn)
    assert failed <= float(missed) + 1e-12


def failures(claimed: int, *, fitted: bool = False) -> int:
    """Count trials in which the bound is not above the truth; noise has variance 100."""
    law, failed = DiscreteGaussian(variance=100), 0
    differences = np.repeat([0, 3, -8, 1], 10)
    for trial in range(TRIALS):
        entropy = KeyedEntropy(key=bytes(32), label=f"distance {trial}")
        noisy = differences + law.sample(differences.size, entropy)
        apart = noisy - noisy if fitted else noisy
        truth = np.abs(differences - (noisy if fitted else 0)).sum()
        bound = noisy_distance(
            DiscreteGaussian(variance=claimed),
            seen=float(np.abs(apart).sum()),
            cells=differences.size,
            missed=MISSED,
        )
        failed += bound is not None and bound <= truth
    return failed


def test_bounds_hold_as_often_as_they_say() -> None:
    assert failures(100) <= binom.isf(ALPHA, TRIALS, float(MISSED))


def test_more_noise_than_was_drawn_fails() -> None:
    assert failures(200) > binom.isf(ALPHA, TRIALS, float(MISSED))


def test_numbers_that_were_fitted_to_the_noise_fail() -> None:
    assert failures(100, fitted=True) > binom.isf(ALPHA, TRIALS, float(MISSED))


@pytest.mark.parametrize("cells", [8, 100, 1000])
def test_noise_is_not_counted_twice(cells: int) -> None:
    law, missed = DiscreteGaussian(variance=400), Fraction(1, 2000)
    seen = 20 * math.sqrt(2 / math.pi) * cells  # what noise alone shows, in the mean
    closer = noisy_distance(law, seen=seen, cells=cells, missed=missed)
    assert closer is not None
    assert closer < 0.85 * (seen + noise_norm(law, cells=cells, missed=missed))


def test_beyond_all_tables_nothing_is_said() -> None:
    law = DiscreteGaussian(variance=4)
    assert noisy_distance(law, seen=10**6, cells=3, missed=MISSED) is None
