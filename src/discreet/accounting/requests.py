"""Requests: what is asked, of which records, and what it costs.

Trust: kernel.  A price that is taken for another one is too low for somebody.

Definition.  A request is a tree that was fixed before it is asked, so that it is one request with
one price, worked out tightly (key ``general-composition``).  Its scope is a box outside which no
record is looked at.  If the tree starts with a condition, or with parallel parts such that all
rows of a unit are in the same part, each part is charged in its own box.
A loss that is given by itself is one for the unit of the filter; a mechanism given by itself is
run on rows, at distance 1 for each.  Both count as certified for added and removed records.

The price of a request is a function of what is asked, its scope, the delta that is spent on it, the
currency, and for whom it is: of nothing that was charged or priced before, and not of the limits.
So prices are kept by these, the least recently used ones are forgotten first, and all filters of
one unit share them.  A loss is brought into one order before it is converted.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

from discreet import accounting  # its door loads the accountant, which no single leaf needs
from discreet.accounting.balances import ChargedBox, PriceBasis
from discreet.accounting.box import Box, Contribution, checked_box
from discreet.accounting.currencies import Amounts, Currency
from discreet.accounting.nodes import Leaf, Node, Post
from discreet.accounting.parts_and_samples import Parallel, Where, overlapping_keys, takes_whole
from discreet.errors import NotComposable, WrongKind
from discreet.loss import PrivacyLoss
from discreet.loss.parameters import checked_delta
from discreet.mechanisms import Mechanism
from discreet.units import PrivacyUnit, Relation, same_unit

_EVERYTHING: Final = Box.everything()
_KEPT: Final = 1024
"""Prices."""


Priceable = Node | PrivacyLoss | Mechanism[Any, Any]
"""What can be asked for: a tree, a loss, or a mechanism."""


@functools.lru_cache(maxsize=_KEPT)
def _price_of(node: Node, unit: PrivacyUnit, contribution: Contribution | None) -> PrivacyLoss:
    return accounting.account(node, unit=unit, contribution=contribution).loss


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPricer:
    """For whom requests are priced: a unit, what its rows share, and how many there can be."""

    unit: PrivacyUnit
    constant: tuple[str, ...] = ()
    contribution: Contribution | None = None

    def __post_init__(self) -> None:
        """Check the unit, and name each column once."""
        object.__setattr__(self, "constant", tuple(dict.fromkeys(self.constant)))
        same_unit(self.unit)

    def sharing(self, columns: Iterable[str]) -> RequestPricer:
        """Return a pricer that knows more columns in which all rows of a unit agree."""
        return replace(self, constant=(*self.constant, *columns))

    def pieces(
        self, what: Priceable, currency: Currency, *, scope: Box | None = None, delta: object = None
    ) -> tuple[ChargedBox, ...]:
        """Return the disjoint boxes that a request is about, and what each costs.

        Args:
            what: a tree, a mechanism or a loss.
            currency: what is counted.
            scope: the records that it can depend on; all, unless given.
            delta: what to spend on events outside which the loss is smaller, or has a price.
        """
        box = _EVERYTHING if scope is None else checked_box(scope, name="scope")
        probability = None if delta is None else checked_delta(delta)
        return _pieces(self, self.node(what), currency, box, probability)

    def node(self, what: Priceable) -> Node:
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
                    f"a {type(what).__name__} is not something that can be charged; give a tree "
                    "of accounting, such as Leaf(Laplace(scale=2)), or a loss."
                )

    def parts(self, node: Node, scope: Box) -> list[tuple[Box, Node, bool]]:
        """Return disjoint boxes of units, what is released of each, and whether it sees them all.

        Otherwise some units may have no row that it looks at; of two units in the box it may then
        see one alone.  Units in no box are free.
        """
        if any(isinstance(leaf, Leaf) and leaf.common_domain for leaf in node.walk()):
            return [(_EVERYTHING, node, True)]  # its price is about two records at once
        several = overlapping_keys(node, [])  # parts are priced one by one below
        parts = []
        for box, part in self._parts(node, scope):
            single = {name: values for name, values in box.conditions if name not in several}
            units = (box if box.empty else Box(single)).for_unit(self.unit, self.constant)
            if not units.empty:
                all_seen = units.exact and len(single) == len(box.conditions)
                parts.append((units.region, part, all_seen))
        return parts

    def _parts(self, node: Node, scope: Box) -> Iterator[tuple[Box, Node]]:
        """Yield what is released, each with the box of units that it is about."""
        match node:
            case Where(box=box, child=child):
                yield from self._parts(child, scope & box)
            case Post(child=child):
                yield from self._parts(child, scope)
            case Parallel(key=key, parts=parts, overlap=1) if self._shared(key):
                for values, child in parts:
                    yield from self._parts(child, scope & Box({key: values}))
            case _:
                yield scope, node

    def one_sided(self, node: Node) -> PrivacyLoss:
        """Return the loss if one unit is added or removed."""
        return self._loss(node, Relation.ADD_REMOVE)

    def two_sided(self, node: Node) -> PrivacyLoss:
        """Return the loss if one unit is replaced by another that the request can see too."""
        local = self.unit.relation is Relation.LOCAL
        return self._loss(node, Relation.LOCAL if local else Relation.REPLACE)

    def loss(self, node: Node) -> PrivacyLoss:
        """Return the loss for the unit and its relation, if all units are looked at."""
        if not self.unit.relation.adds:
            return self.two_sided(node)
        one = self.one_sided(node)
        return one.join(self.two_sided(node)) if self.unit.relation.replaces else one

    def _loss(self, node: Node, relation: Relation) -> PrivacyLoss:
        mine = {*self.unit.columns}
        if isinstance(node, Leaf) and mine == {*(node.unit.columns if node.unit else ())}:
            return node.price(1, int(relation.replaces))
        self._refuse_uncounted(node)
        return _price_of(node, self._with(relation), self.contribution)

    def _with(self, relation: Relation) -> PrivacyUnit:
        return PrivacyUnit(name=self.unit.name, columns=self.unit.columns, relation=relation)

    def _shared(self, column: str) -> bool:
        """Whether all rows of a unit have the same value in a column."""
        return not self.unit.columns or column in {*self.unit.columns, *self.constant}

    def _refuse_uncounted(self, node: Node) -> None:
        """Refuse trees whose price depends on how many rows a unit has, if that is not known."""
        if not self.unit.columns or self.contribution is not None:
            return
        if takes_whole(node, self.unit.columns):
            return
        raise NotComposable(
            what=f"how many rows belong to one {self.unit.name} is not known.",
            why="the request looks at rows, and all those of one unit count together.",
            do="give contribution=Contribution(rows=...), or leaves that are known for the unit: "
            f"Leaf(..., unit={self.unit.name}(...)).",
        )


@functools.lru_cache(_KEPT)
def _pieces(
    pricer: RequestPricer, node: Node, currency: Currency, scope: Box, delta: Fraction | None
) -> tuple[ChargedBox, ...]:
    terms = PriceBasis(currency, pricer.unit)
    pieces = []
    for box, part, sees_every_unit in pricer.parts(node, scope):
        both = sees_every_unit and pricer.unit.relation is not Relation.EITHER
        only_two = both and box == _EVERYTHING
        one, two = _prices(pricer, part, currency, delta, only_two)
        larger = tuple(map(max, zip(one, two, strict=True)))
        pieces.append(ChargedBox(box, one, two if both else larger, terms))
    return tuple(pieces)


@functools.lru_cache(_KEPT)
def _prices(
    pricer: RequestPricer,
    node: Node,
    currency: Currency,
    delta: Fraction | None,
    only_two: bool,  # noqa: FBT001  (part of a key)
) -> tuple[Amounts, Amounts]:
    """Return the price if one unit is added or removed, and if one is replaced."""
    if not pricer.unit.relation.replaces:
        price = currency.price(pricer.one_sided(node), delta)
        return price, price
    two = currency.price(pricer.two_sided(node), delta)
    one = two if only_two else currency.price(pricer.one_sided(node), delta)
    return one, two
