"""The composition of a plan: one leaf for everything that is released.

Trust: kernel.  This tree is what a ledger charges.

Definition.  All leaves are certified for units that are added or removed, and where the relation of
the unit lets one unit take the place of another, for that as well (key ``plan-distances``): so the
price of a question whose scope not every unit need be in is known too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, final

from discreet.accounting import Leaf, Node, Repeat, Sequential
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Gaussian
from discreet.plan.distances import TWO_SIDED, root_up, steps_up
from discreet.plan.noises import UNITS, Choice, Noise
from discreet.units import PrivacyUnit, Relation

if TYPE_CHECKING:  # loaded when first used, because a plain question needs none of it
    from discreet.mechanisms import NoisyKeys, OptimalKeys

__all__ = ["Releases", "tree_of"]

_SIDES: Final = {0: "", -1: ", from below", 1: ", from above"}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """Everything that is released: which keys are shown, noisy totals, chosen values.

    ``chosen_by`` names the count that chooses keys, and is released with them if it has noise.
    """

    selection: OptimalKeys | NoisyKeys | None = None
    chosen_by: str = UNITS
    noises: tuple[Noise, ...] = ()
    choices: tuple[Choice, ...] = ()


def tree_of(releases: Releases, unit: PrivacyUnit) -> Node:
    """Return the composition of all releases, for a unit.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.plan.distances import Distances
    >>> from discreet.units import person
    >>> far = Distances(low=0, high=5, groups=2, available=None)
    >>> visits = Noise(measure="count", mechanism=Laplace(scale=20), distances=far)
    >>> tree = tree_of(Releases(noises=(visits,)), person("patient"))
    >>> tree.price(1, 0).epsilon(delta=0)
    0.5
    """
    found = tuple(_leaves(releases, unit))
    return found[0] if len(found) == 1 else Sequential(*found)


def _leaves(releases: Releases, unit: PrivacyUnit) -> Iterator[Node]:
    whose = PrivacyUnit(name=unit.name, columns=unit.columns, relation=Relation.ADD_REMOVE)
    replaced = unit.relation in TWO_SIDED
    if releases.selection is not None:
        loss = _keys_replaced(releases.selection) if replaced else None
        yield Leaf(releases.selection, name="keys", unit=whose, replaced=loss)
    for noise in releases.noises:
        yield _noisy(noise, whose, replaced=replaced)
    for choice in releases.choices:
        yield _chosen(choice, whose, replaced=replaced)


def _keys_replaced(keys: OptimalKeys | NoisyKeys) -> PrivacyLoss:
    """Return the loss of the same choice where units are replaced."""
    return replace(keys, relation=Relation.REPLACE).loss()


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


def _chosen(choice: Choice, whose: PrivacyUnit, *, replaced: bool) -> Node:
    """Return one choice for each group of a unit."""
    only = replaced and choice.available == 1
    leaf = Leaf(
        choice.mechanism,
        name=f"{choice.measure} at {choice.level}{_SIDES[choice.side]}",
        unit=whose,
        added=choice.added,
        replaced=Fraction(choice.rows) if only else None,
    )
    return leaf if choice.groups == 1 else Repeat(leaf, choice.groups)
