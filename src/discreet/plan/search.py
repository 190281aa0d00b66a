"""The search for bounds: the first stage of a question whose numbers have none.

Trust: kernel.

Definition.  A *target* is an expression without public bounds that an aggregate looks at.  Of every
unit one row counts for each target, whichever a hash picks, in one of the bins of
:mod:`discreet.plan.bins`, whatever group the row is in.  Laplace noise is added to the number of
units in every bin.  Bounds are computed from these noisy numbers alone: they are public then.
Theorem (key ``bounds-search``).  One unit that is added or removed moves the numbers of a target by
at most 1 in L1, and one that is replaced by at most 2.
Proof.  ``bounded-contribution`` with one row of each unit: a histogram moves by what the unit adds
to it, and takes from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.accounting import Node
from discreet.plan.bins import Bins, bins_of
from discreet.plan.bounds import Pair
from discreet.plan.lowered import Lowered
from discreet.plan.noises import Noise
from discreet.plan.price_asked import Given
from discreet.plan.prices import Price
from discreet.plan.promise import Promise
from discreet.query.expressions import Expression
from discreet.query.types import Type

__all__ = ["FALSE_ALARM", "FoundBounds", "Search", "Target"]

FALSE_ALARM: Final = Fraction(1, 1000)
"""The chance that some bin of a target seems to hold somebody, and holds nobody."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What bounds are looked for: the name of its histogram, what rows hold, and in words.

    >>> from discreet.query.expressions import Column
    >>> Target(measure="bounds", row=Column("x"), type=Type.FLOAT, about="x").bins.count
    257
    """

    measure: str
    row: Expression
    type: Type
    about: str

    @property
    def bins(self) -> Bins:
        """Where bounds may lie."""
        return bins_of(self.type)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBounds:
    """Bounds that were found; ``seen`` says whether any bin stood out from the noise.

    >>> FoundBounds(about="cost", low=Fraction(0), high=Fraction(128), seen=True).bounds
    (Fraction(0, 1), Fraction(128, 1))
    """

    about: str
    low: Fraction
    high: Fraction
    seen: bool

    @property
    def bounds(self) -> Pair:
        """Both bounds."""
        return self.low, self.high


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How bounds are found, and what that costs beside the answer.

    ``given`` is what was asked, from which the answer is planned once bounds are known; ``promise``
    is what the answer may cost then, whatever they are.  The noise of the measures ``scaled`` is
    in proportion to the bounds.
    """

    lowered: Lowered
    targets: tuple[Target, ...]
    noises: tuple[Noise, ...]
    tree: Node
    price: Price
    promise: Promise
    given: Given
    scaled: tuple[str, ...]

    @property
    def widest(self) -> tuple[FoundBounds, ...]:
        """The bounds that are found where nothing stands out from the noise."""
        ends = ((each.about, *each.bins.widest) for each in self.targets)
        return tuple(
            FoundBounds(about=about, low=low, high=high, seen=False) for about, low, high in ends
        )
