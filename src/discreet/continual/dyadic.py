"""Dyadic intervals: blocks of 1, 2, 4, ... positions that end where their length divides.

Trust: kernel.

Definition.  Block (h, t) covers the 2**h positions up to t, for every t that 2**h divides.
Fact (key ``dyadic-blocks``; Fenwick 1994, A New Data Structure for Cumulative Frequency Tables).
The first t positions are the disjoint union of one block for each binary digit 1 of t: after t
comes ``t - lowest(t)``, and so on down to 0.  All of them have the form (height(t), t), one for
each t; position p lies in at most one of each height, and in ``depth(n)`` of them in all if p = 1,
which is the most.
"""

from __future__ import annotations


def height(t: int) -> int:
    """Return the largest h such that 2**h divides t >= 1.

    >>> [height(t) for t in range(1, 9)]
    [0, 1, 0, 2, 0, 1, 0, 3]
    """
    return (t & -t).bit_length() - 1


def lowest(t: int) -> int:
    """Return the largest power of two that divides t >= 1.

    >>> [lowest(t) for t in range(1, 9)]
    [1, 2, 1, 4, 1, 2, 1, 8]
    """
    return t & -t


def depth(length: int) -> int:
    """Return how many heights there are among the first ``length`` positions.

    >>> [depth(n) for n in (1, 2, 3, 4, 1023, 1024)]
    [1, 2, 2, 3, 10, 11]
    """
    return length.bit_length()


def digits(t: int) -> list[int]:
    """Return the ends of the blocks that make up the first t positions, the last one first.

    >>> digits(13)  # 13, then 9 to 12, then 1 to 8
    [13, 12, 8]
    """
    ends = []
    while t:
        ends.append(t)
        t -= lowest(t)
    return ends


def blocks_of(position: int, length: int) -> list[int]:
    """Return the ends t of all blocks (height(t), t) that hold a position, up to a length.

    >>> blocks_of(3, 8), blocks_of(1, 8)
    ([3, 4, 8], [1, 2, 4, 8])
    """
    ends = []
    while position <= length:
        ends.append(position)
        position += lowest(position)
    return ends
