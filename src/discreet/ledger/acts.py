"""What can be asked of a ledger, each checked and recorded in one step.

Trust: kernel.

    charge    fits into every account on the path, or is refused and nothing is written.  The same
              key and body find the charge that is there; the same key and another body are refused
    start     only for what was charged; once it has been answered, the answer is handed back
    release   only for what was charged and started; the first answer stays, and whoever comes later
              gets that one
None of them while the question is closed (:mod:`discreet.ledger.closing_acts`).

Theorem (key ``one-answer``).  Whatever is told under one key, by however many workers, is one
answer, paid once.
    Proof.  Requests are served one after another, each in view of all entries before it.  A second
    charge or release of a key finds the first, appends nothing, and returns what is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from discreet.errors import KeyReused, LedgerError, NotCharged, OverBudget
from discreet.ledger.batch import Batch, History
from discreet.ledger.charge import Charge, Priced
from discreet.ledger.closing_acts import refuse_closed
from discreet.ledger.entry import Row, damaged
from discreet.ledger.kinds import Start, Stored, read_entry
from discreet.ledger.values import Charged, Release, Started

__all__ = ["ChargeRequest", "ReleaseRequest", "StartRequest", "checked_answer"]


@final
@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """Charge a priced request under a key."""

    charge: Charge
    priced: Priced

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key."""
        return (self.charge.key,)

    def act(self, batch: Batch) -> Charged:
        """Record the charge, or find it, or refuse it."""
        charge = self.charge
        before = batch.history(charge.key).charge
        if before is not None:
            return self._found(batch, before)
        for path, pieces in charge.pieces:
            book = batch.state.book(path)
            if not book.fits(pieces):
                raise _refused(path, book.refusal(pieces))
        row = batch.append(charge)
        return Charged(
            key=charge.key,
            account=charge.account,
            receipt=batch.receipt(row),
            new=True,
            amounts=self.priced.costs,
        )

    def _found(self, batch: Batch, row: Row) -> Charged:
        before = _recorded(row)
        if before.body != self.charge.body:
            raise KeyReused(
                what=f"the key of this request is that of entry {row.seq}, which asks for "
                "something else.",
                why="one key stands for one request, which is paid once and answered once.",
                do="use another key for another request; leave the key out to have it follow "
                "from the question.",
            )
        refuse_closed(batch.state.closed, before.key)
        return Charged(
            key=before.key,
            account=before.account,
            receipt=batch.receipt(row),
            new=False,
            amounts=batch.state.costs(before.pieces),
        )


@final
@dataclass(frozen=True, slots=True)
class StartRequest:
    """Say that data is about to be read for a charge."""

    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key."""
        return (self.key,)

    def act(self, batch: Batch) -> Started | Release:
        """Record one more attempt, or hand back the answer that is there."""
        history = batch.history(self.key)
        if history.charge is None:
            raise _uncharged("started")
        if history.release is not None:
            return _stored(batch, history, history.release, replayed=True)
        refuse_closed(batch.state.closed, self.key)
        attempt = history.attempts + 1
        batch.append(Start(key=self.key, attempt=attempt))
        return Started(key=self.key, attempt=attempt)


@final
@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """Store an answer; it is never shown, since nobody has been told it yet."""

    key: str
    answer: bytes = field(repr=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key."""
        return (self.key,)

    def act(self, batch: Batch) -> Release:
        """Store the answer, or hand back the one that is there."""
        history = batch.history(self.key)
        if history.charge is None:
            raise _uncharged("answered")
        if history.release is not None:
            return _stored(batch, history, history.release, replayed=True)
        if not history.attempts:
            raise NotCharged(
                what="a request is answered that was not started.",
                why="what was read, and how often, is on record before it is read.",
                do="call start(key) before the data is read.",
            )
        refuse_closed(batch.state.closed, self.key)
        row = batch.append(Stored.of(self.key, self.answer), self.answer)
        return _stored(batch, history, row, replayed=False)


def _stored(batch: Batch, history: History, row: Row, *, replayed: bool) -> Release:
    """Return the release of a row."""
    asked = history.charge.question if history.charge is not None else None
    return Release(
        key=row.key or "",
        question=asked or "",
        answer=checked_answer(row),
        receipt=batch.receipt(row),
        replayed=replayed,
    )


def checked_answer(row: Row) -> bytes:
    """Return the answer of a release, if it is the one that was recorded."""
    entry, answer = read_entry(row), row.answer
    if not isinstance(entry, Stored) or answer is None or entry != Stored.of(entry.key, answer):
        raise damaged(row.seq)
    return answer


def _recorded(row: Row) -> Charge:
    """Return the charge of a row."""
    entry = read_entry(row)
    if not isinstance(entry, Charge):
        raise damaged(row.seq)
    return entry


def _uncharged(what: str) -> LedgerError:
    return NotCharged(
        what=f"a request is {what} that was not charged.",
        why="it is paid before its data is read, so that no failure is free.",
        do="call charge(...) with this key first.",
    )


def _refused(path: str, refusal: OverBudget) -> OverBudget:
    return OverBudget(what=f"account {path}: {refusal.what}", why=refusal.why, do=refusal.do)
