"""A book: what was spent of a budget, record by record, and whether more fits.

Trust: kernel.

Definition.  A book keeps one filter for each cell of records that its charges have told apart.  A
charge names what is released and its scope, the records that it can depend on; it is accepted if
every cell it touches stays within the limits of the budget, and otherwise refused before anything
is changed.  Neither the price nor the decision looks at data, so both may be public.
Theorem (keys ``cell-filters``, ``cell-pairs``).  Whatever is charged, one by one and in view of all
answers, the guarantee of the budget holds for the unit of the book.  Questions about disjoint
groups cost as much as those about one of them.
A tree is one charge, at its tight price, because it was fixed before it was asked (key
``general-composition``).  For units of several rows a scope counts only as far as all rows of a
unit share it: the columns that name the unit, and those that are declared constant.
Assumes: one book for one set of people; each charge is entered before its data is read, and is not
taken back.  Interactive mechanisms are charged as a whole, and run one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, final

from discreet.accounting.amounts import shown_down
from discreet.accounting.box import Box
from discreet.accounting.budget import Budget
from discreet.accounting.contribution import Contribution
from discreet.accounting.currency import Amounts, shown_amounts
from discreet.accounting.left import Left, shown_unit
from discreet.accounting.node import Node
from discreet.accounting.owed import OneRecord, Owed, Piece, TwoRecords
from discreet.accounting.request import Asker, What
from discreet.errors import OverBudget, WrongKind
from discreet.loss import PrivacyLoss
from discreet.units import PrivacyUnit, Relation, same_unit

__all__ = ["Book", "Charge"]

_ONE: Final = frozenset({Relation.ADD_REMOVE, Relation.REPLACE_NULL})
_SHOWN: Final = 3


@final
@dataclass(frozen=True, slots=True)
class Charge:
    """What was charged: disjoint boxes of records, and what each costs.

    ``amounts`` is the most that any of them costs, component by component.
    """

    number: int
    pieces: tuple[Piece, ...]
    budget: Budget
    unit: PrivacyUnit

    @property
    def amounts(self) -> Amounts:
        """The most that a record pays, or, where records are replaced, that two of one box do."""
        one = self.unit.relation in _ONE
        each = [piece.added if one else piece.replaced for piece in self.pieces]
        nothing = tuple(0 for _ in self.budget.limit)
        return tuple(max(column) for column in zip(nothing, *each, strict=True))

    def __str__(self) -> str:
        """Show the price, rounded up, and whom it is about."""
        price = shown_amounts(self.budget.currency, self.amounts)
        where = " | ".join(str(piece.box) for piece in self.pieces[:_SHOWN]) or "nothing"
        more = len(self.pieces) - _SHOWN
        others = f" | {more} more" if more > 0 else ""
        return f"{price} for {shown_unit(self.unit)}, about {where}{others}"


@final
class Book:
    """A budget that is spent charge by charge.

    >>> from discreet.accounting import equals
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> book = Book(Budget(epsilon=1), unit=row())
    >>> for state in ("CA", "NY", "TX"):
    ...     charge = book.charge(Pure(epsilon="0.6"), scope=Box({"state": equals(state)}))
    >>> print(book.left())
    epsilon 0.4 of 1, kept in basic, for one row under add_remove
    >>> book.charge(Pure(epsilon="0.5"))
    Traceback (most recent call last):
    discreet.errors.OverBudget
    >>> book.left(Box({"state": equals("WA")})).how_many(Pure(epsilon="0.1"))
    10
    """

    __slots__ = ("_asker", "_budget", "_charges", "_owed")

    def __init__(
        self,
        budget: Budget,
        *,
        unit: PrivacyUnit,
        constant: Iterable[str] = (),
        contribution: Contribution | None = None,
    ) -> None:
        """Take a budget, whom it protects, and what is known of the rows of one unit.

        Args:
            budget: the limits.
            unit: who is protected, under which relation.
            constant: columns in which all rows of a unit agree.
            contribution: how many rows belong to one unit; needed for requests about rows.
        """
        if not isinstance(budget, Budget) or isinstance(constant, str):
            raise WrongKind(
                what="a book is opened without a budget, or with a text for constant columns.",
                why="the budget says what may be lost, and each constant column is named.",
                do="give Budget(...), and constant=['birth_year'] say.",
            )
        shared = tuple(constant)
        self._asker = Asker(unit=same_unit(unit), constant=shared, contribution=contribution)
        self._budget = budget
        kind = OneRecord if unit.relation in _ONE else TwoRecords
        self._owed: Owed = kind.nothing(budget)
        self._charges = 0

    @property
    def budget(self) -> Budget:
        """The limits."""
        return self._budget

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        return self._asker.unit

    @property
    def guarantee(self) -> PrivacyLoss:
        """What holds of all answers together, whatever was and will be asked."""
        return self._budget.guarantee

    @property
    def spent(self) -> Amounts:
        """The most that neighbors owe so far: what counts against the limits, not a guarantee."""
        return self._owed.worst(Box.everything())

    def charge(self, what: What, *, scope: Box | None = None, delta: object = None) -> Charge:
        """Charge a request, or refuse it and change nothing.

        Args:
            what: a tree, a mechanism or a loss.
            scope: the records that it can depend on; all, unless given.
            delta: what to spend on events outside which the loss is smaller, or has a price.
        """
        pieces = self._pieces(what, scope, delta)
        if not self._owed.fits(pieces):
            raise self._refusal(pieces)
        self._owed.add(pieces)
        self._charges += 1
        return Charge(self._charges, tuple(pieces), self._budget, self.unit)

    def left(self, scope: Box | None = None) -> Left:
        """Return what is left for requests about a scope, or about everything."""
        spent = self._owed.worst(self._region(scope))
        amounts = (limit - paid for limit, paid in zip(self._budget.limit, spent, strict=True))
        return Left(
            budget=self._budget,
            unit=self.unit,
            amounts=tuple(max(amount, 0) for amount in amounts),
            fitting=lambda what, delta: self._fitting(self._pieces(what, scope, delta)),
        )

    def _fitting(self, pieces: list[Piece]) -> Callable[[int], bool]:
        return lambda times: self._owed.fits(pieces, times)

    def _region(self, scope: Box | None) -> Box:
        box = Box.everything() if scope is None else scope
        if not isinstance(box, Box):
            raise WrongKind(
                what=f"the scope is a {type(box).__name__}, not a Box.",
                why="which records a request can depend on must be public.",
                do="give a box, such as Box({'age': at_least(18)}).",
            )
        return box.for_unit(self.unit, self._asker.constant).region

    def _pieces(self, what: What, scope: Box | None, delta: object) -> list[Piece]:
        self._region(scope)  # refuses what is no box
        whole = Box.everything() if scope is None else scope
        known: dict[tuple[Node, bool], tuple[Amounts, Amounts]] = {}
        pieces = []
        for part in self._asker.pieces(self._asker.node(what), whole):
            both = part.surely and self.unit.relation is not Relation.EITHER
            key = (part.node, both and part.box == Box.everything())
            if key not in known:
                known[key] = self._prices(part.node, delta, only_two=key[1])
            one, two = known[key]
            pieces.append(Piece(part.box, one, two if both else _larger(one, two)))
        return pieces

    def _prices(self, node: Node, delta: object, *, only_two: bool) -> tuple[Amounts, Amounts]:
        """Return the price where one unit is added or removed, and where one is replaced."""
        if self.unit.relation in _ONE:
            price = self._budget.price(self._asker.one_sided(node), delta=delta)
            return price, price
        two = self._budget.price(self._asker.two_sided(node), delta=delta)
        one = two if only_two else self._budget.price(self._asker.one_sided(node), delta=delta)
        return one, two

    def _refusal(self, pieces: list[Piece]) -> OverBudget:
        charge = Charge(self._charges + 1, tuple(pieces), self._budget, self.unit)
        worst = [self._owed.worst(piece.box) for piece in pieces]
        spent = [max(column) for column in zip(*worst, strict=True)]
        parts = zip(self._budget.components, self._budget.limit, spent, strict=True)
        left = ", ".join(f"{name} {shown_down(limit - paid)}" for name, limit, paid in parts)
        return OverBudget(
            what=f"the request costs {charge}; what is left there is {left}.",
            why=f"answering it could cost somebody more than was promised: {self._budget}.",
            do="ask for less precision or about fewer records, or plan several questions as one.",
        )


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return tuple(max(pair) for pair in zip(one, other, strict=True))
