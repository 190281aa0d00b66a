"""Reading: what was released, the ledger behind it, and the evidence of the site.

Trust: kernel.

An entry is recorded as soon as an answer is ready, which is before its tick.  A caller who saw it
at once could infer when each answer was ready, including those of others, and ticks would hide
nothing: so callers who may not read the ledger see only its published part.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, final

from discreet.errors import LedgerUnavailable, NotServed, OutOfRange
from discreet.ledger.ledger_view import LedgerView
from discreet.ledger.values import Receipt, StoredAnswer
from discreet.service.asking import TellingCounter
from discreet.service.roles import Caller, Permission
from discreet.service.views import Upkeep

if TYPE_CHECKING:  # handed in
    from discreet.ledger.verify import Report


@final
class WholeRecord(LedgerView):
    """All of a ledger, for those who may read it: no verb of it adds an entry."""

    __slots__ = ()

    def __init__(self, ledger: LedgerView) -> None:
        """Look into a ledger that is open."""
        self._link, self._place = ledger._link, ledger._place  # noqa: SLF001  of the same family


@final
class PublishedLedger(LedgerView):
    """A ledger up to a receipt; balances are current, since charges come before data."""

    __slots__ = ("_until",)

    def __init__(self, ledger: LedgerView, until: Receipt) -> None:
        """Look into a ledger that is open."""
        self._link, self._place = ledger._link, ledger._place  # noqa: SLF001  of the same family
        self._until = until

    @property
    def receipt(self) -> Receipt:
        """The end of the published part."""
        return self._until

    def entries(self, after: int = 0) -> Iterator[dict[str, object]]:
        """Return the contents of the entries after a number that are published."""
        for row in self._link.rows(after, answers=False):
            if row.seq > self._until.seq:
                return
            yield row.fields()

    def find(self, question: str) -> StoredAnswer | None:
        """Return the first answer to a question, if there is one that is published."""
        found = super().find(question)
        return found if found is not None and found.receipt.seq <= self._until.seq else None

    def answers_of(self, keys: Collection[str]) -> tuple[StoredAnswer, ...]:
        """Return the published answers that are stored under some keys."""
        found = super().answers_of(keys)
        return tuple(each for each in found if each.receipt.seq <= self._until.seq)

    @property
    def closed(self) -> tuple[str, ...]:
        """The keys of questions that a published failure has closed, the oldest first."""
        keys: dict[str, None] = {}
        for entry in self.entries():
            if entry["kind"] == "fail":
                keys[str(entry["key"])] = None
            elif entry["kind"] == "reopen":
                keys.pop(str(entry["key"]), None)
        return tuple(keys)


_AUDIENCES: Final = ("analyst", "subject", "steward", "auditor")


class ReadingCounter(TellingCounter):
    """Serves entries on record."""

    __slots__ = ()

    def explain(
        self, caller: Caller, dataset: str, *, audience: str = "analyst", entry: int | None = None
    ) -> Mapping[str, Any]:
        """Say what all answers, or one of them, give away about one person."""
        self._check(caller, dataset, Permission.RELEASES)
        if audience not in _AUDIENCES:
            raise OutOfRange(
                what="there is no such audience.",
                why="an explanation speaks to one of four kinds of readers.",
                do=f"use one of: {', '.join(_AUDIENCES)}.",
            )
        until = self._published(caller, dataset, entry)
        job = {"verb": "explain", "audience": audience, **_about(entry, until)}
        found: Mapping[str, Any] = self._worked(caller, dataset, job)["document"]
        return found

    def label(self, caller: Caller, dataset: str, *, entry: int | None = None) -> Mapping[str, Any]:
        """Return the privacy label of all answers, or of one of them."""
        self._check(caller, dataset, Permission.RELEASES)
        until = self._published(caller, dataset, entry)
        job = {"verb": "label", **_about(entry, until)}
        found: Mapping[str, Any] = self._worked(caller, dataset, job)["document"]
        return found

    def release(self, caller: Caller, dataset: str, entry: int) -> Mapping[str, Any]:
        """Return an answer that is on record, by the number of its entry, as it was stored."""
        self._check(caller, dataset, Permission.RELEASES)
        ledger = self._ledgers[dataset]
        found = next(ledger.entries(after=entry - 1), None) if entry > 0 else None
        until = self._published(caller, dataset, entry)
        hidden = until is not None and entry > until.seq
        if found is None or found.get("kind") != "release" or hidden:
            raise NotServed(
                what="no entry with this number records an answer.",
                why="the entry of an answer is in its receipt.",
                do="look it up in the history.",
            )
        (stored,) = ledger.answers_of([str(found["key"])])
        return {
            "entry": entry,
            "at": found["at"] if until is None else f"{str(found['at'])[:16]}Z",  # the minute
            "receipt": str(stored.receipt),
            "answer": json.loads(stored.answer),
        }

    # --- the ledger ---------------------------------------------------------------------------

    def history(
        self, caller: Caller, dataset: str, *, after: int = 0
    ) -> Iterator[Mapping[str, object]]:
        """Return the entries after a number, without answers, the oldest first."""
        self._check(caller, dataset, Permission.LEDGER)
        return iter(self._ledgers[dataset].entries(after=max(0, after)))

    def ledger(self, caller: Caller, dataset: str, *, entry: int | None = None) -> LedgerView:
        """Return the record of a dataset, to be read by pages: it holds entries and no data.

        Callers who may not read the ledger see the published part, up to ``entry`` at least if that
        answer was delivered.
        """
        self._check(caller, dataset, Permission.RELEASES)
        ledger, until = self._ledgers[dataset], self._published(caller, dataset, entry)
        return WholeRecord(ledger) if until is None else PublishedLedger(ledger, until)

    def receipt(self, caller: Caller, dataset: str) -> Receipt:
        """Return the head of the ledger, as far as it is published to the caller."""
        self._check(caller, dataset, Permission.SCHEMA)
        return self._published(caller, dataset) or self._ledgers[dataset].receipt

    def verify(self, caller: Caller, dataset: str, receipts: Sequence[str] = ()) -> Report:
        """Check everything that the ledger claims, from its entries and its last anchor."""
        self._check(caller, dataset, Permission.LEDGER)
        anchor = self._witnesses.last(dataset)
        known = () if anchor is None else (str(anchor.receipt),)
        return self._ledgers[dataset].verify((*receipts, *known))

    def upkeep(self, caller: Caller, dataset: str) -> Upkeep:
        """Return when the ledger was last backed up and anchored."""
        self._check(caller, dataset, Permission.LEDGER)
        ledger, path = self._ledgers[dataset], self.site.datasets[dataset].witness
        problem = self._witnesses.problems.get(dataset)
        return Upkeep(
            notes_backups=ledger.notes_backups,
            backup=ledger.last_backup(),
            witness=None if path is None else path.name,
            anchor=self._witnesses.last(dataset),
            problem="" if problem is None else problem.what,
        )

    def closed(self, caller: Caller, dataset: str) -> tuple[str, ...]:
        """Return the keys of questions that a failed attempt has closed."""
        self._check(caller, dataset, Permission.REOPEN)
        return self._ledgers[dataset].closed

    def reopen(self, caller: Caller, dataset: str, key: str, *, reason: str) -> None:
        """Allow further attempts at a closed question."""
        self._check(caller, dataset, Permission.REOPEN)
        self._ledgers[dataset].reopen(key, reason=reason, by=caller.person)
        with suppress(LedgerUnavailable):  # the entry of the ledger says it
            self.log.write("reopen", by=caller.person, dataset=dataset)

    # --- evidence -----------------------------------------------------------------------------

    def security_log(self, caller: Caller) -> tuple[Mapping[str, str], ...]:
        """Return the lines of the security log, the oldest first."""
        caller.check(Permission.AUDIT)
        return tuple(self.log.lines())


def _about(entry: int | None, until: Receipt | None) -> dict[str, Any]:
    return {"entry": entry, "until": None if until is None else str(until)}
