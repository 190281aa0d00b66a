"""Leaves one after another: the product of what they lose, for one unit that comes or goes.

Trust: kernel.

Theorem (key ``dominating-pair``).  A sequence of releases loses no more than the product of what
they lose, also if later ones depend on earlier answers.
Where a tree has nothing but leaves, sequences and repeats, and no leaf has alternatives or loses
other than its reverse, that product is what the accountant of
:mod:`discreet.accounting.worst_case` finds, pair by pair: no scenario is worse than another.  It is
worked out here in a fraction of the time.  All other trees are left to the accountant.  What a unit
may hold makes no difference here: the unit is one row, or all leaves are certified for just this
unit, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.accounting.tree.leaf import Leaf
from discreet.accounting.tree.node import Node, Repeat, Sequential
from discreet.loss.composition import Composition
from discreet.loss.pair import Pair
from discreet.loss.profile import Profile
from discreet.units import PrivacyUnit, Relation


def leaf_product(tree: Node, unit: PrivacyUnit) -> Profile | None:
    """Return what a unit loses where it comes or goes; None where the accountant has to look.

    >>> from discreet.mechanisms import Laplace
    >>> from discreet.units import row
    >>> two = leaf_product(2 * Leaf(Laplace(scale=4)) + Leaf(Laplace(scale=2)), row())
    >>> two.epsilon(delta=0)
    1.0
    """
    if unit.relation is not Relation.ADD_REMOVE:
        return None
    pairs: list[tuple[Pair, int]] = []
    for leaf, times in _leaves(tree):
        once = None if leaf is None else _single(leaf, unit)
        if once is None:
            return None
        for pair, count in once.pairs:
            if pair.infinity().low >= 1:  # nothing is protected
                return None
            pairs.append((pair, times * count))
    if not pairs:
        return None
    both = (Composition(tuple(pairs)),)
    return Profile(remove=both, add=both, indivisible=True)  # of parts unknown


def _leaves(node: Node, times: int = 1) -> Iterator[tuple[Leaf | None, int]]:
    """Yield leaves with counts, in order; None for any other node."""
    match node:
        case Leaf():
            yield node, times
        case Sequential(children=children):
            for child in children:
                yield from _leaves(child, times)
        case Repeat(child=child, count=count):
            if count:
                yield from _leaves(child, times * count)
        case _:
            yield None, times


def _single(leaf: Leaf, unit: PrivacyUnit) -> Composition | None:
    """Return the pairs of a leaf for one unit, if they are the same both ways."""
    known = leaf.takes_whole(unit.columns) if unit.columns else leaf.unit is None
    if not known or leaf.common_domain:
        return None
    loss = leaf.price(1, 0, wanted=Relation.ADD_REMOVE)
    profile = loss if isinstance(loss, Profile) else None
    if profile is None or profile.remove is not profile.add or len(profile.remove) > 1:
        return None
    return None if profile.remove[0].renyi is not None else profile.remove[0]
