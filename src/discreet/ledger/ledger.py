"""A ledger: the record of what was asked about some people's data, and what it cost them.

Trust: kernel.

Definition.  A ledger is a chain of entries that only grows.  An answer takes three steps:

    charge    pay for the request, or refuse it; the price depends on the question, never on data
    start     from here on, data may be read
    release   store the answer; only what is stored is handed out

Each step is durable before its call returns and can be repeated under its key: a process that died
in between asks again, pays nothing more, and gets the stored answer if there is one.
Theorem (keys ``cell-filters``, ``one-answer``, ``sqlite-durable``).  However many processes and
threads share a ledger, and whenever they die, no account is charged beyond its limits, no data is
read before it is paid for, and no two answers are told under one key.
Nothing lowers what was spent.  Raising a limit takes two people and is on record.
Assumes: data is read only after ``start``, and only what ``release`` returns is told; whether and
how far a limit is raised does not depend on answers (otherwise the promise is that of the highest
limits that could have come about).
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Self, final

from discreet.accounting.box import Box, Contribution, checked_box
from discreet.accounting.budget import Budget
from discreet.accounting.requests import Priceable
from discreet.errors import LedgerError, OutOfRange, WrongKind
from discreet.ledger import requests
from discreet.ledger.connection import LedgerConnection
from discreet.ledger.entries import DescriptionEntry
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.store import LedgerAddress, resolve_address, store_for
from discreet.ledger.values import (
    Account,
    Charged,
    OpeningTerms,
    Receipt,
    Started,
    StoredAnswer,
    checked_budget,
    checked_key,
    checked_path,
    checked_person,
    checked_reason,
    checked_timeout,
    two_people,
)
from discreet.ledger.witness import Anchor
from discreet.loss.parameters import checked_delta
from discreet.units import PrivacyUnit

if TYPE_CHECKING:  # the auditor is loaded when it is called
    from discreet.ledger.verify import Report

_TIMEOUT: Final = 60.0
_EVERYTHING: Final = Box.everything()


@final
class Ledger(LedgerView):
    """Charges and answers on record.

    >>> import tempfile
    >>> from discreet.loss import Pure
    >>> from discreet.units import row
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open(f"{folder.name}/study.ledger", unit=row(), budget=Budget(epsilon=1))
    >>> charged = ledger.charge(Pure(epsilon="0.4"), key="visits by ward")
    >>> ledger.start("visits by ward")
    Started(key='visits by ward', attempt=1)
    >>> ledger.release("visits by ward", b"12, 7, 31").replayed
    False
    >>> ledger.charge(Pure(epsilon="0.4"), key="visits by ward").new
    False
    >>> print(ledger.left())
    epsilon 0.6 of 1, for one row under add_remove
    >>> ledger.close()
    >>> folder.cleanup()
    """

    __slots__ = ()

    # --- opening and closing ------------------------------------------------------------------

    @classmethod
    def open(  # noqa: PLR0913  what stays on record for ever
        cls,
        address: LedgerAddress,
        *,
        unit: PrivacyUnit | None = None,
        budget: Budget | None = None,
        account: str | None = None,
        constant: Iterable[str] | None = None,
        contribution: Contribution | None = None,
        id: str | None = None,  # noqa: A002  the word of the property
        timeout: float = _TIMEOUT,
    ) -> Self:
        """Open a ledger; anyone who opens it first says whom it protects and what may be lost.

        Terms given for an existing ledger must match the record.  A new ledger is made only where
        there is nothing yet, from a unit and a budget, and never with an ``id``.

        Args:
            address: a path, or ``postgresql://...`` with the name of a schema after ``#``.
            unit: who is protected; required for a new ledger.
            budget: the limits of the first account; required for a new ledger.
            account: the path of the first account, "data" by default.
            constant: columns in which all rows of a unit agree.
            contribution: how many rows belong to one unit.
            id: the name of the ledger, if it must exist already.
            timeout: how many seconds a call may wait for others.
        """
        terms = OpeningTerms(
            unit=unit,
            budget=budget,
            account=account,
            constant=constant,
            contribution=contribution,
            ledger=id,
        )
        wait = checked_timeout(timeout)
        place = resolve_address(address)
        link = LedgerConnection(store_for(place, timeout=wait), terms, timeout=wait)
        return cls.over(link, place)

    @classmethod
    def over(cls, link: LedgerConnection, place: str) -> Self:
        """Return the ledger of a connection, which is closed with it (for this room)."""
        ledger = object.__new__(cls)
        ledger._link, ledger._place = link, place
        weakref.finalize(ledger, link.close)
        return ledger

    def close(self) -> None:
        """Finish the requests that wait, and release the ledger; closing twice does nothing."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the three steps ----------------------------------------------------------------------

    def charge(  # noqa: PLR0913  a request and where it is charged
        self,
        what: Priceable,
        *,
        key: str | None = None,
        question: str = "",
        scope: Box | None = None,
        delta: object = None,
        account: str | None = None,
    ) -> Charged:
        """Pay for a request, or refuse it and change nothing.

        The same request under the same key is paid once.

        Args:
            what: a tree, a mechanism or a loss.
            key: the name of the request from now on; the question by default.
            question: a digest of what is asked, by which its answer can be found.
            scope: the records that it can depend on; all by default.
            delta: what to spend on events outside which the loss is smaller, or has a price.
            account: the account that pays, with all above it; the first one by default.
        """
        name, digest = _names(key, question)
        request = self._priced(what, scope, delta, account)
        return self._link.call(requests.charge, name, request, digest)

    def begin(  # noqa: PLR0913  a request and where it is charged
        self,
        what: Priceable,
        *,
        key: str | None = None,
        question: str = "",
        scope: Box | None = None,
        delta: object = None,
        account: str | None = None,
    ) -> Started | StoredAnswer:
        """Pay for a request as ``charge`` does, and record its start: two entries, one commit.

        When it returns, both are durable, and data may be read; if there is an answer already, that
        is returned.  To know the charge before the start, call both separately.
        """
        name, digest = _names(key, question)
        request = self._priced(what, scope, delta, account)
        return self._link.call(requests.begin, name, request, digest)

    def _priced(
        self, what: Priceable, scope: Box | None, delta: object, account: str | None
    ) -> requests.PricedRequest:
        """Check and price a request; nothing is recorded yet."""
        if scope is not None and checked_box(scope, name="scope").empty:
            raise OutOfRange(
                "the scope of the request is empty: two of its conditions exclude each other, and "
                "nobody would pay for an answer that is noise alone."
            )
        link, path = self._link, self._path(account)
        return requests.priced(
            link.prices,
            link.prices.node(what),
            requests.account_and_above(link.known(path), path),
            _EVERYTHING if scope is None else scope,
            None if delta is None else checked_delta(delta),
        )

    def start(self, key: str) -> Started | StoredAnswer:
        """Record that data is about to be read for a charge; return the answer if there is one."""
        return self._link.call(requests.start, checked_key(key))

    def release(self, key: str, answer: bytes) -> StoredAnswer:
        """Store an answer and return what is stored: the first answer under a key stays."""
        if not isinstance(answer, bytes):
            raise WrongKind(f"an answer must be bytes, got {type(answer).__name__}.")
        return self._link.call(requests.release, checked_key(key), answer)

    # --- closed questions ---------------------------------------------------------------------

    def fail(self, key: str) -> None:
        """Record that an attempt failed after data may have been read: the question is closed.

        Call it before anybody learns of the failure.  An answer that is already stored stays.
        """
        self._link.call(requests.fail, checked_key(key))

    def reopen(self, key: str, *, reason: str, by: str) -> None:
        """Allow further attempts at a closed question, on record as the owner's decision."""
        why, who = checked_reason(reason), checked_person(by)
        self._link.call(requests.reopen, checked_key(key), why, who)

    # --- descriptions -------------------------------------------------------------------------

    def describe(self, what: str, content: Mapping[str, object]) -> str:
        """Record a description of the data unless an equal one exists; return its digest.

        A schema, which describes a table, says in which columns all rows of a unit agree: from now
        on conditions on these distinguish units (:mod:`discreet.accounting.box`).

        Args:
            what: what is described, such as "schema".
            content: an object that JSON can write.
        """
        entry = DescriptionEntry.of(checked_key(what, name="word"), content)
        self._link.call(requests.describe, None, entry)
        self._link.learn(entry)
        return entry.digest

    # --- accounts -----------------------------------------------------------------------------

    def open_account(self, path: str, *, budget: Budget | None = None, by: str) -> Account:
        """Open an account, such as data/flu, below one that exists.

        Its limits hold in addition to those above; without any, only those above apply.
        """
        limits = None if budget is None else checked_budget(budget)
        opening = (checked_path(path), limits, checked_person(by))
        return self._link.call(requests.open_account, None, *opening)

    def raise_limit(
        self, account: str, *, budget: Budget, reason: str, by: str, approved_by: str
    ) -> Account:
        """Raise the limits of an account: none is lowered, and at least one is higher.

        The account then promises what the new budget promises, provided that neither answers nor
        questions asked in view of them decide whether and how far limits are raised.  The budget is
        in the same currency; ``by`` wants it, and ``approved_by``, somebody else, agrees.
        """
        said = two_people(reason, by, approved_by)
        raised = (checked_path(account), checked_budget(budget), said)
        return self._link.call(requests.raise_limit, None, *raised)

    # --- copies -------------------------------------------------------------------------------

    def verify(self, receipts: Iterable[Receipt | str] = ()) -> Report:
        """Check everything that the ledger claims, from its entries alone."""
        report: Report = _backups().verify(self._link.rows(0, answers=True), receipts=receipts)
        return report

    def backup(self, path: str | os.PathLike[str]) -> Receipt:
        """Write everything, answers included, to a file, and verify what was written.

        The ledger may be in use meanwhile.  Return the receipt of the last entry of the backup.  A
        backup is not a ledger: it takes no charges, and two people turn it into one with
        ``restore``.
        """
        rows = self._link.rows(0, answers=True)
        receipt: Receipt = _backups().write_backup(rows, self.id, Path(path), taken=self.owns(path))
        if self.notes_backups:
            with suppress(LedgerError):  # the backup is none the worse
                self._backups().append(Anchor.of(receipt))
        return receipt

    @classmethod
    def restore(  # noqa: PLR0913  two people, and what they say
        cls,
        address: LedgerAddress,
        source: str | os.PathLike[str],
        *,
        reason: str,
        by: str,
        approved_by: str,
        receipts: Iterable[Receipt | str] = (),
        last: Receipt | str | None = None,
        timeout: float = _TIMEOUT,
    ) -> Self:
        """Open a new ledger that continues where a backup ended.

        The backup lacks what was charged after it, so what was left in the accounts counts as
        spent, unless ``last`` says where the old ledger ended.  It also lacks limits raised and
        accounts opened after it: anyone who raises a limit of the new ledger has to know of them.

        The source is a backup, or the file of a ledger that can no longer be used; it must match
        all ``receipts`` of the old ledger.  ``by`` wants it, and ``approved_by`` agrees.  ``last``
        is the receipt of the last entry that the old ledger ever had, if both vouch that nothing
        was charged after it; the source must end there.
        """
        said = two_people(reason, by, approved_by)
        place = resolve_address(address)
        store = store_for(place, timeout=checked_timeout(timeout))
        _backups().restore(store, Path(source), said, receipts=receipts, last=last)
        return cls.open(place, timeout=timeout)


def _names(key: str | None, question: str) -> tuple[str, str]:
    """Return the key of a request, by default its question, and the question."""
    digest = "" if question == "" else checked_key(question, name="question")
    return checked_key(digest if key is None else key), digest


def _backups() -> ModuleType:
    """Return what backs up, restores and verifies: it loads the auditor, which is rarely called."""
    from discreet.ledger import backup  # noqa: PLC0415  rare

    return backup
