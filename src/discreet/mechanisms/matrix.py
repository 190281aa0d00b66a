"""Exact stochastic matrices: rows are the laws of a mechanism on each of its inputs.

Trust: kernel.

Definition.  P is row-stochastic: P[i][o] >= 0 is the chance of output o on input i, and each row
sums to one.  For two rows p and q, with 0/0 = 0:

    max_ratio(p, q)            max over o of p[o] / q[o]; infinite if p has an output that q lacks
    hockey_stick(p, q, a)      sum over o of max(p[o] - a q[o], 0), the largest p(S) - a q(S)
    renyi(p, q, order)         log(sum over o of p[o]^order q[o]^(1-order)) / (order - 1)

Theorem (key ``finite-mechanism``).  The mechanism is (epsilon, delta)-DP for a set of ordered pairs
of inputs if and only if hockey_stick(P[i], P[j], e^epsilon) <= delta for each of them, and
epsilon-DP if and only if max_ratio <= e^epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up
from discreet.loss.elementary import exp, log

__all__ = [
    "Matrix",
    "Row",
    "hockey_stick",
    "max_ratio",
    "multiply",
    "pair_up",
    "renyi",
    "stochastic",
]

_SMALL_ORDER: Final = 16

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]


def stochastic(rows: Iterable[Iterable[object]], *, name: str = "matrix") -> Matrix:
    """Read a row-stochastic matrix, exactly.

    >>> stochastic([["0.75", 0.25], [0, 1]])
    ((Fraction(3, 4), Fraction(1, 4)), (Fraction(0, 1), Fraction(1, 1)))
    """
    lines = list(rows) if getattr(rows, "ndim", 0) == 2 else listed(rows, name=f"rows of {name}")
    matrix = tuple(
        tuple(
            decimal(entry, name=f"each entry of {name}")
            for entry in listed(line, name=f"entries of a row of {name}")
        )
        for line in lines
    )
    if not matrix or len({len(line) for line in matrix}) != 1:
        raise WrongKind(
            what=f"the {name} is empty, or its rows have different lengths.",
            why="every input needs a law on the same outputs.",
            do="give at least one row, and rows of one length.",
        )
    for at, line in enumerate(matrix):
        if min(line, default=Fraction(-1)) < 0:
            raise OutOfRange(
                what=f"row {at} of the {name} is empty or has a negative entry.",
                why="the entries are chances.",
                do="give entries from 0 to 1.",
            )
        if sum(line) != 1:
            raise OutOfRange(
                what=f"row {at} of the {name} does not sum to one.",
                why="some output occurs on every run; a law that is only nearly one has a loss "
                "that is only nearly right.",
                do="give entries that add up exactly, such as Fraction(1, 3) or '1/3' for a third.",
            )
    return matrix


def max_ratio(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction | float:
    """Return the largest ratio of two laws: a rational, or infinity.

    >>> max_ratio((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))
    Fraction(3, 1)
    """
    largest = Fraction(0)
    for one, other in zip(p, q, strict=True):
        if one and not other:
            return math.inf
        if one > largest * other:
            largest = one / other
    return largest


def hockey_stick(p: Sequence[Fraction], q: Sequence[Fraction], factor: Fraction) -> Fraction:
    """Return the largest p(S) - factor * q(S) over all sets S of outputs.

    >>> p, q = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    >>> hockey_stick(p, q, Fraction(2))
    Fraction(1, 4)
    """
    excess = (one - factor * other for one, other in zip(p, q, strict=True))
    return sum((gap for gap in excess if gap > 0), Fraction(0))


def renyi(p: Sequence[Fraction], q: Sequence[Fraction], order: Fraction) -> float:
    """Return the Renyi divergence of an order from 1 on, rounded up; order 1 is Kullback-Leibler.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> renyi((half, half), (third, 1 - third), Fraction(2))  # ln 9/8
    0.11778303565638346
    """
    both = [(one, other) for one, other in zip(p, q, strict=True) if one]
    if any(not other for _, other in both):
        return math.inf
    if order == 1:
        mean = sum((one * log(one / other).high for one, other in both), Fraction(0))
        return float_up(max(Fraction(0), mean))
    if order.denominator == 1 and order <= _SMALL_ORDER:
        power = order.numerator
        total = sum((one**power / other ** (power - 1) for one, other in both), Fraction(0))
        return float_up(max(Fraction(0), log(total).high) / (order - 1))
    exponents = [log(other).high + order * log(one / other).high for one, other in both]
    top = max(exponents)  # taken out, so that nothing overflows
    total = sum((exp(exponent - top).high for exponent in exponents), Fraction(0))
    return float_up(max(Fraction(0), top + log(total).high) / (order - 1))


def multiply(left: Matrix, right: Matrix) -> Matrix:
    """Return the matrix product: ``right`` processes the outputs of ``left``.

    >>> flip = stochastic([[0, 1], [1, 0]])
    >>> multiply(flip, flip)
    ((Fraction(1, 1), Fraction(0, 1)), (Fraction(0, 1), Fraction(1, 1)))
    """
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(
            sum((a * b for a, b in zip(line, column, strict=True) if a and b), Fraction(0))
            for column in columns
        )
        for line in left
    )


def pair_up(left: Matrix, right: Matrix) -> Matrix:
    """Return both mechanisms on the same input: row by row the Kronecker product.

    >>> half = stochastic([["1/2", "1/2"]])
    >>> pair_up(half, half)
    ((Fraction(1, 4), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)),)
    """
    return tuple(
        tuple(a * b for a in first for b in second)
        for first, second in zip(left, right, strict=True)
    )
