"""Budgets: balances, accounts, and limits that two people raise.

Trust: kernel.  A request changes nothing: the ledger raises a limit, and records both people.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, final

from discreet.accounting import Budget, Left
from discreet.accounting.amounts import format_down
from discreet.errors import DiscreetError, LedgerUnavailable, NotAllowed, OutOfRange
from discreet.ledger import Ledger
from discreet.ledger.values import Account, checked_reason
from discreet.service.opened_site import OpenedSite
from discreet.service.roles import Caller, Permission
from discreet.service.state import SecurityLog, StateStore
from discreet.service.views import AccountView, RaiseView


@final
class Raises:
    """All requests of a site."""

    __slots__ = ("_log", "_store")

    def __init__(self, store: StateStore, *, log: SecurityLog) -> None:
        """Take where they are kept."""
        self._store, self._log = store, log

    def add(
        self, dataset: str, *, account: str, budget: Mapping[str, str], reason: str, by: str
    ) -> RaiseView:
        """Note a request."""
        written = json.dumps(dict(budget), sort_keys=True)
        with self._store.transaction() as within:
            row = within.execute(
                "INSERT INTO requests (dataset, account, budget, reason, by, at, state) "
                "VALUES (?, ?, ?, ?, ?, ?, 'open') RETURNING *",
                (dataset, account, written, checked_reason(reason), by, time.time()),
            ).fetchone()
            self._log.write("request", by=by, dataset=dataset, detail=f"{account} {written}")
        return _request_view(row)

    def of(self, dataset: str) -> tuple[RaiseView, ...]:
        """Return the requests about a dataset, the newest first."""
        rows = self._store.rows(
            "SELECT * FROM requests WHERE dataset = ? ORDER BY id DESC", dataset
        )
        return tuple(map(_request_view, rows))

    def find(self, number: int) -> RaiseView:
        """Return a request."""
        row = self._store.row("SELECT * FROM requests WHERE id = ?", number)
        if row is None:
            raise _unknown_request()
        return _request_view(row)

    def decide(self, number: int, *, state: str, by: str) -> RaiseView:
        """Note a decision; there is one for each request."""
        with self._store.transaction() as within:
            row = within.execute(
                "UPDATE requests SET state = ?, decided_by = ? WHERE id = ? AND state = 'open' "
                "RETURNING *",
                (state, by, number),
            ).fetchone()
            if row is None:
                raise _unknown_request()
            view = _request_view(row)
            self._log.write(
                f"request {state}", by=by, person=view.by, dataset=view.dataset, detail=view.account
            )
        return view

    def reopen(self, number: int) -> None:
        """Take a decision back that the ledger has refused."""
        with self._store.transaction() as within:
            within.execute(
                "UPDATE requests SET state = 'open', decided_by = NULL WHERE id = ?", (number,)
            )


def _request_view(row: Any) -> RaiseView:
    held = dict(row)
    return RaiseView(**{**held, "budget": json.loads(held["budget"])})


def _unknown_request() -> OutOfRange:
    return OutOfRange(
        what="there is no such request, or it was decided before.",
        why="one decision is made about each request.",
        do="list the requests, and give the number of an open one.",
    )


class BudgetCounter(OpenedSite):
    """Keeps accounts, and decides on requests."""

    __slots__ = ()

    @property
    def _raises(self) -> Raises:
        return Raises(self._store, log=self.log)

    def budget(self, caller: Caller, dataset: str) -> tuple[AccountView, ...]:
        """Return the balance of every account, the root first."""
        self._check(caller, dataset, Permission.BUDGET)
        ledger = self._ledgers[dataset]
        return tuple(
            _account_view(ledger, account) for _, account in sorted(ledger.accounts.items())
        )

    def remaining(self, caller: Caller, dataset: str) -> Left:
        """Return the balance for questions about everybody, in the account that pays."""
        self._check(caller, dataset, Permission.BUDGET)
        return self._ledgers[dataset].left(account=self.account_of(caller, dataset))

    def open_account(
        self, caller: Caller, dataset: str, path: str, *, budget: Mapping[str, str] | None
    ) -> AccountView:
        """Open an account below an existing one, with limits of its own if any are given."""
        self._check(caller, dataset, Permission.DECIDE)
        limits = None if budget is None else read_budget(budget)
        ledger = self._ledgers[dataset]
        account = ledger.open_account(path, budget=limits, by=caller.person)
        with suppress(LedgerUnavailable):  # the entry of the ledger says it
            self.log.write("account", by=caller.person, dataset=dataset, detail=account.path)
        return _account_view(ledger, account)

    def requests(self, caller: Caller, dataset: str) -> tuple[RaiseView, ...]:
        """Return the requests for higher limits: all of them, or those of the caller alone."""
        self._check(caller, dataset, Permission.BUDGET)
        found = self._raises.of(dataset)
        if caller.may(Permission.DECIDE, dataset):
            return found
        return tuple(each for each in found if each.by == caller.person)

    def request(
        self, caller: Caller, dataset: str, *, account: str, budget: Mapping[str, str], reason: str
    ) -> RaiseView:
        """Ask for a higher limit of an account; another person decides."""
        self._check(caller, dataset, Permission.REQUEST)
        read_budget(budget)
        accounts = self._ledgers[dataset].accounts
        if account not in accounts or not accounts[account].limited:
            raise OutOfRange(
                what="there is no such account, or it has no limits of its own.",
                why="a limit is raised where there is one.",
                do=f"use one of: {', '.join(sorted(p for p, a in accounts.items() if a.limited))}.",
            )
        return self._raises.add(
            dataset, account=account, budget=budget, reason=reason, by=caller.person
        )

    def decide(self, caller: Caller, request: int, *, approve: bool) -> RaiseView:
        """Approve or decline another person's request; approval raises the limit on record."""
        found = self._raises.find(request)
        self._check(caller, found.dataset, Permission.DECIDE)
        if found.by == caller.person:
            raise NotAllowed(
                what="the same person requests and approves it.",
                why="what weakens a promise takes two people.",
                do="have somebody else approve it.",
            )
        if not approve:
            return self._raises.decide(request, state="declined", by=caller.person)
        decided = self._raises.decide(request, state="approved", by=caller.person)
        try:
            self._ledgers[found.dataset].raise_limit(
                found.account,
                budget=read_budget(found.budget),
                reason=found.reason,
                by=found.by,
                approved_by=caller.person,
            )
        except DiscreetError:
            self._raises.reopen(request)
            raise
        return decided


def read_budget(given: Mapping[str, str]) -> Budget:
    """Read a budget from the names and texts of its parts."""
    names = {"epsilon", "delta", "rho"}
    if not given or not set(given) <= names or not all(isinstance(v, str) for v in given.values()):
        raise OutOfRange(
            what="a budget is given by epsilon, rho and delta, as texts.",
            why="it is kept exactly.",
            do='give {"epsilon": "3", "delta": "1e-9"}, say.',
        )
    return Budget(**dict(given))


def _account_view(ledger: Ledger, account: Account) -> AccountView:
    if not account.limited:
        return AccountView(
            path=account.path, limited=False, left="as above", share_left=1.0, amounts=()
        )
    left = ledger.left(account=account.path)
    parts = list(zip(left.budget.components, left.amounts, left.budget.limit, strict=True))
    shares = [float(have) / float(limit) for _, have, limit in parts if limit]
    return AccountView(
        path=account.path,
        limited=True,
        left=str(left),
        share_left=min(shares, default=1.0),
        amounts=tuple(
            (name, format_down(have), format_down(limit)) for name, have, limit in parts if limit
        ),
    )
