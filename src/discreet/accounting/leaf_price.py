"""What a leaf loses, by the rules of the relation that its source is certified for.

Trust: kernel.

Theorem (key ``leaf-distance``; Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe 2024,
Composition in Differential Privacy for General Granularity Notions, CSF).  Let one step of the
relation move the input of a mechanism by at most d, and let replacing a row move it by at most e.
If r rows are removed and i others inserted, then by the triangle inequality the input moves by at
most

    add_remove        min(r, i) e + |r - i| d,  and by (r + i) d;  if e is not known, it is 2 d: a
                      row leaves, and another comes
    replace, local    r d if r = i; otherwise nothing is known
    either            max(r, i) d

A loss is priced along the same chains of neighbors (keys ``group-distance``, ``group-profile``).
If rows only leave, or only come, each link of the chain has the same direction, and so has the
price; elsewhere the larger of both directions is chained.
Scores and queries that are promised to move in one direction keep the promise only if all
changed rows do: a replaced row costs its two links, or twice its distance.
A ``local`` source is run on each row by itself, so that it is a chain even if the mechanism
holds all its inputs to be neighbors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from discreet import mechanisms  # its door loads a mechanism if one is asked for
from discreet.errors import OutOfRange, TooLarge
from discreet.loss import Approximate, Composition, PrivacyLoss, Profile, Pure, RenyiDP
from discreet.loss.finite import FinitePair
from discreet.mechanisms.mechanism import Mechanism
from discreet.units import Relation

if TYPE_CHECKING:  # loaded when first used, because most questions need few of these
    from discreet.accounting.nodes import Leaf


Source = Mechanism[Any, Any] | PrivacyLoss
"""What a leaf releases: a mechanism, or all that is known of one."""

UNPROTECTED: Final = Approximate(epsilon=0, delta=1)
"""The loss of telling everything: nothing is promised."""

FREE: Final = Pure(epsilon=0)

_MOST_LINKS: Final = 100

_KEPT: Final = 4096
"""Prices: more than a question has releases."""


@functools.lru_cache(maxsize=_KEPT)
def exact_price(leaf: Leaf, gone: int, come: int) -> PrivacyLoss:
    """Price a change of at least one row, by the relation of the certificate."""
    if not leaf.relation.replaces:
        return _chained(leaf, gone, come)
    match leaf.relation:
        case Relation.EITHER if gone and come:
            return _stepped(leaf, gone + come if _one_way(leaf) else max(gone, come))
        case Relation.EITHER:
            return _one_sided(leaf, gone + come)
        case _ if gone != come:
            return UNPROTECTED
        case Relation.LOCAL:
            return _group(_both_ways(_stepped(leaf, 2 if _one_way(leaf) else 1)), gone)
        case _:
            return _stepped(leaf, 2 * gone if _one_way(leaf) else gone)


@functools.lru_cache(maxsize=_KEPT)
def price_up_to(leaf: Leaf, gone: int, come: int) -> PrivacyLoss:
    """Price every change of at most these numbers of rows at once."""
    if leaf.relation.size_is_public:
        return UNPROTECTED
    if leaf.relation is Relation.EITHER or min(gone, come) == 0:
        return exact_price(leaf, gone, come)
    most = max(gone, come)
    if _free_when_replaced(leaf):
        return _stepped(leaf, most)
    if isinstance(leaf.replaced, Fraction):
        if _when_replaced(leaf) < leaf.added:  # dearest if no row takes another's place
            return _at(leaf, most * leaf.added)
        return exact_price(leaf, gone, come)
    return _stepped(leaf, gone + come)


def _chained(leaf: Leaf, gone: int, come: int) -> PrivacyLoss:
    """Price a chain of rows that leave, come or are replaced."""
    swaps, rest = min(gone, come), abs(gone - come)
    if swaps == 0 or _free_when_replaced(leaf):
        return _one_sided(leaf, rest)
    if isinstance(leaf.replaced, Fraction):
        moved = swaps * _when_replaced(leaf) + rest * leaf.added
        return _at(leaf, min(moved, (gone + come) * leaf.added))
    chain = _stepped(leaf, gone + come)
    if rest:
        return chain
    if isinstance(leaf.replaced, PrivacyLoss):
        # the smaller of two bounds: the chain only if it is proved no larger
        known = _replaced(leaf, leaf.replaced, swaps)
        return chain if known.dominates(chain) else known
    return chain


def _replaced(leaf: Leaf, loss: PrivacyLoss, swaps: int) -> PrivacyLoss:
    """Price several replaced rows, if the loss of one is known."""
    source = leaf.source
    if swaps > 1 and isinstance(
        source, mechanisms.NoisyKeys | mechanisms.OptimalKeys
    ):  # they know more than a chain
        far = swaps * leaf.added
        return _tried(lambda: replace(source, relation=Relation.REPLACE).loss(distance=far))
    return _group(_both_ways(loss), swaps)


def _free_when_replaced(leaf: Leaf) -> bool:
    """Say whether the distribution of the answer stays the same if rows are replaced."""
    return isinstance(leaf.replaced, PrivacyLoss) and leaf.replaced.pure_bound() == 0


def _when_replaced(leaf: Leaf) -> Fraction:
    """Return how far a replaced row moves the input; what moves both ways counts twice."""
    assert isinstance(leaf.replaced, Fraction)  # noqa: S101  (for the type checker)
    return 2 * leaf.replaced if _one_way(leaf) else leaf.replaced


def _one_sided(leaf: Leaf, steps: int) -> PrivacyLoss:
    """Price a chain whose links all have one direction."""
    if not isinstance(leaf.source, PrivacyLoss):
        return _at(leaf, leaf.added if steps == 1 else steps * leaf.added)
    chain = _group(leaf.source, steps)
    return chain if chain != UNPROTECTED else _group(_both_ways(leaf.source), steps)


def _stepped(leaf: Leaf, steps: int) -> PrivacyLoss:
    """Price a chain of ``steps`` links, regardless of the direction of each."""
    if isinstance(leaf.source, PrivacyLoss):
        return _group(_both_ways(leaf.source), steps)
    return _at(leaf, steps * leaf.added)


def _at(leaf: Leaf, distance: Fraction) -> PrivacyLoss:
    """Price the mechanism at a distance, in its own units."""
    source = leaf.source
    if distance == 0 or isinstance(source, PrivacyLoss):
        return FREE
    return _loss_at(source, distance, leaf.coordinates)


@functools.lru_cache(maxsize=_KEPT)
def _loss_at(
    source: mechanisms.Mechanism[Any, Any], distance: Fraction, coordinates: int
) -> PrivacyLoss:
    """Return the loss of a mechanism; leaves with other names share it."""
    more = {"coordinates": coordinates} if coordinates > 1 else {}
    return _tried(lambda: source.loss(distance=distance, **more))


def _group(loss: PrivacyLoss, steps: int) -> PrivacyLoss:
    """Return the loss of a chain of steps; a long one is not followed link by link."""
    if steps <= 1:
        return loss if steps else FREE
    bound = loss.pure_bound()
    if steps <= _MOST_LINKS or not _link_by_link(loss):
        return _tried(lambda: loss.group(steps))
    return UNPROTECTED if bound is None else _tried(lambda: Pure(epsilon=steps * bound))


def _link_by_link(loss: PrivacyLoss) -> bool:
    """Say whether the loss of a chain is computed one link after the other."""
    if not isinstance(loss, Profile):
        return isinstance(loss, RenyiDP)
    sides = (*loss.remove, *loss.add)
    known_orders = any(side.renyi is not None and side.renyi.orders for side in sides)
    return known_orders or any(
        isinstance(pair, FinitePair) for side in sides for pair, _ in side.pairs
    )


def _tried(price: Callable[[], PrivacyLoss]) -> PrivacyLoss:
    """Return a loss, or that nothing is protected if it is too large to be written down."""
    try:
        return price()
    except (OutOfRange, TooLarge):
        return UNPROTECTED


def _both_ways(loss: PrivacyLoss) -> PrivacyLoss:
    """Return a loss that holds whichever of two neighbors comes first.

    If it has alternatives, ``group`` puts one pair above them before it chains them.
    """
    if not isinstance(loss, Profile) or loss.remove == loss.add:
        return loss
    sides = tuple(dict.fromkeys((*loss.remove, *loss.add)))
    either = Profile(remove=sides, add=sides, indivisible=loss.indivisible)
    return either.compose(Profile.symmetric(Composition()))  # puts one pair above the sides


def _one_way(leaf: Leaf) -> bool:
    """Say whether the source is priced for inputs that move in one direction."""
    source = leaf.source
    monotone = getattr(source, "monotone", False) is True
    return monotone or getattr(source, "change", None) is mechanisms.ScoreChange.MONOTONE
