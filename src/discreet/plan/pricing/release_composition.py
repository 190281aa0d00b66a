"""The composition of a plan: a leaf for every release, none priced for less than can move.

Trust: kernel (T7).

This tree is what a ledger charges.  A claim is how far one unit is said to move
what is released, and noise is scaled to it. An engine request is what an engine enforces, whatever
the data is.

Definition.  All leaves are certified for units that are added or removed, and if the relation of
the unit lets one unit take the place of another, for that as well (key ``plan-distances``): so the
price of a question whose scope not every unit need be in is known too.

Definition.  A claim *covers* a measure if it allows for as many groups as a unit can be in, of as
many as there can be, and in each of them for all that the measure lets a unit add.
Theorem (key ``bounded-contribution``).  If every claim covers its measure, one unit moves nothing
that is released further than it is priced for, however the claim was inferred.
Proof.  The engine keeps a unit in at most ``groups`` groups, of those that are public if they
are, and bounds what it adds to each by the measure alone.  A larger claim is never cheaper.
That units are always there (key ``always-there``) is believed of no question: it is claimed only
for the number of units, if each row is one, and the request is for one group of a whole table,
with no node above it that could drop a row.  The engine then counts the rows of the table,
whatever they hold, and these are as many in all neighbors under ``replace``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from discreet import mechanisms
from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.errors import OutOfRange
from discreet.mechanisms import Gaussian
from discreet.plan.pricing.group_sensitivity import (
    UNITS,
    GroupSensitivity,
    LeafChoice,
    Noise,
    Releases,
    ScoredChoice,
    root_up,
    steps_up,
    trees_of,
)
from discreet.plan.pricing.linear_strategy import (
    CellSensitivity,
    SimplexTotals,
    coordinates_of,
)
from discreet.plan.pricing.quantile_tree import QuantileTree
from discreet.query.relations import Scan
from discreet.requests.engine_request import (
    CellSums,
    DistinctCount,
    DistinctSum,
    EngineRequest,
    Leaves,
    Measure,
    Total,
)
from discreet.units import PrivacyUnit, Relation


def composition_of(releases: Releases, unit: PrivacyUnit) -> Node:
    """Return the composition of all releases, for a unit.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.plan.pricing.group_sensitivity import GroupSensitivity
    >>> from discreet.units import person
    >>> far = GroupSensitivity(low=0, high=5, groups=2, available=None)
    >>> visits = Noise(measure="count", mechanism=Laplace(scale=20), distances=far)
    >>> tree = composition_of(Releases(noises=(visits,)), person("patient"))
    >>> tree.price(1, 0).epsilon(delta=0)
    0.5
    """
    leaves = tuple(_leaves(releases, unit))
    return leaves[0] if len(leaves) == 1 else Sequential(*leaves)


def _leaves(releases: Releases, unit: PrivacyUnit) -> Iterator[Node]:
    whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
    replaced = unit.relation.replaces
    by_sums = isinstance(releases.selection, mechanisms.SumKeys)
    summed = coordinates_of(releases.noises) if by_sums else None
    if releases.selection is not None:
        keys = releases.selection
        loss = replace(keys, relation=Relation.REPLACE).loss() if replaced else None
        name = "keys" if summed is None else summed.measure
        yield Leaf(releases.selection, name=name, unit=whose, replaced=loss)
    for noise in releases.noises:
        if noise is not summed:  # which the price of the keys covers
            yield _noisy(noise, whose, replaced=replaced)
    for tree, read in trees_of(releases.choices).items():
        levels = len({choice.use for choice in read})
        noise = Noise(
            measure=f"{tree.measure} at {levels} levels",
            mechanism=tree.mechanism,
            distances=tree.distances,
        )
        yield _noisy(noise, whose, replaced=replaced)
    for choice in releases.choices:
        if isinstance(choice, ScoredChoice):
            yield _chosen(choice, whose, replaced=replaced)


def _noisy(noise: Noise, whose: PrivacyUnit, *, replaced: bool) -> Leaf:
    far = noise.distances
    if isinstance(noise.mechanism, Gaussian):
        relation = Relation.REPLACE if replaced else Relation.ADD_REMOVE
        return Leaf(
            noise.mechanism,
            name=noise.measure,
            unit=whose,
            added=root_up(far.added_squared),
            replaced=root_up(far.replaced_squared) if replaced else None,
            coordinates=far.places(relation),
        )
    return Leaf(
        noise.mechanism,
        name=noise.measure,
        unit=whose,
        added=steps_up(far.added),
        replaced=steps_up(far.replaced) if replaced else None,
    )


def _chosen(choice: ScoredChoice, whose: PrivacyUnit, *, replaced: bool) -> Node:
    """Return one choice for each group of a unit."""
    only = replaced and choice.available == 1
    leaf = Leaf(
        choice.mechanism,
        name=choice.name,
        unit=whose,
        added=choice.added,
        replaced=Fraction(choice.rows) if only else None,
    )
    return leaf if choice.groups == 1 else Repeat(leaf, choice.groups)


def check_claims(request: EngineRequest, releases: Releases) -> None:
    """Refuse to price releases for less than a request question lets one unit move."""
    enforced = Enforced.by(request)
    if not all(_covered(enforced, releases)):
        raise OutOfRange(
            what="a release is priced for less than one person can move it.",
            why="its noise would be too small to hide that person.",
            do="report this as a bug.",
        )


def counts_all_rows(request: EngineRequest) -> bool:
    """Whether units are the rows of a whole table, in one group, and nothing can drop one.

    >>> counts_all_rows(
    ...     EngineRequest(relation=Scan("visits", ()), unit=(), keys=(), groups=None, measures=()))
    True
    """
    return isinstance(request.relation, Scan) and not (request.unit or request.keys)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Enforced:
    """In how many groups a unit is, of how many in all, and what it can add to each."""

    groups: int
    available: int | None
    measures: dict[str, Measure]
    all_rows: bool
    listed: int | None = None

    @classmethod
    def by(cls, request: EngineRequest) -> Enforced:
        """Return what an engine enforces."""
        available = None if request.public is None else max(len(request.public), 1)
        if not request.keys:
            available = 1
        groups = 1 if request.groups is None else request.groups
        return cls(
            groups=groups if available is None else min(groups, available),
            available=available,
            measures={measure.name: measure for measure in request.measures},
            all_rows=counts_all_rows(request),
            listed=None if request.listed is None else len(request.listed),
        )

    def within(self, groups: int, available: int | None) -> bool:
        """Whether a claim allows for all groups of a unit, of as many as there can be."""
        known = self.available
        listed = available is None or (known is not None and known <= available)
        return listed and self.groups <= groups

    def covered(self, name: str, far: GroupSensitivity) -> bool:
        """Whether distances cover a measure, or the number of units."""
        if isinstance(far, CellSensitivity):
            return not far.always and far.cells.covered(far, self)
        measure = self.measures.get(name)
        if far.always and not (self.all_rows and name == UNITS):
            return False
        match measure:
            case None:
                added = name == UNITS and far.low <= 1 <= far.high
            case Total(ends=ends) | DistinctCount(ends=ends) | DistinctSum(ends=ends):
                added = far.low <= ends[0] and ends[1] <= far.high
            case Leaves(leaves=leaves, rows=rows):  # of which the leaves are the groups
                once = far.low <= 1 <= far.high and self.groups * rows <= far.groups
                return once and (far.available is None or leaves <= far.available)
            case CellSums():
                return False
        return added and self.within(far.groups, far.available)

    def ranked(self, choice: LeafChoice) -> bool:
        """Whether a choice allows for all rows of a unit."""
        measure = self.measures.get(choice.measure)
        rows = isinstance(measure, Leaves) and measure.rows <= choice.rows
        return rows and self.within(choice.groups, choice.available)

    def counted_in(self, tree: QuantileTree) -> bool:
        """Whether a tree allows for all rows of a unit, and has a place for every leaf."""
        measure, far = self.measures.get(tree.measure), tree.distances
        if not isinstance(measure, Leaves) or measure.leaves != far.leaves or far.always:
            return False
        return measure.rows <= far.high and self.within(far.groups, far.available)

    def counted(self, name: str) -> int | None:
        """Return how much a unit adds to the count that chooses groups."""
        if name == UNITS:
            return 1
        measure = self.measures.get(name)
        return measure.most if isinstance(measure, Total) else None


def _covered(enforced: Enforced, releases: Releases) -> Iterable[bool]:
    yield from (enforced.covered(noise.measure, noise.distances) for noise in releases.noises)
    yield from (enforced.ranked(release) for release in releases.choices)
    yield from map(enforced.counted_in, trees_of(releases.choices))
    if releases.selection is not None:
        most = enforced.counted(releases.chosen_by)
        claimed = getattr(releases.selection, "most", 1)
        yield most is not None and most <= claimed
        yield enforced.groups <= releases.selection.groups
    if isinstance(releases.selection, mechanisms.SumKeys):
        yield _summed(coordinates_of(releases.noises), releases.selection, enforced)


def _summed(noise: Noise, keys: mechanisms.SumKeys, enforced: Enforced) -> bool:
    """Whether keys are chosen by these noisy coordinates, to which units add no more than that.

    Each unit adds exactly as much to their sum as the choice says, by ``simplex-release``;
    :func:`Enforced.covered` says that an engine keeps it there.
    """
    far, strategy = noise.distances, noise.distances.strategy
    if strategy is None or not isinstance(strategy.source, SimplexTotals):
        return False
    return (
        strategy.source.of_each_unit(strategy, enforced.measures) == keys.most
        and noise.mechanism == keys.noise
        and strategy.size == keys.coordinates
        and far.most_squared <= keys.squared
        and far.groups <= keys.groups
    )
