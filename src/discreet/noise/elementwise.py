"""Noise with a scale of its own for each element.

Trust: kernel.

Scales are ``numerators[i] / denominator``: integers over one common denominator, so that a vector
of exact numbers is as compact and as fast as a vector of floats.  A few laws of one family are
drawn together, at the cost of one: a call takes as long as a thousand draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arrays import INT64_MAX, array_of
from discreet.errors import NotExact, OutOfRange, TooLarge, WrongKind
from discreet.exact import whole
from discreet.noise.entropy import SYSTEM, Entropy, checked_count, checked_entropy
from discreet.noise.tablefree import FreeSizes, Parameters, gaussian_into, laplace_into
from discreet.noise.two_sided import TwoSidedLaw

_LARGEST_SCALE: Final = 1 << 57
_AT_ONCE: Final = FreeSizes(tries=6)  # of 1000 numbers, one in four is accepted less often


def laplace_each(
    *, scales: ArrayLike, denominator: int = 1, entropy: Entropy = SYSTEM
) -> NDArray[np.int64]:
    """Draw one discrete Laplace value for each scale ``scales[i] / denominator``.

    >>> laplace_each(scales=[1, 10, 100], denominator=2).shape
    (3,)
    """
    numerators, common = _checked(scales, denominator, "scales")
    out = np.empty(numerators.size, np.int64)
    laplace_into(out, Parameters.each(numerators, common), checked_entropy(entropy))
    return out


def gaussian_each(
    *, variances: ArrayLike, denominator: int = 1, entropy: Entropy = SYSTEM
) -> NDArray[np.int64]:
    """Draw one discrete Gaussian value for each variance ``variances[i] / denominator``.

    >>> gaussian_each(variances=[1, 10, 100], denominator=2).shape
    (3,)
    """
    numerators, common = _checked(variances, denominator, "variances")
    out = np.empty(numerators.size, np.int64)
    gaussian_into(out, Parameters.each(numerators, common), checked_entropy(entropy))
    return out


def drawn_together(
    laws: Sequence[TwoSidedLaw],
    counts: Sequence[int],
    entropy: Entropy = SYSTEM,
    *,
    sizes: FreeSizes = _AT_ONCE,
) -> list[NDArray[np.int64]]:
    """Draw so many values of each law, all of one family; for a few thousand values at most.

    >>> from discreet.noise import DiscreteLaplace
    >>> few, many = drawn_together([DiscreteLaplace(scale=2), DiscreteLaplace(scale=9)], [1, 3])
    >>> few.shape, many.shape
    ((1,), (3,))
    """
    if not laws:
        return []
    family = type(laws[0])
    if any(type(law) is not family for law in laws):
        raise WrongKind(
            what="laws of several families are to be drawn together.",
            why="one sampler draws them all, and each family has its own.",
            do="draw Laplace and Gaussian noise apart.",
        )
    whose = np.repeat(np.arange(len(laws)), [checked_count(count) for count in counts])
    exact = [law.parameter for law in laws]
    floats = np.array([float(parameter) for parameter in exact])[whose]
    out = np.empty(whose.size, np.int64)
    parameters = Parameters(floats, lambda index: exact[whose[index]])
    family.draw_each_into(out, parameters, checked_entropy(entropy), sizes)
    return np.split(out, np.cumsum(counts)[:-1])


def _checked(values: ArrayLike, denominator: int, name: str) -> tuple[NDArray[np.int64], int]:
    common = whole(denominator, name="denominator", low=1, high=INT64_MAX)
    array = array_of(values)
    if array.shape == (0,):
        return np.empty(0, np.int64), common
    if array.dtype.kind == "f":
        raise NotExact(
            what=f"{name} are floats.",
            why="a float is a rounded number, and so would be the privacy claim.",
            do=f"give {name} as integers over a common denominator.",
        )
    if array.ndim != 1 or array.size == 0 or not (array.dtype.kind in "iu" or _wide(array)):
        raise WrongKind(
            what=f"{name} are not a one-dimensional array of integers.",
            why="each element needs one exact number.",
            do=f"give {name} as integers over a common denominator.",
        )
    largest = int(array.max())
    if largest > INT64_MAX or (name == "scales" and largest > _LARGEST_SCALE * common):
        raise TooLarge(
            what=f"one of the {name} is too large.",
            why="noise of that width does not fit in 64-bit integers.",
            do="measure in a coarser unit.",
        )
    if int(array.min()) <= 0:
        raise OutOfRange(
            what=f"one of the {name} is not above zero.",
            why="noise needs a width.",
            do=f"give {name} above zero only.",
        )
    return array.astype(np.int64), common


def _wide(array: NDArray[Any]) -> bool:
    """Tell whether these are Python integers, which NumPy keeps as objects beyond 64 bits."""
    return array.dtype == object and all(type(value) is int for value in array)
