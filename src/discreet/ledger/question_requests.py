"""Requests about one question, each checked and recorded in one step.

Trust: kernel.

    charge    fits into every account on the path, or is refused and nothing is written.  The same
              key with the same body finds the existing charge; with another body it is refused
    start     only after a charge; once there is an answer, that is returned
    begin     both in one step, which becomes durable as a whole
    release   only after charge and start; the first answer stays, and later ones are dropped
    fail      closes a question after a failed attempt: until it is reopened, it is neither
              charged, started nor answered
    reopen    allows further attempts at a closed question

Theorem (key ``one-answer``).  Whatever is told under one key, by however many workers, is one
answer, paid once.
    Proof.  Requests are served one after another, each in view of all entries before it.  A second
    charge or release of a key finds the first, appends nothing, and returns what is stored.
Theorem (key ``one-failure``).  Between two entries of the owner, at most one failure is observed
under a key.
    Proof.  A failure is recorded before it is told, and closes the question.  While it is closed
    no attempt is started and no answer is stored; only a ``reopen`` entry ends that.
Assumes: a failure that could depend on data is told only after ``fail`` has returned.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from discreet.errors import (
    KeyReused,
    LedgerError,
    NotCharged,
    OutOfRange,
    OverBudget,
    QuestionClosed,
)
from discreet.ledger.canonical_lines import EntryRow, damaged_entry_error
from discreet.ledger.entry_kinds import (
    ChargeEntry,
    FailEntry,
    ReleaseEntry,
    ReopenEntry,
    StartEntry,
    read_entry,
)
from discreet.ledger.values import Charged, Started, StoredAnswer

if TYPE_CHECKING:  # all are handed in
    from discreet.ledger.charge import PricedRequest
    from discreet.ledger.connection import Batch, KeyHistory


@dataclass(frozen=True, slots=True)
class _KeyRequest:
    """A request that needs the history of its key."""

    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The key alone."""
        return (self.key,)


@final
@dataclass(frozen=True, slots=True)
class FailRequest(_KeyRequest):
    """Record that an attempt failed; an answer that is stored already stays."""

    def act(self, batch: Batch) -> None:
        """Close the question, unless it is closed or answered."""
        history = batch.history(self.key)
        if history.charge is None or not history.attempts:
            raise NotCharged(
                what="a failure is reported for a request that was not charged and started.",
                why="data is read only after both are on record, so nothing can have failed yet.",
                do="call charge(...) and start(key) first.",
            )
        if history.release is None and self.key not in batch.state.closed:
            batch.append(FailEntry(key=self.key))


@final
@dataclass(frozen=True, slots=True)
class ReopenRequest:
    """Allow further attempts of a closed question."""

    entry: ReopenEntry

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key."""
        return (self.entry.key,)

    def act(self, batch: Batch) -> None:
        """Record it if the question is closed."""
        if self.entry.key not in batch.state.closed:
            raise OutOfRange(
                what="no question with this key is closed.",
                why="only a question that was closed by a failed attempt can be reopened.",
                do="use one of the keys that Ledger.closed or `discreet ledger show` lists.",
            )
        batch.append(self.entry)


def refuse_closed(closed: Collection[str], key: str) -> None:
    """Refuse a question that a failed attempt has closed."""
    if key in closed:
        raise QuestionClosed(
            what="an attempt to answer this question failed, and the question is closed.",
            why="whether it fails again could depend on one person's data.",
            do="ask the owner to find the reason and to record "
            "`discreet ledger reopen KEY --reason ... --by ...`; what was charged stays charged.",
        )


@final
@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """Charge a priced request under a key."""

    charge: ChargeEntry
    priced: PricedRequest

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
            charged = batch.state.filter_of(path)
            if not charged.fits(pieces):
                over = charged.refusal(pieces)
                raise OverBudget(
                    what=f"account {path}: {over.what}",
                    why=over.why,
                    do=over.do,
                    details=over.details,
                )
        row = batch.append(charge)
        return Charged(
            key=charge.key,
            account=charge.account,
            receipt=batch.receipt(row),
            new=True,
            amounts=self.priced.costs,
        )

    def _found(self, batch: Batch, row: EntryRow) -> Charged:
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
class StartRequest(_KeyRequest):
    """Record that data is about to be read for a charge."""

    def act(self, batch: Batch) -> Started | StoredAnswer:
        """Record one more attempt, or return the stored answer."""
        history = batch.history(self.key)
        if history.charge is None:
            raise _uncharged("started")
        if history.release is not None:
            return _stored(batch, history, history.release, replayed=True)
        refuse_closed(batch.state.closed, self.key)
        attempt = history.attempts + 1
        batch.append(StartEntry(key=self.key, attempt=attempt))
        return Started(key=self.key, attempt=attempt)


@final
@dataclass(frozen=True, slots=True)
class BeginRequest:
    """Charge a priced request, and record in the same step that data is about to be read for it."""

    paid: ChargeRequest

    @property
    def keys(self) -> tuple[str, ...]:
        """Its key."""
        return self.paid.keys

    def act(self, batch: Batch) -> Started | StoredAnswer:
        """Charge and start; a charge that is refused starts nothing.

        After a charge nothing is left for the start to refuse: a closed question is refused by the
        charge that finds it, and a new one is open.
        """
        return StartRequest(self.paid.act(batch).key).act(batch)


@final
@dataclass(frozen=True, slots=True)
class ReleaseRequest(_KeyRequest):
    """Store an answer; its repr hides it, since nobody has been told it yet."""

    answer: bytes = field(repr=False)

    def act(self, batch: Batch) -> StoredAnswer:
        """Store the answer, or return the one that exists."""
        history = batch.history(self.key)
        if history.charge is None:
            raise _uncharged("answered")
        if history.release is not None:
            return _stored(batch, history, history.release, replayed=True)
        if not history.attempts:
            raise NotCharged(
                what="an answer is given for a request that was not started.",
                why="what was read, and how often, is on record before it is read.",
                do="call start(key) before the data is read.",
            )
        refuse_closed(batch.state.closed, self.key)
        row = batch.append(ReleaseEntry.of(self.key, self.answer), self.answer)
        return _stored(batch, history, row, replayed=False)


def _stored(batch: Batch, history: KeyHistory, row: EntryRow, *, replayed: bool) -> StoredAnswer:
    """Return the release of a row."""
    asked = history.charge.question if history.charge is not None else None
    return StoredAnswer(
        key=row.key or "",
        question=asked or "",
        answer=checked_answer(row),
        receipt=batch.receipt(row),
        replayed=replayed,
    )


def checked_answer(row: EntryRow) -> bytes:
    """Return the answer of a release, if it matches the recorded digest."""
    entry, answer = read_entry(row), row.answer
    if (
        not isinstance(entry, ReleaseEntry)
        or answer is None
        or entry != ReleaseEntry.of(entry.key, answer)
    ):
        raise damaged_entry_error(row.seq)
    return answer


def _recorded(row: EntryRow) -> ChargeEntry:
    """Return the charge of a row."""
    entry = read_entry(row)
    if not isinstance(entry, ChargeEntry):
        raise damaged_entry_error(row.seq)
    return entry


def _uncharged(what: str) -> LedgerError:
    return NotCharged(
        what=f"a request that was not charged is {what}.",
        why="it is paid before its data is read, so that no failure is free.",
        do="call charge(...) with this key first.",
    )
