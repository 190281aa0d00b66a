"""Accounts: a tree of budgets, each within its limits at every moment.

Trust: kernel.  An overspent account that goes unnoticed is a broken promise.

    open      names the root, which has a budget
    describe  says of a table which columns all rows of a unit share
    account   is new, and below an existing one
    raise     goes to an account with a budget, keeps its currency, lowers nothing, raises something
    restore   may count what is left of every account as spent, on a route that is not known: all
              routes have to fit from then on
    charge    debits exactly the accounts with a budget on its path, at no less than its price

Theorem (key ``limits-by-segment``).  Cut the charges of an account at its raises.  If the sums at
the end of each segment fit into the limits that held there, they fitted at every moment.
    Proof.  Amounts are not negative, so that sums only grow, cell by cell; within a segment the
    limits stay the same; and what fits into limits still fits when it is smaller.
So charges may be added up in any order between two raises: those of the same box and the same shape
(in which components two records pay more than twice what one does) are added first, which changes
no sum.
A cell is in some box that was charged, or has paid only what was charged everywhere.  So it is
enough that the highest payments within each charged box fit.  They may come from different cells,
one of which fits in epsilon and another in rho, or from cells that a full map has merged in another
order; where they do not fit, the charges are replayed one by one as they were accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from discreet.accounting.amounts import added
from discreet.accounting.balances import (
    ChargedBox,
    OneRecordBalances,
    TwoRecordBalances,
)
from discreet.accounting.box import Box, Contribution, shared_columns
from discreet.accounting.budget import Budget
from discreet.accounting.codec import decode_unit
from discreet.accounting.currencies import Amounts
from discreet.ledger.verify.charges import Charges, Pieces, RecomputedPrices, safely
from discreet.ledger.verify.entry_format import parent
from discreet.ledger.verify.parsing import ChargeTexts
from discreet.ledger.verify.report import AccountBalance
from discreet.units import Relation

_EVERYTHING: Final = Box.everything()


@final
@dataclass(slots=True)
class _Segment:
    """The charges under one budget, by number, and what they cost."""

    budget: Budget
    charges: list[tuple[int, Pieces]] = field(default_factory=list)
    rest_spent: bool = False
    """Whether everything that was left before counts as spent."""

    def sums_by_box(self) -> Iterator[ChargedBox]:
        """Yield what was charged to each box, added up."""
        times = Counter(id(pieces) for _, pieces in self.charges)
        once = {id(pieces): pieces for _, pieces in self.charges}
        sums: dict[tuple[Box, tuple[bool, ...]], tuple[Amounts, Amounts]] = {}
        for name, count in times.items():
            for piece in once[name]:
                place = (piece.box, _shape(piece))
                nothing = tuple(0 for _ in piece.added)
                alone, pair = sums.get(place, (nothing, nothing))
                sums[place] = (added(alone, piece.added, count), added(pair, piece.replaced, count))
        for (box, _), (alone, pair) in sums.items():
            yield ChargedBox(box, alone, pair)


@final
class AccountHistory:
    """What was charged to an account, and what its limits were."""

    __slots__ = ("_relation", "_segments")

    def __init__(self, budget: Budget, relation: Relation) -> None:
        """Take the first budget, and how neighbors differ."""
        self._relation = relation
        self._segments = [_Segment(budget)]

    @property
    def budget(self) -> Budget:
        """The budget at the end."""
        return self._segments[-1].budget

    def charge(self, seq: int, pieces: Pieces) -> None:
        """Note a charge; equal charges are added up fastest if they are the same object."""
        self._segments[-1].charges.append((seq, pieces))

    def raise_to(self, budget: Budget) -> None:
        """Note that the limits were raised."""
        self._segments.append(_Segment(budget))

    def spend_rest(self) -> None:
        """Note that what was left counts as spent."""
        self._segments.append(_Segment(self.budget, rest_spent=True))

    def totals(self) -> tuple[tuple[int, ...], int]:
        """Return what was spent in the end, and the first charge that did not fit, or 0."""
        owed = self._nothing()
        within, boxes = True, set[Box]()
        for segment in self._segments:
            if segment.rest_spent:
                owed, boxes = self._everything(segment.budget), set()
            for piece in segment.sums_by_box():
                owed.add((piece,))
                boxes.add(piece.box)
            owed.budget = segment.budget
            within = within and _fits(owed, boxes)
        return owed.worst(_EVERYTHING), 0 if within else self._first_refused()

    def _first_refused(self) -> int:
        owed = self._nothing()
        for segment in self._segments:
            if segment.rest_spent:
                owed = self._everything(segment.budget)
            owed.budget = segment.budget
            for seq, pieces in segment.charges:
                if not owed.fits(pieces):
                    return seq
                owed.add(pieces)
        return 0

    def _everything(self, budget: Budget) -> OneRecordBalances | TwoRecordBalances:
        """Owe what charges that are not known can have cost under a budget."""
        owed = self._nothing()
        owed.everywhere, owed.every_route = budget.limit, True
        return owed

    def _nothing(self) -> OneRecordBalances | TwoRecordBalances:
        kind = TwoRecordBalances if self._relation.replaces else OneRecordBalances
        return kind.nothing(self._segments[0].budget)


def _fits(owed: OneRecordBalances | TwoRecordBalances, boxes: set[Box]) -> bool:
    if owed.within(owed.worst(_EVERYTHING)):
        return True
    return owed.within(owed.everywhere) and all(
        owed.within(owed.worst(box)) for box in boxes - {_EVERYTHING}
    )


def _shape(piece: ChargedBox) -> tuple[bool, ...]:
    """Say in which components two records pay more than twice what one does."""
    return tuple(pair > 2 * alone for alone, pair in zip(piece.added, piece.replaced, strict=True))


_BUDGET: Final = ("budget", "its budget cannot be read, or allows more than it promises.")

Fields = Mapping[str, Any]
Wrong = Iterator[tuple[str, str]]
"""What is wrong: a kind and a message each."""


@final
class Accounts:
    """Which accounts there are, and what was charged to them.

    >>> accounts = Accounts()
    >>> list(accounts.add({"account": "data/flu", "budget": None}))
    [('account', 'the account above it does not exist.')]
    """

    __slots__ = ("_charges", "_histories", "_paths", "_relation")

    def __init__(self) -> None:
        """Start without any."""
        self._relation: Relation | None = None
        self._charges: Charges | None = None
        self._histories: dict[str, AccountHistory | None] = {}
        self._paths: dict[str, dict[str, Budget]] = {}  # the first budgets on the way to each

    def open(self, entry: Fields) -> Wrong:
        """Take the first entry."""
        prices = safely(_read_prices, entry)
        if prices is None:
            yield "open", "its unit, columns or contribution cannot be read."
        else:
            self._relation, self._charges = prices.relation, Charges(prices)
        if parent(entry["account"]):
            yield "account", "the first account lies below another."
        yield from self._put(entry)

    def describe(self, entry: Fields) -> None:
        """Take a description; that of a table says what all rows of a unit share in it."""
        if entry["what"] == "schema" and self._charges is not None:
            self._charges.learn(shared_columns(entry["content"]))

    def add(self, entry: Fields) -> Wrong:
        """Take a new account."""
        path = entry["account"]
        if path in self._histories:
            yield "account", "it exists already."
            return
        if parent(path) not in self._histories:
            yield "account", "the account above it does not exist."
        yield from self._put(entry)

    def _put(self, entry: Fields) -> Wrong:
        path, data = entry["account"], entry["budget"]
        budget = None if data is None else safely(Budget.read, data)
        if data is not None and budget is None:
            yield _BUDGET
        self._histories[path] = None
        self._paths[path] = self._paths.get(parent(path), {}).copy()
        if budget is not None and self._relation is not None:
            self._histories[path] = AccountHistory(budget, self._relation)
            self._paths[path][path] = budget

    def raise_to(self, entry: Fields) -> Wrong:
        """Take higher limits."""
        history = self._histories.get(entry["account"])
        budget = safely(Budget.read, entry["budget"])
        if history is None:
            yield "raise", "its account does not exist, or has no budget."
        elif budget is None:
            yield _BUDGET
        elif not _raises(history.budget, budget):
            yield "raise", "it changes the currency, lowers something, or raises nothing."
        else:
            history.raise_to(budget)

    def spend_rest(self) -> None:
        """Count what is left of every account as spent."""
        for history in self._histories.values():
            if history is not None:
                history.spend_rest()

    def charge(self, seq: int, path: str, said: ChargeTexts) -> Wrong:
        """Take a charge to an account."""
        if path not in self._histories:
            yield "charge", "its account does not exist."
            return
        if self._charges is None:
            return
        debits = self._charges.debits(said, self._paths[path])
        yield from debits.problems
        for account, pieces in debits.pieces.items():
            history = self._histories[account]
            if history is not None:
                history.charge(seq, pieces)

    def balances(self, wrong: Callable[[int, str, str], None]) -> tuple[AccountBalance, ...]:
        """Add up what was charged to each account, and say where it did not fit."""
        return tuple(self._balance(path, wrong) for path in sorted(self._histories))

    def _balance(self, path: str, wrong: Callable[[int, str, str], None]) -> AccountBalance:
        history = self._histories[path]
        if history is None:
            return AccountBalance(account=path, components=(), spent=(), limit=())
        budget = history.budget
        settled = safely(history.totals)
        if settled is None:
            wrong(0, "sum", f"what was charged to {path} cannot be added up.")
        spent, refused = settled or (tuple(0 for _ in budget.limit), 0)
        if refused:
            wrong(refused, "sum", f"it does not fit into what was left of {path}.")
        return AccountBalance(
            account=path, components=budget.components, spent=spent, limit=budget.limit
        )


def _raises(old: Budget, new: Budget) -> bool:
    if old.currency != new.currency:
        return False
    pairs = list(zip(old.limit, new.limit, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _read_prices(entry: Fields) -> RecomputedPrices:
    given = entry["contribution"]
    return RecomputedPrices(
        unit=decode_unit(entry["unit"]),
        constant=entry["constant"],
        contribution=None if given is None else Contribution.read(given),
    )
