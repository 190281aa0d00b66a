"""The steps of a ledger, each checked and recorded as a whole.

Trust: kernel.

    charge    fits into every account on the path, or is refused and nothing is written.  The same
              key with the same body finds the existing charge; with another body it is refused
    start     only after a charge; once there is an answer, that is returned
    release   only after charge and start; the first answer stays, and later ones are dropped
    fail      closes a question after a failed attempt: until the owner reopens it, it is neither
              charged, started nor answered

No step lowers a limit or what was spent.  Each takes the batch that it belongs to, and its key if
it has one; it checks, and only then appends, so an error before its first entry changes nothing.

Definition.  The body of a charge is the SHA-256 of the canonical text of [account, tree, scope,
delta, question]: two requests are the same if their bodies are.  The price follows from the request
and the currencies of the accounts, which never change: the caller works it out before it queues.
Theorem (key ``one-answer``).  All releases under one key, by any number of workers, are one
answer, paid once.
    Proof.  Steps are taken one after another, each in view of all entries before it.  A second
    charge or release of a key finds the first, appends nothing, and returns what is stored.
Theorem (key ``one-failure``).  Between two entries of the owner, at most one failure is observed
under a key.
    Proof.  A failure is recorded before it is told, and closes the question.  While it is closed
    no attempt is started and no answer is stored; only a ``reopen`` entry ends that.
Assumes: a failure that could depend on data is told only after ``fail`` has returned.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

from discreet.accounting import codec
from discreet.accounting.amounts import encode_amounts
from discreet.accounting.box import Box
from discreet.accounting.budget import Budget, checked_raise, is_recorded
from discreet.accounting.nodes import Node
from discreet.accounting.requests import RequestPricer
from discreet.errors import (
    KeyReused,
    NotCharged,
    OtherLedger,
    OutOfRange,
    OverBudget,
    QuestionClosed,
)
from discreet.ledger.entries import (
    DescriptionEntry,
    Entry,
    EntryRow,
    Pieces,
    canonical,
    damaged_entry_error,
    digest,
    now,
    pieces_of,
)
from discreet.ledger.state import LedgerState
from discreet.ledger.values import (
    Account,
    Charged,
    OpeningTerms,
    Receipt,
    Started,
    StoredAnswer,
    named_accounts,
    parent_account,
    path_and_ancestors,
)

_KEPT: Final = 128


@final
@dataclass(slots=True)
class KeyHistory:
    """The history of a key: its charge, its attempts, its release."""

    charge: EntryRow | None = None
    attempts: int = 0
    release: EntryRow | None = None

    def follow(self, row: EntryRow) -> None:
        """Take one more row of the key."""
        match row.kind:
            case "charge":
                self.charge = row
            case "start":
                self.attempts += 1
            case "release":
                self.release = row


@final
class Batch:
    """The state of a ledger, the history of some keys, and the rows to be written."""

    __slots__ = ("_at", "_keys", "failed_midway", "rows", "state")

    def __init__(self, state: LedgerState, known: Iterable[EntryRow]) -> None:
        """Take the state, and all rows of the keys that steps will ask for."""
        self.state = state
        self.rows: list[EntryRow] = []
        self.failed_midway = False
        self._at = now()
        self._keys: dict[str, KeyHistory] = {}
        for row in known:
            self._follow(row)

    def history(self, key: str) -> KeyHistory:
        """Return the history of a key."""
        return self._keys.get(key) or KeyHistory()

    def append(self, entry: Entry, answer: bytes | None = None) -> EntryRow:
        """Record an entry that was checked; if that fails, the whole batch is lost."""
        self.failed_midway = True
        row = self.state.append(entry, self._at, answer)
        self.failed_midway = False
        self.rows.append(row)
        self._follow(row)
        return row

    def receipt(self, row: EntryRow) -> Receipt:
        """Return the receipt of an entry."""
        return Receipt(self.state.opening.ledger, row.seq, row.head)

    def _follow(self, row: EntryRow) -> None:
        if row.key is not None:
            self._keys.setdefault(row.key, KeyHistory()).follow(row)


# --- charges ----------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class PricedRequest:
    """A request with its price, before it has a key: the same for everybody who makes it.

    ``asked`` is the canonical text of what is asked, as a list without its end.
    """

    terms: Entry
    pieces: Pieces
    asked: str


@functools.lru_cache(_KEPT)
def priced(
    prices: RequestPricer,
    node: Node,
    accounts: tuple[Account, ...],
    scope: Box,
    delta: Fraction | None,
) -> PricedRequest:
    """Return what a request costs an account, the last one, and all accounts above it."""
    pieces = {
        each.path: prices.pieces(node, each.budget.currency, scope=scope, delta=delta)
        for each in accounts
        if each.budget is not None
    }
    asked = {
        "account": accounts[-1].path,
        "tree": codec.encode(node),
        "scope": scope.written(),
        "delta": None if delta is None else str(delta),
    }
    costs = {
        "boxes": [piece.box.written() for piece in pieces[accounts[0].path]],
        "amounts": {
            path: [[encode_amounts(p.added), encode_amounts(p.replaced)] for p in parts]
            for path, parts in pieces.items()
        },
    }
    text = canonical(list(asked.values()))[:-1]
    return PricedRequest({**asked, **costs}, tuple(pieces.items()), text)


def account_and_above(accounts: Mapping[str, Account], path: str) -> tuple[Account, ...]:
    """Return an account and all above it, the root first."""
    checked_account(accounts, path)
    return tuple(accounts[above] for above in path_and_ancestors(path))


def charge(batch: Batch, key: str, request: PricedRequest, question: str) -> Charged:
    """Record a charge under a key, or find it, or refuse it."""
    body = digest(f"{request.asked},{canonical(question)}]".encode("ascii"))
    row = batch.history(key).charge
    new = row is None
    if row is None:
        for path, pieces in request.pieces:
            charged = batch.state.filter_of(path)
            if not charged.fits(pieces):
                over = charged.refusal(pieces)
                what = f"account {path}: {over.what}"
                raise OverBudget(what=what, why=over.why, do=over.do, details=over.details)
        names = {"key": key, "question": question, "body": body}
        row = batch.append({"kind": "charge", **request.terms, **names})
    elif row.fields()["body"] != body:
        raise KeyReused(
            what=f"the key of this request is that of entry {row.seq}, which asks for something "
            "else.",
            why="one key stands for one request, which is paid once and answered once.",
            do="use another key for another request; leave the key out to have it follow "
            "from the question.",
        )
    else:
        refuse_closed(batch.state.closed, key)
    recorded = row.fields()
    return Charged(
        key=key,
        account=recorded["account"],
        receipt=batch.receipt(row),
        new=new,
        amounts=batch.state.costs(pieces_of(recorded)),
    )


def begin(batch: Batch, key: str, request: PricedRequest, question: str) -> Started | StoredAnswer:
    """Charge a priced request, and record in the same step that data is about to be read for it.

    After a charge nothing is left for the start to refuse: a closed question is refused by the
    charge that finds it, and a new one is open.
    """
    charge(batch, key, request, question)
    return start(batch, key)


# --- what follows a charge --------------------------------------------------------------------


def start(batch: Batch, key: str) -> Started | StoredAnswer:
    """Record that data is about to be read for a charge, or return the stored answer."""
    history = _charged(batch, key, "started")
    if history.release is not None:
        return _stored(batch, history, history.release, replayed=True)
    refuse_closed(batch.state.closed, key)
    attempt = history.attempts + 1
    batch.append({"kind": "start", "key": key, "attempt": attempt})
    return Started(key=key, attempt=attempt)


def release(batch: Batch, key: str, answer: bytes) -> StoredAnswer:
    """Store an answer, or return the one that exists."""
    history = _charged(batch, key, "answered")
    if history.release is not None:
        return _stored(batch, history, history.release, replayed=True)
    _refuse_unstarted(history)
    refuse_closed(batch.state.closed, key)
    row = batch.append({"kind": "release", "key": key, **_sealed(answer)}, answer)
    return _stored(batch, history, row, replayed=False)


def fail(batch: Batch, key: str) -> None:
    """Record that an attempt failed; an answer that is stored already stays."""
    history = _charged(batch, key, "reported as failed")
    _refuse_unstarted(history)
    if history.release is None and key not in batch.state.closed:
        batch.append({"kind": "fail", "key": key})


def reopen(batch: Batch, key: str, reason: str, by: str) -> None:
    """Allow further attempts of a closed question."""
    if key not in batch.state.closed:
        raise OutOfRange(
            what="no question with this key is closed.",
            why="only a question that was closed by a failed attempt can be reopened.",
            do="use one of the keys that Ledger.closed or `discreet ledger show` lists.",
        )
    batch.append({"kind": "reopen", "key": key, "reason": reason, "by": by})


def _charged(batch: Batch, key: str, what: str) -> KeyHistory:
    """Return the history of a key that was charged."""
    history = batch.history(key)
    if history.charge is None:
        raise NotCharged(
            what=f"a request that was not charged is {what}.",
            why="it is paid before its data is read, so that no failure is free.",
            do="call charge(...) with this key first.",
        )
    return history


def _refuse_unstarted(history: KeyHistory) -> None:
    if not history.attempts:
        raise NotCharged(
            what="an answer or a failure is given for a request that was not started.",
            why="what was read, and how often, is on record before it is read.",
            do="call start(key) before the data is read.",
        )


def refuse_closed(closed: Collection[str], key: str) -> None:
    """Refuse a question that a failed attempt has closed."""
    if key in closed:
        raise QuestionClosed(
            what="an attempt to answer this question failed, and the question is closed.",
            why="whether it fails again could depend on one person's data.",
            do="ask the owner to find the reason and to record "
            "`discreet ledger reopen KEY --reason ... --by ...`; the charge stays.",
        )


def _stored(batch: Batch, history: KeyHistory, row: EntryRow, *, replayed: bool) -> StoredAnswer:
    asked = history.charge.question if history.charge is not None else None
    return stored_answer(row, batch.state.opening.ledger, asked, replayed=replayed)


def stored_answer(
    row: EntryRow, ledger: str, question: str | None, *, replayed: bool = True
) -> StoredAnswer:
    """Return the answer of a release, if it matches the recorded digest."""
    entry, answer = row.fields(), row.answer or b""
    if row.kind != "release" or not _sealed(answer).items() <= entry.items():
        raise damaged_entry_error(row.seq)
    return StoredAnswer(
        key=entry["key"],
        question=question or "",
        answer=answer,
        receipt=Receipt(ledger, row.seq, row.head),
        replayed=replayed,
    )


def _sealed(answer: bytes) -> Mapping[str, object]:
    """Return what the entry of a release says of its answer."""
    return {"answer": digest(answer), "size": len(answer)}


# --- the whole ledger -------------------------------------------------------------------------


def describe(batch: Batch, _key: None, description: DescriptionEntry) -> None:
    """Record a description, unless an equal one exists."""
    if description not in batch.state.descriptions:
        batch.append(description.entry())


def open_account(batch: Batch, _key: None, path: str, budget: Budget | None, by: str) -> Account:
    """Open a further account; an existing one with the same limits is returned."""
    accounts = batch.state.accounts
    existing = accounts.get(path)
    if existing is None:
        checked_account(accounts, parent_account(path))
        limits = None if budget is None else budget.written()
        batch.append({"kind": "account", "account": path, "budget": limits, "by": by})
    elif not is_recorded(existing.budget, budget):
        raise OtherLedger(
            what=f"account {path} is recorded with another budget.",
            why="limits on record are raised by two people, or stay.",
            do="leave the account as it is, or raise its limit with raise_limit.",
        )
    return batch.state.accounts[path]


def raise_limit(
    batch: Batch, _key: None, path: str, budget: Budget, said: Mapping[str, str]
) -> Account:
    """Raise the limits of an account, as two people said."""
    if checked_account(batch.state.accounts, path).budget is None:
        raise OutOfRange(
            what=f"account {path} has no limits of its own.",
            why="a limit where there was none would lower what may be asked.",
            do="raise the limits of an account above it.",
        )
    raised = checked_raise(batch.state.filter_of(path).budget, budget)
    batch.append({"kind": "raise", "account": path, "budget": raised.written(), **said})
    return batch.state.accounts[path]


def checked_account(accounts: Mapping[str, Account], path: str) -> Account:
    """Refuse an account that does not exist."""
    if path not in accounts:
        raise OutOfRange(
            what=f"there is no account {path!r}."
            if path
            else "a ledger has one root account, and this would be a second one.",
            why="a charge counts against the limits of accounts that are on record.",
            do="use one of the accounts of the ledger, or open this one with open_account.",
        )
    return accounts[path]


def check_terms(terms: OpeningTerms, state: LedgerState) -> None:
    """Refuse a ledger that is recorded for something else."""
    first = state.opening
    if terms.ledger is not None and terms.ledger != first.ledger:
        raise OtherLedger(
            what="the ledger at this address is not the one that the policy names.",
            why="another ledger has a budget of its own for the same people.",
            do="bring back the ledger with the id that the policy names, or correct the address.",
        )
    if terms.account is not None and terms.account not in state.accounts:
        raise OtherLedger(
            what=f"there is no account {terms.account!r} in the ledger.",
            why="its first account is fixed when it is made, and all others are below that.",
            do=f"name {named_accounts(state.accounts)}, or leave the account out.",
        )
    unit, budget, now_limited = terms.unit, terms.budget, state.accounts[first.account].budget
    same = {
        "unit": unit is None
        or (unit.columns, unit.relation) == (first.unit.columns, first.unit.relation),
        "budget": budget is None
        or any(is_recorded(known, budget) for known in (first.budget, now_limited)),
        "constant": terms.constant in {None, first.constant},
        "contribution": terms.contribution is None or terms.contribution == first.contribution,
    }
    names = [name for name, equal in same.items() if not equal]
    if names:
        raise OtherLedger(
            what=f"the ledger is recorded with another {' and '.join(names)}"
            f"{f': {now_limited}' if 'budget' in names and now_limited is not None else ''}.",
            why="what was charged before is about the unit and the limits on record, and "
            "they stay with it.",
            do="go back to what is on record, raise a limit with raise_limit, or open another "
            "ledger for other people.",
        )
