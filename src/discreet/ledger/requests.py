"""Requests to a ledger, each checked and recorded in one step.

Trust: kernel.

    charge    fits into every account on the path, or is refused and nothing is written.  The same
              key with the same body finds the existing charge; with another body it is refused
    start     only after a charge; once there is an answer, that is returned
    begin     both in one step, which becomes durable as a whole
    release   only after charge and start; the first answer stays, and later ones are dropped
    fail      closes a question after a failed attempt: until it is reopened, it is neither
              charged, started nor answered
    reopen    allows further attempts at a closed question

The others concern the whole ledger: opening it, accounts, higher limits, descriptions, snapshots.
No request lowers a limit or what was spent.

Definition.  The body of a charge is the SHA-256 of the canonical text of [account, tree, scope,
delta, question]: two requests are the same if their bodies are.  The price follows from the request
and the currencies of the accounts, which never change.  So the caller works it out, before it
queues and while others write; recent prices are kept.
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

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Self, TypeVar, final

from discreet.accounting import codec
from discreet.accounting.amounts import encode_amounts
from discreet.accounting.box import Box, shared_columns
from discreet.accounting.budget import checked_raise, is_recorded
from discreet.accounting.currencies import Amounts
from discreet.accounting.filter import Charge as FilterCharge
from discreet.accounting.filter import Left
from discreet.accounting.requests import Priceable, RequestPricer
from discreet.errors import (
    KeyReused,
    LedgerError,
    NotCharged,
    OtherLedger,
    OutOfRange,
    OverBudget,
    QuestionClosed,
)
from discreet.ledger.entries import (
    AccountEntry,
    ChargeEntry,
    DescriptionEntry,
    EntryRow,
    FailEntry,
    OpenEntry,
    Pieces,
    RaiseEntry,
    ReleaseEntry,
    ReopenEntry,
    StartEntry,
    canonical,
    damaged_entry_error,
    digest,
    read_entry,
)
from discreet.ledger.values import (
    Account,
    Charged,
    OpeningTerms,
    Receipt,
    Started,
    StoredAnswer,
    parent_account,
    path_and_ancestors,
)
from discreet.loss.parameters import checked_delta

if TYPE_CHECKING:
    from discreet.ledger.connection import Batch, KeyHistory


Costs = tuple[tuple[str, Amounts], ...]
"""For each account that is debited, the most that a record pays, or two of one box."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PricedRequest:
    """A request with its price, before it has a key: the same for everybody who makes it."""

    account: str
    pieces: Pieces
    costs: Costs
    asked: str = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(  # noqa: PLR0913  the parts of a charge
        cls,
        account: str,
        pieces: Pieces,
        costs: Costs,
        *,
        tree: object,
        scope: Box,
        delta: str | None,
    ) -> Self:
        """Take the account, what records pay in it and above, and the request in written form."""
        boxes = [piece.box.written() for piece in pieces[0][1]]
        amounts = {
            path: [[encode_amounts(p.added), encode_amounts(p.replaced)] for p in parts]
            for path, parts in pieces
        }
        name, about = canonical(account), canonical(scope.written())
        what, chance = canonical(tree), canonical(delta)
        return cls(
            account=account,
            pieces=pieces,
            costs=costs,
            asked=f"[{name},{what},{about},{chance},",
            texts=(
                f'"account":{name},"amounts":{canonical(amounts)}',
                f'"boxes":{canonical(boxes)},"delta":{chance}',
                f'"scope":{about}',
                f'"tree":{what}',
            ),
        )

    def charge(self, key: str, question: str) -> ChargeEntry:
        """Return the entry for somebody's key and question."""
        return ChargeEntry(
            account=self.account,
            key=key,
            question=question,
            body=digest(f"{self.asked}{canonical(question)}]".encode("ascii")),
            pieces=self.pieces,
            texts=self.texts,
        )


_KEPT: Final = 512
_LONGEST: Final = 1 << 16
_ALL_RECORDS: Final = Box.everything()


@final
class Pricer:
    """Prices of requests; recent ones are kept."""

    __slots__ = ("_known", "_prices")

    def __init__(self, prices: RequestPricer) -> None:
        """Take the prices for one unit."""
        self._prices = prices
        self._known: dict[object, PricedRequest] = {}

    def add_shared_columns(self, description: DescriptionEntry) -> None:
        """Learn from the description of a table which columns all rows of a unit share."""
        if description.what == "schema":
            self._prices = self._prices.sharing(shared_columns(description.content()))
            self._known = {}

    def price(
        self,
        what: Priceable,
        accounts: Mapping[str, Account],
        account: str,
        *,
        scope: Box | None,
        delta: object,
    ) -> PricedRequest:
        """Return what a request costs an account and every account above it that has limits."""
        box = _ALL_RECORDS if scope is None else scope
        chance = None if delta is None else checked_delta(delta)
        name = (account, type(what), what, box, chance)
        try:
            known = self._known.get(name)
        except TypeError:  # not a value, so it is not one of ours
            return self._price(what, accounts, account, box, chance)
        if known is None:
            known = self._price(what, accounts, account, box, chance)
            if len(known.asked) <= _LONGEST:
                if len(self._known) >= _KEPT:
                    self._known = {}
                self._known[name] = known
        return known

    def _price(
        self,
        what: Priceable,
        accounts: Mapping[str, Account],
        account: str,
        scope: Box,
        delta: Fraction | None,
    ) -> PricedRequest:
        tree = codec.encode(self._prices.node(what))
        pieces, costs = [], []
        for path in path_and_ancestors(account):
            budget = accounts[path].budget
            if budget is not None:
                boxes = self._prices.pieces(what, budget.currency, scope=scope, delta=delta)
                pieces.append((path, boxes))
                charge = FilterCharge(0, boxes, budget, self._prices.unit)
                costs.append((path, charge.amounts))
        return PricedRequest.of(
            account,
            tuple(pieces),
            tuple(costs),
            tree=tree,
            scope=scope,
            delta=None if delta is None else str(delta),
        )


