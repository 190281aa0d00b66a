"""The power of a row: the largest bound that it could have found.

Trust: public.

An audit that judges n answers at a level proves at most what it proves where all answers about one
neighbor are in its event and none of those about the other, or where every guess is right.  A claim
that is not below that cannot be refuted by the row, even by answers without any noise.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.attacks.claim import log_ratio
from discreet.attacks.measured import Measured
from discreet.attacks.proportions import at_least
from discreet.errors import WrongKind


def reach(measured: Measured, *, guesses: bool = False) -> float:
    """Return the bound of perfect separation, for as many answers at the same level and delta.

    ``guesses`` says that bits were guessed in one run, and no events counted in two.

    >>> row = Measured(parameter="epsilon", lower=0.0, estimate=0.0, claimed=1.0, event="",
    ...                hits=(0, 0), n=20, level=1.2e-8)
    >>> reach(row)
    0.0
    >>> round(reach(Measured(parameter="epsilon", lower=0.0, estimate=0.0, claimed=1.0, event="",
    ...                      hits=(0, 0), n=100, level=1.2e-8)), 2)
    1.57
    """
    if measured.parameter != "epsilon":
        raise WrongKind(
            what=f"the row bounds {measured.parameter}, not epsilon.",
            why="what perfect separation proves is computed for epsilon alone.",
            do="audit the row's epsilon at a delta.",
        )
    if measured.n == 0:  # laws are compared to the last digit
        return math.inf
    level = Fraction(measured.level) / (1 if guesses else 2)
    sure = at_least(measured.n, measured.n, level=level)
    return log_ratio(sure - Fraction(measured.delta), 1 - sure)


def refutable(measured: Measured, *, guesses: bool = False) -> bool:
    """Whether perfect separation would violate the claim, at one of the deltas that it is made for.

    >>> row = Measured(parameter="epsilon", lower=0.0, estimate=0.0, claimed=6.0, event="",
    ...                hits=(0, 0), n=100, level=1.2e-8, curve=((0.0, 0.0, 6.0), (0.4, 0.0, 0.5)))
    >>> refutable(row), refutable(replace(row, curve=()))
    (True, False)
    """
    own = (measured.delta, measured.lower, measured.claimed)
    return any(
        claimed is not None and reach(replace(measured, delta=delta), guesses=guesses) > claimed
        for delta, _, claimed in (own, *measured.curve)
    )
