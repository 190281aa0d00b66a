"""Twins of additive noise: too little of it, of the wrong kind, or twice the same.

Trust: public.  Nothing here may ever protect anybody.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from discreet.noise import DiscreteLaplace, Entropy, Uniform
from discreet_audit.twins.twin import Draw, Twin

Numbers = NDArray[Any]

_STEPS: Final = 5


def _laplace(scale: str) -> Draw:
    """Return what adds noise of a scale."""
    law = DiscreteLaplace(scale=scale)
    return lambda value, n, entropy: value + law.sample(n, entropy)


def float_laplace(value: float, n: int, entropy: Entropy) -> Numbers:
    """Add what textbooks call Laplace noise: a logarithm of a uniform float, with a sign."""
    uniform = (entropy.words(n, 53).astype(np.float64) + 1.0) * 2.0**-53
    sign = np.where(entropy.words(n, 1).astype(np.bool_), -1.0, 1.0)
    noisy: Numbers = value + sign * np.log(uniform)
    return noisy


def _renormalized(value: int, n: int, entropy: Entropy) -> Numbers:
    """Draw again until the answer is between 0 and 5: the chance of that depends on the value."""
    law = DiscreteLaplace(scale=1)
    draws = np.full(n, -1, np.int64)
    missing = np.arange(n)
    while missing.size:
        drawn = value + law.sample(missing.size, entropy)
        inside = (drawn >= 0) & (drawn <= _STEPS)
        draws[missing[inside]] = drawn[inside]
        missing = missing[~inside]
    return draws


def _same_noise(counts: tuple[int, int], n: int, entropy: Entropy) -> Numbers:
    """Answer two questions with one draw, as noise from a salt does that two releases share."""
    noise = DiscreteLaplace(scale=2).sample(n, entropy)
    return np.stack([counts[0] + noise, counts[1] + noise], axis=1)


def _one_sided(value: int, n: int, entropy: Entropy) -> Numbers:
    return value + np.abs(DiscreteLaplace(scale=1).sample(n, entropy))


def _uniform_noise(value: int, n: int, entropy: Entropy) -> Numbers:
    return value + Uniform(below=21).sample(n, entropy) - 10


def _each_prefix(bits: tuple[int, ...], n: int, entropy: Entropy) -> Numbers:
    """Release all prefix sums, with noise as for one."""
    sums = np.cumsum(bits)
    noise = DiscreteLaplace(scale=1).sample(n * len(bits), entropy).reshape(n, len(bits))
    return sums + noise


TWINS: Final = (
    Twin(name="Laplace", fault="half the scale", draw=_laplace("1/2"), truth="2"),
    Twin(
        name="Laplace, nearly",
        fault="a scale that is a tenth too small",
        draw=_laplace("9/10"),
        truth="1.11",
    ),
    Twin(
        name="Laplace, upside down",
        fault="a scale of epsilon in place of 1 / epsilon",
        draw=_laplace("1/10"),
        claim="0.1",
        truth="10",
    ),
    Twin(
        name="Laplace in floats",
        fault="floating-point noise",
        draw=float_laplace,
        neighbors=(0.0, 1.0),
        truth="infinite",
    ),
    Twin(
        name="Laplace within bounds",
        fault="drawn again until it is inside",
        draw=_renormalized,
        truth="1.28",
    ),
    Twin(name="Laplace, absolute", fault="noise without a sign", draw=_one_sided, truth="infinite"),
    Twin(name="uniform noise", fault="noise that ends", draw=_uniform_noise, truth="infinite"),
    Twin(
        name="two questions",
        fault="noise from a salt that both share",
        draw=_same_noise,
        neighbors=((10, 9), (10, 10)),
        truth="infinite",
    ),
    Twin(
        name="prefix sums",
        fault="noise for one of five sums",
        draw=_each_prefix,
        neighbors=((0, 0, 0, 0, 0), (1, 0, 0, 0, 0)),
        truth="5",
    ),
)
"""Each with neighbors that differ by 1, or by one person."""
