"""What finding bounds may cost.

Trust: kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from discreet.errors import WrongKind
from discreet.exact import decimal, positive
from discreet.mechanisms.arguments import Number

__all__ = ["BoundsPrice", "checked_bounds", "estimate"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsPrice:
    """A price for all bounds of a question together, in epsilon or in rho.

    >>> BoundsPrice(epsilon=Fraction(1, 10)).rho is None
    True
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None


def estimate(*, epsilon: Number | None = None, rho: Number | None = None) -> BoundsPrice:
    """Let missing bounds be found privately, for a price that is added to that of the answer.

    Args:
        epsilon: what all bounds of a question cost together.
        rho: the same in zero-concentrated privacy, in place of epsilon.

    >>> estimate(epsilon="0.1")
    BoundsPrice(epsilon=Fraction(1, 10), rho=None)
    """
    if (epsilon is None) == (rho is None):
        raise WrongKind(
            what="not one of epsilon and rho is given for the bounds.",
            why="one of them says what finding bounds costs, beside the answer.",
            do="write bounds=dp.estimate(epsilon=0.1), say.",
        )
    if epsilon is not None:
        return BoundsPrice(epsilon=positive(decimal(epsilon, name="epsilon"), name="epsilon"))
    return BoundsPrice(rho=positive(decimal(rho, name="rho"), name="rho"))


def checked_bounds(given: object) -> BoundsPrice | None:
    """Refuse what does not say how bounds are found.

    >>> checked_bounds(None) is None
    True
    """
    if given is None or isinstance(given, BoundsPrice):
        return given
    raise WrongKind(
        what=f"a {type(given).__name__} does not say how bounds are found.",
        why="bounds stand in the policy or in the question, or are found privately for a price.",
        do="write bounds=dp.estimate(epsilon=0.1), or give bounds with "
        "contribution_bounds_per_row => (0, 100).",
    )
