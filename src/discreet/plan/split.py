"""How a price is divided between the parts of a release.

Trust: public.  Shares add up to the price, whatever they are; how good they are is about accuracy.

Definition.  The weight w of a part is the number of aggregates that need it, and one for a choice
of keys.
Theorem (key ``split-shares``).  Let the error of a part with share s be c / s, in units of what one
unit contributes, with the same c for all parts.  Of all shares that add up to S, those
proportional to the roots of the weights have the smallest weighted sum of errors, (sum of the
roots)**2 c / S.
Proof.  By Cauchy and Schwarz, (sum of sqrt(w))**2 = (sum of sqrt(w / s) sqrt(s))**2 is at most
(sum of w / s) S, with equality if w / s**2 is the same for all.
For Laplace noise s is an epsilon, and c / s its scale; for Gaussian noise s is a rho, and c / s its
variance.  Aggregates may name an epsilon of their own, which their parts share equally; the other
parts divide what is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from discreet.errors import WrongKind

__all__ = ["divided", "shares"]

_BITS: Final = 10


def shares(weights: Sequence[int], total: Fraction) -> tuple[Fraction, ...]:
    """Divide a total in proportion to the roots of weights, to three digits.

    >>> shares([1, 1, 4], Fraction(1))
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    """
    roots = [math.isqrt(weight << 2 * _BITS) for weight in weights]
    whole = sum(roots)
    return tuple(total * Fraction(root, whole) for root in roots)


def divided(
    weights: Sequence[int], fixed: Sequence[Fraction | None], total: Fraction
) -> tuple[Fraction, ...]:
    """Divide an epsilon where some parts have one of their own.

    >>> divided([1, 1, 1], [None, Fraction(1, 2), None], Fraction(1))
    (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))
    """
    left = total - sum((each for each in fixed if each is not None), Fraction(0))
    open_ = [weight for weight, each in zip(weights, fixed, strict=True) if each is None]
    if left < 0 or (open_ and left == 0):
        raise WrongKind(
            what="the epsilons of single aggregates use up more than the whole epsilon.",
            why="all of them together are what the question costs.",
            do="raise epsilon in OPTIONS, or lower those of the aggregates.",
        )
    rest = iter(shares(open_, left))
    return tuple(next(rest) if each is None else each for each in fixed)
