"""A few distributions of one family, drawn together at the cost of one.

Trust: kernel.

A call takes as long as a thousand draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongKind
from discreet.noise.entropy import SYSTEM, Entropy, checked_count, checked_entropy
from discreet.noise.tablefree import FreeSizes, Parameters
from discreet.noise.two_sided import TwoSidedLaw

_AT_ONCE: Final = FreeSizes(tries=6)  # of 1000 numbers, one in four is accepted less often


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
            "laws of several families are to be drawn together; draw Laplace and Gaussian noise "
            "apart."
        )
    whose = np.repeat(np.arange(len(laws)), [checked_count(count) for count in counts])
    exact = [law.parameter for law in laws]
    floats = np.array([float(parameter) for parameter in exact])[whose]
    out = np.empty(whose.size, np.int64)
    parameters = Parameters(floats, lambda index: exact[whose[index]])
    family.draw_each_into(out, parameters, checked_entropy(entropy), sizes)
    return np.split(out, np.cumsum(counts)[:-1])
