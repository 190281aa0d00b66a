"""How far plain sums of noise are from zero: one sum, or all sums that a binary tree makes.

Trust: public.  A bug here misstates an error bar; it costs no privacy.

Definition.  The law of a sum of k draws is the k-th power of the law of one, by Fourier transforms
on a ring so long that less than 1e-18 wraps around.
Theorem (key ``tree-walk``).  Let every block (height(t), t) of a binary tree have independent noise
(see ``dyadic``), and let S_t add up the noise of the blocks that make up the first t positions.
With f_0 = 1 and

    f_{h+1}(s) = f_h(s) * sum over z of P[Z = z] [|s + z| <= r] f_h(s + z),

f_h(s) is the chance that s + S_t stays within r for all 0 < t < 2**h.  Proof.  Up to t = 2**h - 1
only blocks of the left half are used; S at t = 2**h is one new draw z; and from there on the walk
starts again from s + z with fresh noise.  For a length n that is no power of two, take the right
half only where the binary digit of n is 1.
Transforms err by less than 1e-11 of probability; the reach is the smallest but for that much.
Where the noise is too wide for a table, Chernoff's bound is used (key ``chernoff-sum``).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from discreet.continual.dyadic import depth
from discreet.continual.tails import reach_of_sum
from discreet.exact import float_up
from discreet.mechanisms.quantiles import first_true
from discreet.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["reach_of_plain_sum", "reach_of_tree", "stays_within"]

Law = DiscreteLaplace | DiscreteGaussian

_SLIP: Final = 1e-11
_WRAPPED: Final = Fraction(1, 10**18)
_LARGEST: Final = 1 << 22


def reach_of_plain_sum(law: Law, count: int, tail: Fraction) -> int:
    """Return the smallest r such that a sum of so many draws is beyond r with chance <= tail.

    >>> from discreet.noise import DiscreteLaplace
    >>> law = DiscreteLaplace(scale=2)
    >>> reach_of_plain_sum(law, 1, Fraction(1, 20)), reach_of_plain_sum(law, 10, Fraction(1, 20))
    (6, 18)
    """
    bound = math.floor(reach_of_sum(law, spread=Fraction(count), draws=count, tail=tail))
    widest = reach_of_sum(law, spread=Fraction(count), draws=count, tail=_WRAPPED)
    if tail < 100 * _SLIP or 2 * widest + 3 > _LARGEST:
        return bound
    beyond = _beyond(law, count, math.ceil(widest))
    return min(bound, int(np.argmax(beyond + _SLIP <= float(tail))))


def reach_of_tree(law: Law, length: int, chance: Fraction) -> int:
    """Return the smallest r such that all sums of a binary tree are within r with this chance.

    >>> from discreet.noise import DiscreteLaplace
    >>> reach_of_tree(DiscreteLaplace(scale=4), 8, Fraction(19, 20))
    24
    """
    most = depth(length)
    union = (1 - chance) / length
    bound = math.floor(reach_of_sum(law, spread=Fraction(most), draws=most, tail=union))
    if 1 - chance < 100 * _SLIP or 4 * bound + 3 > _LARGEST:
        return bound
    wanted = float_up(chance) + _SLIP
    return first_true(lambda r: stays_within(law, length, r) >= wanted, high=bound)


def stays_within(law: Law, length: int, reach: int) -> float:
    """Return the chance that all sums of a binary tree are within a reach.

    >>> from discreet.noise import DiscreteLaplace
    >>> law = DiscreteLaplace(scale=1)
    >>> round(stays_within(law, 1, 3), 6) == round(1 - 2 * law.survival(3), 6)
    True
    """
    near = _Window(law, reach)
    full = partial = np.ones(2 * reach + 1)
    for h in range(depth(length)):
        if length >> h & 1:
            partial = full * near.after_a_draw(partial)
        if length >> h > 1:
            full = full * near.after_a_draw(full)
    return float(partial[reach])


class _Window:
    """Sums within a reach: what may come after one more draw."""

    def __init__(self, law: Law, reach: int) -> None:
        """Transform the law of one draw, on a ring on which no two moves inside are confused."""
        self._size = 1 << (4 * reach + 1).bit_length()
        self._inside = 2 * reach + 1
        steps = np.minimum(np.arange(self._size), self._size - np.arange(self._size))
        self._draw = np.fft.rfft(np.where(steps <= 2 * reach, _pmf(law, steps), 0.0))

    def after_a_draw(self, later: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of a function of the next sum, zero outside the window."""
        moved = np.fft.irfft(np.fft.rfft(later, self._size) * self._draw, self._size)
        return np.clip(moved[: self._inside], 0.0, 1.0)


@functools.lru_cache(maxsize=16)
def _beyond(law: Law, count: int, widest: int) -> NDArray[np.float64]:
    """Return P[|sum| > r] for r = 0, 1, ..., widest."""
    size = 1 << (2 * widest + 2).bit_length()
    steps = np.minimum(np.arange(size), size - np.arange(size))
    powers = np.fft.rfft(_pmf(law, steps)).real ** count
    chances = np.clip(np.fft.irfft(powers, size)[: widest + 1], 0.0, 1.0)
    tails = np.cumsum(chances[::-1])[::-1]  # from r on, on one side
    return np.asarray(2 * np.append(tails[1:], 0.0))


def _pmf(law: Law, steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return P[Z = k], to within rounding."""
    if isinstance(law, DiscreteLaplace):
        rate = float(1 / law.scale)
        return np.asarray(math.tanh(rate / 2) * np.exp(-rate * steps))
    return np.asarray(law.pmf(0) * np.exp(-(steps.astype(float) ** 2) / float(2 * law.variance)))
