"""Requests: what is asked, of which records, and what it loses for one of them and for two.

Trust: kernel.

Definition.  A request is a tree that was fixed before it is asked, so that it is one request with
one price, worked out tightly (key ``general-composition``).  Its scope is a box outside which no
record is looked at.  Where the tree starts with a condition, or with parallel parts such that all
rows of a unit lie in the same part, each part is charged in its own box.
A loss that is given by itself is one for the unit of the filter; a mechanism given by itself is
run on rows, at distance 1 for each.  Both count as certified for added and removed records.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from discreet import accounting  # its door loads the accountant, which no single leaf needs
from discreet.accounting.scopes.box import Box
from discreet.accounting.scopes.contribution import Contribution
from discreet.accounting.tree.leaf import Leaf
from discreet.accounting.tree.leaf_product import leaf_product
from discreet.accounting.tree.node import Node
from discreet.errors import NotComposable, WrongKind
from discreet.loss import PrivacyLoss
from discreet.mechanisms import Mechanism
from discreet.units import PrivacyUnit, Relation

Priceable = Node | PrivacyLoss | Mechanism[Any, Any]
"""What can be asked for: a tree, a loss, or a mechanism."""


@final
@dataclass(frozen=True, slots=True)
class RequestPart:
    """What is released of the units in a box.

    Unless it ``sees_every_unit``, some of them may have no row that it looks at; of two units in
    the box it may then see one alone.
    """

    box: Box
    node: Node
    sees_every_unit: bool = True


@functools.lru_cache(maxsize=16)  # a plan is priced when it is made, and again where it is charged
def _price_of(node: Node, unit: PrivacyUnit, contribution: Contribution | None) -> PrivacyLoss:
    product = leaf_product(node, unit)
    if product is not None:
        return product
    return accounting.account(node, unit=unit, contribution=contribution).loss


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPricer:
    """For whom requests are priced: a unit, what its rows share, and how many there can be.

    >>> from discreet.loss import ZeroConcentrated
    >>> from discreet.units import row
    >>> rows = RequestPricer(unit=row(relation="replace"))
    >>> request = rows.node(ZeroConcentrated(rho="0.1"))
    >>> rows.one_sided(request), rows.two_sided(request)
    (ZeroConcentrated(rho=Fraction(1, 10)), ZeroConcentrated(rho=Fraction(2, 5)))
    """

    unit: PrivacyUnit
    constant: tuple[str, ...] = ()
    contribution: Contribution | None = None

    def node(self, what: Priceable) -> Node:
        """Return the tree of a request."""
        match what:
            case Node():
                return what
            case Mechanism():
                return Leaf(what)
            case PrivacyLoss():
                local = self.unit.relation is Relation.LOCAL
                return Leaf(what, unit=self._with(Relation.LOCAL if local else Relation.ADD_REMOVE))
            case _:
                raise WrongKind(
                    what=f"a {type(what).__name__} is not something that can be charged.",
                    why="only a tree, a loss or a mechanism has a price.",
                    do="give a tree of accounting, such as Leaf(Laplace(scale=2)), or a loss.",
                )

    def pieces(self, node: Node, scope: Box) -> list[RequestPart]:
        """Return what is released of disjoint boxes of units; other units are free."""
        if any(isinstance(leaf, Leaf) and leaf.common_domain for leaf in node.walk()):
            return [RequestPart(Box.everything(), node)]  # its price is about two records at once
        several = {each.overlapping_key() for each in node.walk()} - {None}
        if several:  # also refuses what is not covered: parts are priced one by one below
            from discreet.accounting.tree.parallel import overlapping_keys  # noqa: PLC0415  rare

            overlapping_keys(node, [])
        parts = []
        for box, part in self._parts(node, scope):
            single = {name: values for name, values in box.conditions if name not in several}
            units = (box if box.empty else Box(single)).for_unit(self.unit, self.constant)
            sees_every_unit = units.exact and len(single) == len(box.conditions)
            parts.append(RequestPart(units.region, part, sees_every_unit=sees_every_unit))
        return [portion for portion in parts if not portion.box.empty]

    def _parts(self, node: Node, scope: Box) -> Iterator[tuple[Box, Node]]:
        below = node.regions(self._shared)
        if below is None:
            yield scope, node
            return
        for box, child in below:
            yield from self._parts(child, scope & box)

    def one_sided(self, node: Node) -> PrivacyLoss:
        """Return the loss where one unit is added or removed."""
        placed = self.unit.relation is Relation.REPLACE_NULL
        return self._loss(node, Relation.REPLACE_NULL if placed else Relation.ADD_REMOVE)

    def two_sided(self, node: Node) -> PrivacyLoss:
        """Return the loss where one unit is replaced by another that the request can see too."""
        local = self.unit.relation is Relation.LOCAL
        return self._loss(node, Relation.LOCAL if local else Relation.REPLACE)

    def loss(self, node: Node) -> PrivacyLoss:
        """Return the loss for the unit and its relation, where all units are looked at."""
        if not self.unit.relation.adds:
            return self.two_sided(node)
        one = self.one_sided(node)
        return one.join(self.two_sided(node)) if self.unit.relation.replaces else one

    def _loss(self, node: Node, relation: Relation) -> PrivacyLoss:
        if isinstance(node, Leaf) and self._certified(node):
            inserted = int(relation.replaces)
            return node.price(1, inserted, wanted=relation)
        self._refuse_uncounted(node)
        return _price_of(node, self._with(relation), self.contribution)

    def _with(self, relation: Relation) -> PrivacyUnit:
        return PrivacyUnit(name=self.unit.name, columns=self.unit.columns, relation=relation)

    def _certified(self, leaf: Leaf) -> bool:
        """Whether a leaf is known for just the unit of this book."""
        return {*self.unit.columns} == {*(leaf.unit.columns if leaf.unit else ())}

    def _shared(self, column: str) -> bool:
        """Whether all rows of a unit have the same value in a column."""
        return not self.unit.columns or column in {*self.unit.columns, *self.constant}

    def _refuse_uncounted(self, node: Node) -> None:
        """Refuse trees whose price depends on how many rows a unit has, if that is not known."""
        if not self.unit.columns or self.contribution is not None:
            return
        if all(below.takes_whole(self.unit.columns) for below in node.walk()):
            return
        raise NotComposable(
            what=f"how many rows belong to one {self.unit.name} is not known.",
            why="the request looks at rows, and all those of one unit count together.",
            do="give contribution=Contribution(rows=...), or leaves that are known for the unit: "
            f"Leaf(..., unit={self.unit.name}(...)).",
        )
