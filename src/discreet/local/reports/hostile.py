"""Reports that no honest device would send: what gives them away, and what the others can do.

Trust: public.  A hostile sender harms the estimates, never the privacy of others.

A report of most randomizers supports a fixed number of values, and whoever sends what they please
moves a count by at most ``FrequencyOracle.amplification()``.  A unary report can name all values at
once (Cao, Jia and Gong 2021; Cheu, Smith and Ullman 2021), but honest ones seldom do.
Theorem (key ``plausible-ones``).  The number of ones in an honest unary report is a coin of chance
p plus k - 1 coins of chance q, whatever the value.  So there are bounds on it, beyond which an
honest report lies with a chance of at most 1e-9 on either side, and to refuse reports beyond them
tells nothing about anybody's value.
What is left to hostile senders is counted in ``estimates.table(hostile=m)``.  That one person sends
many reports cannot be seen in them: give each person one token, and check it where reports arrive.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from discreet.exact import float_down, float_up
from discreet.local.randomizers.bit_rows import Bytes
from discreet.local.randomizers.randomizer import Randomizer
from discreet.local.randomizers.unary import Unary

TAIL: Final = 1e-9
_MARGIN: Final = 1 - 1e-6  # more than a library's binomial tail is wrong by


def plausible(randomizer: Randomizer, rows: Bytes) -> NDArray[np.bool_]:
    """Say which packed reports an honest device would send, but for a chance of 2e-9.

    >>> from discreet.local import Unary
    >>> bold = np.full((1, 16), 255, np.uint8)
    >>> plausible(Unary(epsilon=1, values=128), bold).tolist()
    [False]
    """
    if not isinstance(randomizer, Unary):
        return np.ones(len(rows), np.bool_)
    p, q = randomizer.exact_chances()
    least, most = plausible_ones(randomizer.values, p, q)
    ones = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    return np.asarray((least <= ones) & (ones <= most))


@functools.lru_cache(maxsize=64)
def plausible_ones(values: int, p: Fraction, q: Fraction) -> tuple[int, int]:
    """Return the fewest and the most ones that honest unary reports have, but for 1e-9 each.

    >>> from discreet.local import Unary
    >>> plausible_ones(128, *Unary(epsilon=1, values=128).exact_chances())
    (8, 67)
    """
    ones = np.arange(values + 1)
    level, own = TAIL * _MARGIN, float(p)
    fewer = own * _at_most(ones - 2, values - 1, float_down(q)) + (1 - own) * _at_most(
        ones - 1, values - 1, float_down(q)
    )
    more = own * _above(ones - 1, values - 1, float_up(q)) + (1 - own) * _above(
        ones, values - 1, float_up(q)
    )
    return int(ones[fewer <= level].max()), int(ones[more <= level].min())


def _at_most(count: NDArray[np.int64], coins: int, chance: float) -> NDArray[np.float64]:
    """Return how likely it is that at most so many of the coins show heads."""
    inside = special.bdtr(np.clip(count, 0, coins), coins, chance)
    return np.where(count < 0, 0.0, np.where(count >= coins, 1.0, inside))


def _above(count: NDArray[np.int64], coins: int, chance: float) -> NDArray[np.float64]:
    """Return how likely it is that more than so many of the coins show heads."""
    inside = special.bdtrc(np.clip(count, 0, coins), coins, chance)
    return np.where(count < 0, 1.0, np.where(count >= coins, 0.0, inside))
