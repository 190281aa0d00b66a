"""Accounts: a tree in which a charge debits all budgets on its path, each within its limits.

Trust: kernel.

    open      names the root, which has a budget
    describe  tells of a table what all rows of a unit share in it
    account   is new, and lies below one that exists
    raise     goes to an account with a budget, keeps its currency, lowers nothing, raises something
    restore   may count what is left of every account as spent
    charge    debits exactly the accounts with a budget on its path, at no less than its price
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, final

from discreet.accounting.budget import Budget
from discreet.accounting.codec import read_unit
from discreet.accounting.contribution import Contribution
from discreet.accounting.scope_column import shared_columns
from discreet.ledger.verify.charges import Charges, safely
from discreet.ledger.verify.entries import Said
from discreet.ledger.verify.prices import Prices
from discreet.ledger.verify.report import Standing
from discreet.ledger.verify.shapes import parent
from discreet.ledger.verify.sums import History
from discreet.units import Relation

__all__ = ["Accounts"]

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
        self._histories: dict[str, History | None] = {}
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
            self._histories[path] = History(budget, self._relation)
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

    def forfeit(self) -> None:
        """Count what is left of every account as spent."""
        for history in self._histories.values():
            if history is not None:
                history.forfeit()

    def charge(self, seq: int, path: str, said: Said) -> Wrong:
        """Take a charge to an account."""
        if path not in self._histories:
            yield "charge", "its account does not exist."
            return
        if self._charges is None:
            return
        found = self._charges.debits(said, self._paths[path])
        yield from found.problems
        for each, pieces in found.pieces.items():
            history = self._histories[each]
            if history is not None:
                history.charge(seq, pieces)

    def standings(self, wrong: Callable[[int, str, str], None]) -> tuple[Standing, ...]:
        """Add up what was charged to each account, and say where it did not fit."""
        return tuple(self._standing(path, wrong) for path in sorted(self._histories))

    def _standing(self, path: str, wrong: Callable[[int, str, str], None]) -> Standing:
        history = self._histories[path]
        if history is None:
            return Standing(account=path, components=(), spent=(), limit=())
        budget = history.budget
        settled = safely(history.settle)
        if settled is None:
            wrong(0, "sum", f"what was charged to {path} cannot be added up.")
        spent, refused = settled or (tuple(0 for _ in budget.limit), 0)
        if refused:
            wrong(refused, "sum", f"it does not fit into what was left of {path}.")
        return Standing(account=path, components=budget.components, spent=spent, limit=budget.limit)


def _raises(old: Budget, new: Budget) -> bool:
    if old.currency != new.currency:
        return False
    pairs = list(zip(old.limit, new.limit, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _read_prices(entry: Fields) -> Prices:
    given = entry["contribution"]
    return Prices(
        unit=read_unit(entry["unit"]),
        constant=entry["constant"],
        contribution=None if given is None else Contribution.read(given),
    )
