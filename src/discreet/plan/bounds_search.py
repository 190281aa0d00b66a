"""Bounds on values, found privately: what is searched, in which bins, and what is found.

Trust: kernel.

Definition.  A number is in one bin: that of zero, or that of its sign and size.  Whole numbers of
size 2**(j-1) to 2**j - 1 share a bin, j = 1, ..., 63.  Of other numbers those of size 2**k up to
2**(k+1) do, k = -64, ..., 63; what is smaller counts as zero, and what is larger as the largest.
(A negative FLOAT that is a power of two is in the bin that ends with it.)
Bins rise with the numbers in them.  Nothing here depends on data.

Definition.  A *target* is an expression without public bounds that an aggregate looks at.  Of every
unit one row counts for each target, whichever a hash picks, in one of the bins of
:mod:`discreet.plan.bounds_search`, whatever group the row is in.  Laplace noise is
added to the number of units in every bin.  Bounds are computed from these noisy numbers alone: they
are public then.
Theorem (key ``bounds-search``; the search for bounds of Wilson et al. 2020, Differentially Private
SQL with Bounded User Contribution, with one row of each unit).  One unit that is added or removed
moves the numbers of a target by at most 1 in L1, and one that is replaced by at most 2.
Proof.
``bounded-contribution`` with one row of each unit: a histogram moves by what the unit adds to it,
and takes from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Node
from discreet.plan.pricing.group_sensitivity import Noise
from discreet.plan.statistics.contribution_bounds import Pair
from discreet.query.expressions import Call, Expression, Literal
from discreet.query.types import Type

if TYPE_CHECKING:  # for annotations alone
    from discreet.plan.bounds_price import PricePromise
    from discreet.plan.pricing.calibration import Price
    from discreet.plan.pricing.requested_price import PriceArguments
    from discreet.requests.engine_request import EngineRequest


_SMALLEST: Final = -64
_LARGEST: Final = 64
_BITS: Final = 63
_NEAR: Final = 4


@final
@dataclass(frozen=True, kw_only=True)  # without slots, so that the edges are made once
class SearchBins:
    """The ends of bins: those of bin i > ``zero`` are in ``ends[i - zero - 1]``, up to its sign.

    >>> WHOLE.span(WHOLE.zero, WHOLE.zero + 2)
    (Fraction(0, 1), Fraction(3, 1))
    """

    ends: tuple[Pair, ...]
    whole: bool

    @property
    def zero(self) -> int:
        """The bin of zero, in the middle."""
        return len(self.ends)

    @property
    def count(self) -> int:
        """How many bins there are."""
        return 2 * len(self.ends) + 1

    @property
    def widest(self) -> Pair:
        """Bounds on everything that bins distinguish."""
        return self.span(0, self.count - 1)

    def place(self, value: Expression) -> Expression:
        """Return the bin of a number, as an expression.

        >>> from discreet.query.expressions import Column
        >>> WHOLE.place(Column("age")).function
        'RANGE_BUCKET'
        """
        return Call("RANGE_BUCKET", (value, *self._edges))

    def span(self, first: int, last: int) -> Pair:
        """Return bounds on the numbers in some bins.

        They reach to zero if that makes the range longer by a third at most, and are apart: of
        zero alone they are those of a share.

        >>> FLOATS.span(FLOATS.zero, FLOATS.zero + 68)
        (Fraction(0, 1), Fraction(16, 1))
        >>> WHOLE.span(WHOLE.zero - 1, WHOLE.zero - 1), WHOLE.span(WHOLE.zero, WHOLE.zero)
        ((Fraction(-1, 1), Fraction(0, 1)), (Fraction(0, 1), Fraction(1, 1)))
        """
        low, high = self._ends(first)[0], self._ends(last)[1]
        if low > 0 and (_NEAR * low <= high or low == high):
            low = Fraction(0)
        if high < 0 and (_NEAR * high >= low or low == high):
            high = Fraction(0)
        return (low, high) if low < high else (Fraction(0), Fraction(1))

    def _ends(self, place: int) -> Pair:
        away = abs(place - self.zero)
        if away == 0:
            return Fraction(0), Fraction(0)
        low, high = self.ends[away - 1]
        return (low, high) if place > self.zero else (-high, -low)

    @cached_property
    def _edges(self) -> tuple[Literal, ...]:
        """Where one bin ends and the next begins, from the lowest."""
        inner = [-high for _, high in reversed(self.ends[:-1])]
        middle = [Fraction(0)] if self.whole else [-self.ends[0][0]]
        edges = (*inner, *middle, *(low for low, _ in self.ends))
        return tuple(Literal(int(edge) if self.whole else edge) for edge in edges)


WHOLE: Final = SearchBins(
    ends=tuple((Fraction(2 ** (j - 1)), Fraction(2**j - 1)) for j in range(1, _BITS + 1)),
    whole=True,
)
"""The bins of INTEGER."""

FLOATS: Final = SearchBins(
    ends=tuple((Fraction(2) ** k, Fraction(2) ** (k + 1)) for k in range(_SMALLEST, _LARGEST)),
    whole=False,
)
"""The bins of FLOAT."""


def bins_of(kind: Type) -> SearchBins:
    """Return the bins of a type of numbers.

    >>> bins_of(Type.INTEGER).count, bins_of(Type.FLOAT).count
    (127, 257)
    """
    return WHOLE if kind is Type.INTEGER else FLOATS


FALSE_ALARM: Final = Fraction(1, 1000)
"""The chance that some bin of a target seems to hold somebody, and holds nobody."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsTarget:
    """What bounds are looked for: the name of its histogram, what rows hold, and in words.

    >>> from discreet.query.expressions import Column
    >>> BoundsTarget(measure="bounds", row=Column("x"), type=Type.FLOAT, about="x").bins.count
    257
    """

    measure: str
    row: Expression
    type: Type
    about: str

    @property
    def bins(self) -> SearchBins:
        """Where bounds may lie."""
        return bins_of(self.type)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBounds:
    """Bounds that were found; ``seen`` says whether any bin stood out from the noise.

    ``outside`` is the largest share of the rows near the bounds that may be clipped, by the noisy
    numbers of the bins next to them.

    >>> FoundBounds(about="cost", low=Fraction(0), high=Fraction(128), seen=True).bounds
    (Fraction(0, 1), Fraction(128, 1))
    """

    about: str
    low: Fraction
    high: Fraction
    seen: bool
    outside: Fraction = Fraction(0)

    @property
    def bounds(self) -> Pair:
        """Both bounds."""
        return self.low, self.high


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsSearch:
    """How bounds are found, and what that costs in addition to the answer.

    ``given`` is what was asked, from which the answer is planned once bounds are known; ``promise``
    is what the answer may cost then, whatever they are.  The noise of the measures ``scaled`` is
    in proportion to the bounds.
    """

    request: EngineRequest
    targets: tuple[BoundsTarget, ...]
    noises: tuple[Noise, ...]
    tree: Node
    price: Price
    promise: PricePromise
    given: PriceArguments
    scaled: tuple[str, ...]

    @property
    def widest(self) -> tuple[FoundBounds, ...]:
        """The bounds that are found if nothing stands out from the noise."""
        ends = ((target.about, *target.bins.widest) for target in self.targets)
        return tuple(
            FoundBounds(about=about, low=low, high=high, seen=False) for about, low, high in ends
        )
