"""Options: the prices that may be worst, where they arise, and how to keep few of them.

Trust: kernel.

Definition.  An option says which cells of the public domain the changed rows lie in, and what the
tree loses there; the price of a tree is the largest over options, question by question.
Theorem (key ``dominance``).  Composing keeps domination, so an option that another one dominates
may be dropped before both are composed with the same rest, without changing the price.
Where too many remain, some are replaced by one product above them all: the price may rise, and it
is no longer that of a neighbor that exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from discreet.accounting.worst_case.fold import Price
from discreet.loss.composition import Composition
from discreet.loss.dominance import dominates
from discreet.loss.moments import RenyiCurve
from discreet.loss.pair import Pair

Moments = tuple[float, ...]

OptionCell = tuple[str, int, int, int]
"""A column, a side (1 old, 2 new), an atom of the column, and how many rows lie there."""

MOST_OPTIONS: Final = 2048
"""More incomparable options than this are merged."""

COMPARED: Final = 12
"""How many of the largest and of the nearest options one is compared with; more do not pay."""

MOMENT_ORDERS: Final = (
    0.25,
    0.5,
    1.0,
    2.0,
    3.0,
    5.0,
    8.0,
    12.0,
    18.0,
    27.0,
    40.0,
    60.0,
    90.0,
    135.0,
)
"""Orders at which moments are compared."""

MOMENT_ROUNDING: Final = 1e-9
"""Relative error of a sum of moments, with room to spare.

ln E e**(tL) is at least 0 for t > 0, so nothing cancels: a sum of n such numbers is off by at most
n 2**-53 of itself, to first order, which is below 1e-9 for n up to eight million.
"""

_MIDDLE: Final = 6


@final
@dataclass(frozen=True, slots=True)
class Option:
    """What is lost, the cells in which it arises, and whether the price is attained there."""

    composition: Composition
    cells: tuple[OptionCell, ...] = ()
    attained: bool = True
    _moments: list[Moments] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, price: Price, cells: tuple[OptionCell, ...]) -> Option:
        """Return the option of a price."""
        return cls(price.composition(), cells, price.attained)

    @property
    def moments(self) -> Moments:
        """Bounds on ln E e**(tL), worked out when options are first compared."""
        if not self._moments:
            self._moments.append(self.composition.log_moments(MOMENT_ORDERS))
        return self._moments[0]

    def compose(self, other: Option) -> Option:
        """Compose with what is lost in columns that this one does not depend on."""
        return Option(
            self.composition.compose(other.composition),
            (*self.cells, *other.cells),
            self.attained and other.attained,
        )


def pruned(options: Iterable[Option], most: int = MOST_OPTIONS) -> list[Option]:
    """Drop what is provably dominated; merge neighbors where too many are left."""
    first: dict[tuple[Composition, bool], Option] = {}
    for option in options:
        first.setdefault((option.composition, option.attained), option)
    found = list(first.values())
    if len(found) <= 1:
        return found
    kept: list[Option] = []
    for option in sorted(found, key=_size, reverse=True):
        if not any(_is_above(other, option) for other in (*kept[:COMPARED], *kept[-COMPARED:])):
            kept.append(option)
    while len(kept) > most:
        kept = pruned([_merged(kept[at : at + 2]) for at in range(0, len(kept), 2)], most=len(kept))
    return kept


def _is_above(one: Option, other: Option) -> bool:
    """Return whether the other can be forgotten; attained ones yield to attained ones only.

    A larger composition has larger moments, so that most comparisons need no matching.  Where
    rounding hides that they are not larger, the pairs are matched, and decide.
    """
    if other.attained and not one.attained:
        return False
    pairs = zip(one.moments, other.moments, strict=True)
    if any(a < b * (1 - MOMENT_ROUNDING) for a, b in pairs):
        return False
    return dominates(one.composition, other.composition)


def _merged(options: Sequence[Option]) -> Option:
    """Return one option above several: each pair as often as where it is most frequent."""
    if len(options) == 1:
        return options[0]
    counts: dict[Pair, int] = {}
    curve: RenyiCurve | None = None
    for option in options:
        for pair, count in option.composition.pairs:
            counts[pair] = max(count, counts.get(pair, 0))
        more = option.composition.renyi
        if more is not None and more != curve:
            curve = more if curve is None else curve + more
    return Option(Composition(tuple(counts.items()), curve), (), attained=False)


def _size(option: Option) -> tuple[float, bool]:
    return option.moments[_MIDDLE], option.attained
