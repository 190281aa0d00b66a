"""What a charge had to cost, worked out again from its tree, its scope and its delta.

Trust: kernel.

Everything is looked up by the text that was recorded: equal texts are read once, and equal parts of
a tree have their price worked out once for each currency, whatever the scope is.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

from discreet.accounting import codec
from discreet.accounting.box import Box
from discreet.accounting.budget import priced
from discreet.accounting.contribution import Contribution
from discreet.accounting.currency import Amounts, Currency
from discreet.accounting.node import Node
from discreet.accounting.owed import Piece
from discreet.accounting.request import Asker, Portion
from discreet.exact import rational
from discreet.loss.limits import checked_delta
from discreet.units import PrivacyUnit, Relation, same_unit

__all__ = ["Pieces", "Prices"]

Pieces = tuple[Piece, ...]
"""What one charge costs an account: boxes, and the price in each."""

_KEPT: Final = 1 << 14
_EVERYTHING: Final = Box.everything()
_ONE: Final = frozenset({Relation.ADD_REMOVE, Relation.REPLACE_NULL})


@final
@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree, and the prices of its parts by part, currency, delta and how neighbors differ."""

    node: Node
    known: dict[tuple[Node, Currency, Fraction | None, bool], Amounts] = field(default_factory=dict)


@final
class Prices:
    """What requests cost, for the unit of a ledger.

    >>> from discreet.accounting import Budget, Leaf, written
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> tree, scope = written(Leaf(Pure(epsilon="0.1"))), Box.everything().written()
    >>> prices = Prices(unit=row())
    >>> found = prices.of(json.dumps(tree), json.dumps(scope), "null", Budget(epsilon=1).currency)
    >>> found[0].added
    (100000000000000000000000, 0)
    """

    __slots__ = ("_asker", "_found", "_tree")

    def __init__(
        self,
        *,
        unit: PrivacyUnit,
        constant: Iterable[str] = (),
        contribution: Contribution | None = None,
    ) -> None:
        """Take who is protected, and what is known of the rows of one unit."""
        shared = tuple(constant)
        self._asker = Asker(unit=same_unit(unit), constant=shared, contribution=contribution)
        self._tree = functools.lru_cache(_KEPT)(_read_tree)
        self._found = functools.lru_cache(_KEPT)(self._work_out)

    def learn(self, constant: Iterable[str]) -> bool:
        """Take more columns that all rows of a unit share, and say whether there were any."""
        new = tuple(each for each in constant if each not in self._asker.constant)
        self._asker = replace(self._asker, constant=(*self._asker.constant, *new))
        self._found.cache_clear()
        return bool(new)

    @property
    def relation(self) -> Relation:
        """How neighbors differ."""
        return self._asker.unit.relation

    def of(self, tree: str, scope: str, delta: str, currency: Currency) -> Pieces:
        """Return the boxes that a request is about and what it costs there, from JSON texts."""
        return self._found(tree, scope, delta, currency)

    def _work_out(self, tree: str, scope: str, delta: str, currency: Currency) -> Pieces:
        said = json.loads(delta)
        chance = None if said is None else checked_delta(rational(said, name="delta"))
        known = self._tree(tree)
        portions = self._asker.pieces(known.node, Box.read(json.loads(scope)))
        return tuple(self._piece(known, part, currency, chance) for part in portions)

    def _piece(
        self, tree: _Tree, part: Portion, currency: Currency, delta: Fraction | None
    ) -> Piece:
        """Price a part where one unit is added or removed, and where one is replaced."""
        price = functools.partial(self._price, tree, part.node, currency, delta)
        if self.relation in _ONE:
            one = price(two=False)
            return Piece(part.box, one, one)
        both = price(two=True)
        if part.surely and self.relation is not Relation.EITHER:
            everywhere = part.box == _EVERYTHING  # no neighbors differ in one unit that it sees
            return Piece(part.box, both if everywhere else price(two=False), both)
        one = price(two=False)
        return Piece(part.box, one, tuple(map(max, one, both)))

    def _price(
        self, tree: _Tree, node: Node, currency: Currency, delta: Fraction | None, *, two: bool
    ) -> Amounts:
        key = (node, currency, delta, two)
        if key not in tree.known:
            loss = self._asker.two_sided(node) if two else self._asker.one_sided(node)
            tree.known[key] = priced(currency, loss, delta)
        return tree.known[key]


def _read_tree(text: str) -> _Tree:
    return _Tree(codec.read(json.loads(text)))
