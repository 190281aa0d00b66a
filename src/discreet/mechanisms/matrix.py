"""Exact stochastic matrices: divergences of rows, the worst pairs, and what answers cost.

Trust: kernel.

Definition.  Rows are the laws of a mechanism on each of its inputs.  P is row-stochastic: P[i][o]
>= 0 is the chance of output o on input i, and each row sums to one.  For two rows p and q, with 0/0
= 0:

    max_ratio(p, q)            max over o of p[o] / q[o]; infinite if p has an output that q lacks
    hockey_stick(p, q, a)      sum over o of max(p[o] - a q[o], 0), the largest p(S) - a q(S)
    renyi(p, q, order)         log(sum over o of p[o]^order q[o]^(1-order)) / (order - 1)

Theorem (key ``finite-mechanism``).  The mechanism is (epsilon, delta)-DP for a set of ordered pairs
of inputs if and only if hockey_stick(P[i], P[j], e^epsilon) <= delta for each of them, and
epsilon-DP if and only if max_ratio <= e^epsilon.

Definition.  A pair (p, q) dominates (p', q') if its hockey stick is at least as large at every
factor a >= 0.  Outputs with the same ratio p/q can be merged without changing the hockey stick.
Theorem (key ``finite-dominance``).  The hockey stick is linear between the ratios p[o]/q[o], equals
one at a = 0, and is constant beyond the largest ratio.  So one pair dominates another if and only
if it does so at the finitely many ratios of both.

Costs and priors choose among private mechanisms; they cannot make one less private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from discreet.arrays import listed
from discreet.errors import OutOfRange, WrongKind
from discreet.exact import decimal, float_up
from discreet.loss.elementary import exp, log

_SMALL_ORDER: Final = 16

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]


def stochastic(rows: Iterable[Iterable[object]], *, name: str = "matrix") -> Matrix:
    """Read a row-stochastic matrix, exactly."""
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
            f"the {name} is empty, or its rows have different lengths; give at least one row, and "
            "rows of one length."
        )
    for at, line in enumerate(matrix):
        if min(line, default=Fraction(-1)) < 0:
            raise OutOfRange(
                f"row {at} of the {name} is empty or has a negative entry; give entries from 0 to "
                "1."
            )
        if sum(line) != 1:
            raise OutOfRange(
                f"row {at} of the {name} does not sum to one; give entries that add up exactly, "
                "such as Fraction(1, 3) or '1/3' for a third."
            )
    return matrix


def max_ratio(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction | float:
    """Return the largest ratio of two laws: a rational, or infinity."""
    largest = Fraction(0)
    for one, other in zip(p, q, strict=True):
        if one and not other:
            return math.inf
        if one > largest * other:
            largest = one / other
    return largest


def hockey_stick(p: Sequence[Fraction], q: Sequence[Fraction], factor: Fraction) -> Fraction:
    """Return the largest p(S) - factor * q(S) over all sets S of outputs."""
    excess = (one - factor * other for one, other in zip(p, q, strict=True))
    return sum((gap for gap in excess if gap > 0), Fraction(0))


def renyi(p: Sequence[Fraction], q: Sequence[Fraction], order: Fraction) -> float:
    """Return the Rényi divergence of an order from 1 on, rounded up; at 1, Kullback and Leibler."""
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
    """Return the matrix product: ``right`` processes the outputs of ``left``."""
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


def dominates(large: tuple[Row, Row], small: tuple[Row, Row]) -> bool:
    """Say whether one pair of laws has the larger hockey stick at every factor, exactly.

    >>> p, q = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    >>> dominates((p, q), (p, p)), dominates((p, p), (p, q))
    (True, False)
    """
    ratios = {
        one / other for p, q in (large, small) for one, other in zip(p, q, strict=True) if other
    }
    return all(hockey_stick(*large, ratio) >= hockey_stick(*small, ratio) for ratio in ratios)


def merge_equal_ratios(p: Row, q: Row) -> tuple[Row, Row]:
    """Merge outputs of equal ratio, and sort by it: equal profiles become equal pairs.

    >>> half, quarter = Fraction(1, 2), Fraction(1, 4)
    >>> merge_equal_ratios((quarter, half, quarter), (quarter, half, quarter))
    ((Fraction(1, 1),), (Fraction(1, 1),))
    """
    groups: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for one, other in zip(p, q, strict=True):
        if one or other:
            share = one / (one + other)
            before = groups.get(share, (Fraction(0), Fraction(0)))
            groups[share] = (before[0] + one, before[1] + other)
    shares = sorted(groups)
    return tuple(groups[share][0] for share in shares), tuple(groups[share][1] for share in shares)


def extreme_pairs(pairs: Iterable[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    """Keep the pairs that no other dominates, merged.

    >>> p, q = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))
    >>> len(extreme_pairs([(p, q), (q, p), (p, p)]))  # both orders have one profile
    1
    """
    kept: list[tuple[Row, Row]] = []
    for pair in dict.fromkeys(merge_equal_ratios(p, q) for p, q in pairs):
        if not any(dominates(large, pair) for large in kept):
            kept = [*(small for small in kept if not dominates(pair, small)), pair]
    return kept


Cost = Callable[[Any, Any], object]
"""A function of the truth and the answer, with numbers or truth values as results."""


def cost_table(cost: Cost, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Matrix:
    """Return the cost of each output on each input, exactly.

    >>> cost_table(lambda truth, answer: abs(truth - answer), (0, 1), (0, 1))
    ((Fraction(0, 1), Fraction(1, 1)), (Fraction(1, 1), Fraction(0, 1)))
    """
    if not callable(cost):
        raise WrongKind(
            f"the cost is a {type(cost).__name__}, which cannot be called; give a function of two "
            "arguments, the truth and the answer."
        )
    return tuple(tuple(_number(cost(x, y)) for y in outputs) for x in inputs)


def prior_on(prior: Iterable[object], size: int) -> Row:
    """Read how likely each input is.

    >>> prior_on(["0.5", 0.5], 2)
    (Fraction(1, 2), Fraction(1, 2))
    """
    (row,) = stochastic([listed(prior, name="prior")], name="prior")
    if len(row) != size:
        raise WrongKind(
            f"the prior does not have one chance for each input; give {size} chances that sum to "
            "one."
        )
    return row


def expectation(law: Iterable[Fraction], values: Iterable[Fraction]) -> Fraction:
    """Return the mean of values under a law.

    >>> expectation([Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(3)])
    Fraction(3, 2)
    """
    return sum((p * v for p, v in zip(law, values, strict=True)), Fraction(0))


def _number(value: object) -> Fraction:
    if isinstance(value, bool | np.bool_):
        return Fraction(int(value))
    return decimal(value, name="each cost")
