"""What a wrong answer costs, and how likely each truth is.

Trust: public.  Costs and priors choose among private mechanisms; they cannot make one less private.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import listed
from discreet.errors import WrongKind
from discreet.exact import decimal
from discreet.mechanisms.matrix import Matrix, Row, stochastic

__all__ = ["Cost", "cost_table", "expectation", "prior_on"]

Cost = Callable[[Any, Any], object]
"""A function of the truth and the answer, with numbers or truth values as results."""


def cost_table(cost: Cost, inputs: Sequence[Hashable], outputs: Sequence[Hashable]) -> Matrix:
    """Return the cost of each output on each input, exactly.

    >>> cost_table(lambda truth, answer: abs(truth - answer), (0, 1), (0, 1))
    ((Fraction(0, 1), Fraction(1, 1)), (Fraction(1, 1), Fraction(0, 1)))
    """
    if not callable(cost):
        raise WrongKind(
            what=f"the cost is a {type(cost).__name__}, which cannot be called.",
            why="it is asked for each truth and each answer.",
            do="give a function of two arguments, the truth and the answer.",
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
            what="the prior does not have one chance for each input.",
            why="it says how likely each input is.",
            do=f"give {size} chances that sum to one.",
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
