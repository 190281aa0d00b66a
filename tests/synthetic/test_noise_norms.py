"""Quantiles of the noise of whole marginals, against the exact law of the norm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.continual.sum_tails import Law
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.synthetic.report.marginal_bounds import cell_noise, noise_norm

LAWS = (
    DiscreteGaussian(variance=Fraction(1, 2)),
    DiscreteGaussian(variance=3),
    DiscreteGaussian(variance=20),
    DiscreteGaussian(variance=400),
    DiscreteLaplace(scale=Fraction(1, 2)),
    DiscreteLaplace(scale=6),
)
SHAPES = ((1, 1), (2, 1), (8, 1), (40, 1), (4, 2), (6, 8))
"""How many cells, and how many draws in each."""


def chances(law: Law, half: int) -> np.ndarray:
    """Return P[Z = k] for |k| <= half, by the formula of the law."""
    k = np.arange(-half, half + 1, dtype=np.float64)
    if isinstance(law, DiscreteLaplace):
        weights = np.exp(-np.abs(k) / float(law.scale))
    else:
        weights = np.exp(-(k**2) / (2 * float(law.variance)))
    return weights / weights.sum()


def norm_law(law: Law, cells: int, draws: int) -> np.ndarray:
    """Return the law of the norm, by adding up draws and then distances."""
    spread = float(law.moments().variance.high) ** 0.5
    half = int(40 * spread) + 30
    one = chances(law, half)
    total = one
    for _ in range(draws - 1):
        total = np.convolve(total, one)
    middle = len(total) // 2
    folded = np.append(total[middle], 2 * total[middle + 1 :])
    size = int(np.ceil((cells * 2 + 40) * spread * draws**0.5 * 2)) + 40 * cells
    folded = np.pad(folded, (0, max(0, size - len(folded))))[:size]
    ring = 1 << (size * 2 - 1).bit_length()
    found = np.fft.irfft(np.fft.rfft(folded, ring) ** cells, ring)
    return np.asarray(np.clip(found[:size], 0, None))


def beyond(law: Law, cells: int, draws: int, bound: float) -> float:
    """Return the chance that the norm exceeds a bound."""
    return float(norm_law(law, cells, draws)[int(np.floor(bound)) + 1 :].sum())


@pytest.mark.theorem("noise-norm")
@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 10**6)])
def test_the_norm_exceeds_its_quantile_as_rarely_as_is_said(law: Law, missed: Fraction) -> None:
    """The exact law of the norm has no more than the chance beyond the bound, to rounding."""
    for cells, draws in SHAPES:
        bound = noise_norm(law, cells=cells, draws=draws, missed=missed)
        assert beyond(law, cells, draws, bound) <= float(missed) + 1e-12


@pytest.mark.parametrize("law", LAWS[2:4], ids=repr)
def test_bounds_are_not_much_larger_than_they_have_to_be(law: Law) -> None:
    """A mutant with seven tenths of the norm misses far too often: the bound is near the truth."""
    missed = Fraction(1, 20)
    for cells, draws in SHAPES:
        bound = noise_norm(law, cells=cells, draws=draws, missed=missed)
        assert beyond(law, cells, draws, 0.7 * bound) > float(missed)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_one_cell_is_within_its_half_width(law: Law) -> None:
    """The sum of some draws is beyond the half-width as rarely as is said."""
    for draws in (1, 2, 9):
        half = cell_noise(law, missed=Fraction(1, 100), draws=draws)
        assert beyond(law, 1, draws, half) <= 0.01 + 1e-12
        assert beyond(law, 1, draws, 0.6 * half - 1) > 0.01 or half <= 3
