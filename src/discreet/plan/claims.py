"""The link between a price and what is enforced: no release is priced for less than can move.

Trust: kernel.  A claim is how far one unit is said to move what is released, and noise is scaled to
it.  A lowered question is what an engine enforces, whatever the data is.

Definition.  A claim *covers* a measure if it allows for as many groups as a unit can be in, of as
many as there can be, and in each of them for all that the measure lets a unit add.
Theorem (key ``bounded-contribution``).  If every claim covers its measure, one unit moves nothing
that is released further than it is priced for, however the claim was inferred.
Proof.  The engine keeps a unit in at most ``groups`` groups, of those that are public where they
are, and bounds what it adds to each by the measure alone.  A larger claim is never cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.errors import OutOfRange
from discreet.plan.distances import Distances
from discreet.plan.lowered import Distinct, Leaves, Lowered, Measure, Total
from discreet.plan.noises import UNITS, Choice, Noise

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.plan.tree import Releases

__all__ = ["check_claims"]


def check_claims(lowered: Lowered, releases: Releases) -> None:
    """Refuse to price releases for less than a lowered question lets one unit move."""
    enforced = _Enforced.by(lowered)
    if not all(_covered(enforced, releases)):
        raise OutOfRange(
            what="a release is priced for less than one person can move it.",
            why="its noise would be too small to hide that person.",
            do="report this as a bug.",
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Enforced:
    """In how many groups a unit is, of how many in all, and what it can add to each."""

    groups: int
    available: int | None
    measures: dict[str, Measure]

    @classmethod
    def by(cls, lowered: Lowered) -> _Enforced:
        """Return what an engine enforces."""
        available = None if lowered.public is None else max(len(lowered.public), 1)
        if not lowered.keys:
            available = 1
        groups = 1 if lowered.groups is None else lowered.groups
        return cls(
            groups=groups if available is None else min(groups, available),
            available=available,
            measures={each.name: each for each in lowered.measures},
        )

    def within(self, groups: int, available: int | None) -> bool:
        """Whether a claim allows for all groups of a unit, of as many as there can be."""
        known = self.available
        listed = available is None or (known is not None and known <= available)
        return listed and self.groups <= groups

    def covered(self, name: str, far: Distances) -> bool:
        """Whether distances cover a measure, or the number of units."""
        measure = self.measures.get(name)
        match measure:
            case None:
                added = name == UNITS and far.low <= 1 <= far.high
            case Total(low=low, high=high):
                added = far.low <= low and high <= far.high
            case Distinct(most=most):
                added = far.low <= 0 and most <= far.high
            case Leaves(leaves=leaves, rows=rows):  # of which the leaves are the groups
                once = far.low <= 1 <= far.high and self.groups * rows <= far.groups
                return once and (far.available is None or leaves <= far.available)
        return added and self.within(far.groups, far.available)

    def ranked(self, choice: Choice) -> bool:
        """Whether a choice allows for all rows of a unit."""
        measure = self.measures.get(choice.measure)
        rows = isinstance(measure, Leaves) and measure.rows <= choice.rows
        return rows and self.within(choice.groups, choice.available)

    def counted(self, name: str) -> int | None:
        """Return how much a unit adds to the count that chooses groups."""
        if name == UNITS:
            return 1
        measure = self.measures.get(name)
        return measure.most if isinstance(measure, Total) else None


def _covered(enforced: _Enforced, releases: Releases) -> Iterable[bool]:
    yield from (_noise(enforced, each) for each in releases.noises)
    yield from (enforced.ranked(each) for each in releases.choices)
    if releases.selection is not None:
        most = enforced.counted(releases.chosen_by)
        claimed = getattr(releases.selection, "most", 1)
        yield most is not None and most <= claimed
        yield enforced.groups <= releases.selection.groups


def _noise(enforced: _Enforced, noise: Noise) -> bool:
    return enforced.covered(noise.measure, noise.distances)
