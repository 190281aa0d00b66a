"""Sums from each entry on, with weights that fall with the distance.

Trust: kernel.

Definition.  decayed(r, rate)_k is the sum over j >= k of r_j e**(-rate (j - k)).
Entries are cut into blocks of about as many entries as there are blocks; each block is summed from
its own end, all of them at once, and then gets what the blocks after it hand over.  A term that
comes from n steps away passes at most n factors, each for one step or more, so the bound of
docs/proofs/accounting.md, section 6, on the error of n single steps holds.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.loss.pairs.pair import Floats

__all__ = ["decayed", "suffixes"]


def suffixes(entries: Floats, c: float, h: float) -> tuple[Floats, Floats]:
    """Return D_k and B_k: sums over j >= k of r_j e**(-cu) (1 - e**-u) and of r_j e**(-(c+1)u).

    Here u = (j - k)h.  B_k = r_k + e**(-(c+1)h) B_{k+1}, D_k = e**(-ch) (D_{k+1} - expm1(-h)
    B_{k+1}): all terms are at least zero.  One of weight e**(-cu) has passed u/h steps, with an
    error of 20 units each; those with cu > 30 weigh less than the tail that is left out.
    """
    far = decayed(entries, (c + 1) * h)
    inner = np.append(far[1:], 0.0) * (-math.expm1(-h) * math.exp(-c * h))
    return decayed(inner, c * h), far


def decayed(entries: Floats, rate: float) -> Floats:
    """Sum the entries from each on, a factor of e**-rate for every step.

    >>> decayed(np.array([1.0, 1.0, 1.0]), math.log(2)).tolist()
    [1.75, 1.5, 1.0]
    """
    width = math.isqrt(len(entries)) + 1
    blocks = -(-len(entries) // width)
    sums = np.zeros((blocks, width))
    sums.ravel()[: len(entries)] = entries
    sums = sums.T.copy()  # one place of all blocks in a row
    step, leap = math.exp(-rate), math.exp(-rate * width)
    for place in range(width - 2, -1, -1):
        sums[place] += step * sums[place + 1]
    handed = np.zeros(blocks)
    for block in range(blocks - 2, -1, -1):
        handed[block] = sums[0, block + 1] + leap * handed[block + 1]
    sums += np.exp(-rate * np.arange(width, 0, -1))[:, None] * handed
    return sums.T.ravel()[: len(entries)]