Result_co = TypeVar("Result_co", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The public facts of a ledger at one moment; nothing in it changes later."""

    opening: OpenEntry
    accounts: Mapping[str, Account]
    receipt: Receipt
    closed: tuple[str, ...]
    descriptions: tuple[DescriptionEntry, ...]


class _LedgerRequest:
    """A request that has to know the rows of no key."""

    __slots__ = ()

    keys: ClassVar[tuple[str, ...]] = ()


class LookingRequest(_LedgerRequest, Generic[Result_co]):
    """A request that appends nothing, and is answered without locking others out."""

    __slots__ = ()

    def act(self, batch: Batch) -> Result_co:
        """Look."""
        raise NotImplementedError


@final
@dataclass(frozen=True, slots=True)
class SnapshotRequest(LookingRequest[Snapshot]):
    """Take a snapshot, in view of all existing entries."""

    def act(self, batch: Batch) -> Snapshot:
        """Take it."""
        state = batch.state
        receipt = Receipt(state.opening.ledger, state.seq, state.head)
        return Snapshot(
            opening=state.opening,
            accounts=state.accounts,
            receipt=receipt,
            closed=tuple(state.closed),
            descriptions=tuple(state.descriptions),
        )


@final
@dataclass(frozen=True, slots=True)
class DescribeRequest(_LedgerRequest):
    """Record a description, unless an equal one exists."""

    entry: DescriptionEntry

    def act(self, batch: Batch) -> None:
        """Record it if it is new."""
        if self.entry not in batch.state.descriptions:
            batch.append(self.entry)


@final
@dataclass(frozen=True, slots=True)
class OpenRequest(LookingRequest[Snapshot]):
    """Open an existing ledger on some terms."""

    terms: OpeningTerms

    def act(self, batch: Batch) -> Snapshot:
        """Compare the record with the terms; tables without entries are damage."""
        self.terms.check(batch.state)
        return SnapshotRequest().act(batch)


@final
@dataclass(frozen=True, slots=True)
class AccountRequest(_LedgerRequest):
    """Open a further account; an existing one with the same limits is returned."""

    entry: AccountEntry

    def act(self, batch: Batch) -> Snapshot:
        """Check what is above, and record."""
        accounts, path = batch.state.accounts, self.entry.account
        there = accounts.get(path)
        if there is None:
            checked_account(accounts, parent_account(path))
            batch.append(self.entry)
        elif not is_recorded(there.budget, self.entry.budget):
            raise OtherLedger(
                what=f"account {path} is recorded with another budget.",
                why="limits on record are raised by two people, or stay.",
                do="leave the account as it is, or raise its limit with raise_limit.",
            )
        return SnapshotRequest().act(batch)


@final
@dataclass(frozen=True, slots=True)
class RaiseRequest(_LedgerRequest):
    """Raise the limits of an account."""

    entry: RaiseEntry

    def act(self, batch: Batch) -> Snapshot:
        """Check that it is a raise, and record it."""
        path = self.entry.account
        if checked_account(batch.state.accounts, path).budget is None:
            raise OutOfRange(
                what=f"account {path} has no limits of its own.",
                why="a limit where there was none would lower what may be asked.",
                do="raise the limits of an account above it.",
            )
        now = batch.state.filter_of(path).budget
        budget = checked_raise(now, self.entry.budget)
        batch.append(replace(self.entry, budget=budget))
        return SnapshotRequest().act(batch)


@final
@dataclass(frozen=True, slots=True)
class LeftRequest(LookingRequest[Left]):
    """Return what is left for requests about a scope, in an account and all above it."""

    account: str
    scope: Box | None

    def act(self, batch: Batch) -> Left:
        """Take a copy of what is left, usable while others are charged."""
        state = batch.state
        checked_account(state.accounts, self.account)
        return _together(
            [
                state.filter_of(path).left(self.scope)
                for path in state.limited_accounts(self.account)
            ]
        )


def _together(lefts: Sequence[Left]) -> Left:
    """Return what is left in the last account, for requests that all of them have to accept."""

    def fitting(what: Priceable, delta: object) -> Callable[[int], bool]:
        fits = [left.fitting(what, delta) for left in lefts]
        return lambda times: all(fit(times) for fit in fits)

    def charging(what: Priceable, delta: object) -> Left:
        return _together([left.charging(what, delta) for left in lefts])

    return replace(lefts[-1], fitting=fitting, charging=charging)


@final
@dataclass(frozen=True, slots=True)
class StatementRequest(LookingRequest[tuple[tuple[str, str], ...]]):
    """Return what is left in every account."""

    def act(self, batch: Batch) -> tuple[tuple[str, str], ...]:
        """Put it in words."""
        state = batch.state
        return tuple(
            (path, "" if state.accounts[path].budget is None else str(state.filter_of(path).left()))
            for path in sorted(state.accounts)
        )


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
