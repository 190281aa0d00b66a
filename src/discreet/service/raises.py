"""Requests for higher limits, until a second person decides.

Trust: kernel.  A request changes nothing: the ledger raises a limit, and records both people.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, final

from discreet.errors import OutOfRange
from discreet.ledger.values import checked_reason
from discreet.service.security_log import SecurityLog
from discreet.service.state_store import StateStore
from discreet.service.views import RaiseView


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
        return _view(row)

    def of(self, dataset: str) -> tuple[RaiseView, ...]:
        """Return the requests about a dataset, the newest first."""
        rows = self._store.rows(
            "SELECT * FROM requests WHERE dataset = ? ORDER BY id DESC", dataset
        )
        return tuple(map(_view, rows))

    def find(self, number: int) -> RaiseView:
        """Return a request."""
        row = self._store.row("SELECT * FROM requests WHERE id = ?", number)
        if row is None:
            raise _unknown()
        return _view(row)

    def decide(self, number: int, *, state: str, by: str) -> RaiseView:
        """Note a decision; there is one for each request."""
        with self._store.transaction() as within:
            row = within.execute(
                "UPDATE requests SET state = ?, decided_by = ? WHERE id = ? AND state = 'open' "
                "RETURNING *",
                (state, by, number),
            ).fetchone()
            if row is None:
                raise _unknown()
            view = _view(row)
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


def _view(row: Any) -> RaiseView:
    held = dict(row)
    return RaiseView(**{**held, "budget": json.loads(held["budget"])})


def _unknown() -> OutOfRange:
    return OutOfRange(
        what="there is no such request, or it was decided before.",
        why="one decision is made about each request.",
        do="list the requests, and give the number of an open one.",
    )
