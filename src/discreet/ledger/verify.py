"""The auditor: everything that a ledger claims, worked out again from its entries alone.

Trust: kernel.

It shares no code with what it checks: it builds on the standard library, on
:mod:`discreet.accounting` and the rooms below, and on no other file of the ledger.  An unreadable
entry is named and skipped, so that one report says what is wrong and where.  It checks of entries:

    lines      canonical JSON in a known format, with exactly the fields of their kind, in order
    chain      each head follows from the line and the head before it
    columns    what is stored with a line is what the line says
    accounts   exist before they are charged, and are below others; the first entry is the only root
    requests   one charge and one release a key, release after start after charge; attempts count up
    closed     questions are neither started nor answered until they are reopened
    answers    are those whose digest and size were recorded
    prices     worked out again from tree, scope and delta; what was recorded is not below
    limits     follow from what they promise, and are raised by two people, never lowered
    sums       of every account within its limits after every charge
    receipts   name existing entries, with the same head, in the same ledger

and of a SQLite file that no page is damaged and every index agrees with its table: a row that its
index does not name would be paid for again.  Only a receipt shows that the last entries are
missing, and nothing that data was read without a charge, or that the names of people are true.

Definition.  A line is canonical if it is the only way to write its value: keys in order, each once,
no spaces, ASCII alone, no floats.  The head of an entry is the SHA-256 of the head before it, a
line feed and its line; before the first entry it is 64 zeros.
Theorem (key ``hash-chain``; Haber and Stornetta 1991, How to Time-Stamp a Digital Document, for
linking by hashes).  Two records with the same head at the same number are the same up to there, or
exhibit two texts with the same SHA-256.
    Proof.  Equal heads of different texts are such a pair.  Otherwise the texts are equal, so the
    lines are, and the heads before them, since a head has 64 characters; continue with those.

Definition.  Recorded pieces cover the needed ones if there are as many, each recorded box contains
the one in its place, and no amount is below the one in its place; if the recorded box is larger,
what two records pay is also not below what one needs to pay.
Theorem (key ``covering-charges``).  If recorded pieces cover the needed ones, no record owes more
than is recorded.
    Proof.  A record in a needed box is in the recorded one in its place, and pays there; so do two
    in one needed box.  Otherwise each in a box owes ``added``: the recorded box that holds both is
    the larger one, so ``replaced`` is enough; one that holds one of them charges it ``added``.

``python -m discreet.ledger.verify FILE`` exits with 0 if everything follows from the entries, 5
otherwise or if the file cannot be read now, 2 if the command was not understood, and 1 if the
report could not be written.
"""

from __future__ import annotations

import argparse
import base64
import functools
import hashlib
import json
import operator
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, final
from urllib.parse import quote

from discreet.accounting import codec
from discreet.accounting.amounts import decode_amounts, format_down, format_up
from discreet.accounting.balances import Balances, ChargedBox
from discreet.accounting.box import Box, Contribution, shared_columns
from discreet.accounting.budget import Budget
from discreet.accounting.currencies import Currency
from discreet.accounting.requests import RequestPricer
from discreet.errors import DiscreetError, LedgerUnavailable, NotALedger, Tampered
from discreet.exact import rational
from discreet.units import same_unit

FIRST_HEAD: Final = "0" * 64
MOST: Final = 100
"""How many problems are listed."""

_FORMAT: Final = 1
_SHOWN: Final = 10
_KEPT: Final = 1 << 12
_EVERYTHING: Final = Box.everything()

Found = TypeVar("Found")
Fields = Mapping[str, Any]
Wrong = Iterator[tuple[str, str]]
"""What is wrong: a kind and a message each."""
Pieces = tuple[ChargedBox, ...]


def safely(read: Callable[..., Found], *given: object) -> Found | None:
    """Return what was read, or None if the data cannot be read."""
    try:
        return read(*given)
    except Exception:  # noqa: BLE001  garbage may fail anywhere, and it all means the same
        return None


# --- lines ------------------------------------------------------------------------------------


def _refuse(text: str) -> NoReturn:
    raise ValueError(len(text))


_READ: Final = json.JSONDecoder(parse_float=_refuse, parse_constant=_refuse).decode
canonical: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode
Check = Callable[[Any], bool]


def _matches(pattern: str) -> Check:
    known = re.compile(pattern, re.ASCII)
    return lambda value: isinstance(value, str) and known.fullmatch(value) is not None


def _is_a(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _is_said(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_columns(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(column, str) for column in value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


_is_head: Final = _matches(r"[0-9a-f]{64}")
_is_path: Final = _matches(r"[A-Za-z0-9_.-]{1,64}(/[A-Za-z0-9_.-]{1,64}){0,7}")
_is_id: Final = _matches(r"[0-9a-f]{32}")
_is_time: Final = _matches(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_is_text, _is_object = _is_a(str), _is_a(dict)
_is_object_or_null: Final = _is_a(dict, type(None))
_PEOPLE: Final[Mapping[str, Check]] = {"reason": _is_said, "by": _is_said, "approved_by": _is_said}
_KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "open": {
        "ledger": _is_id,
        "unit": _is_object,
        "constant": _is_columns,
        "contribution": _is_object_or_null,
        "account": _is_path,
        "budget": _is_object,
    },
    "account": {"account": _is_path, "budget": _is_object_or_null, "by": _is_said},
    "raise": {"account": _is_path, "budget": _is_object, **_PEOPLE},
    "charge": {
        "account": _is_path,
        "key": _is_said,
        "question": _is_text,
        "body": _is_head,
        "tree": _is_object,
        "scope": _is_object,
        "delta": _is_a(str, type(None)),
        "boxes": _is_a(list),
        "amounts": _is_object,
    },
    "start": {"key": _is_said, "attempt": _is_count},
    "release": {"key": _is_said, "answer": _is_head, "size": _is_count},
    "restore": {"after": _is_head, "spent": _is_a(bool), **_PEOPLE},
    "fail": {"key": _is_said},
    "reopen": {"key": _is_said, "reason": _is_said, "by": _is_said},
    "describe": {"what": _is_said, "content": _is_object, "digest": _is_head},
}
_COMMON: Final[Mapping[str, Check]] = {
    "format": _is_count,
    "seq": _is_count,
    "kind": _is_text,
    "at": _is_time,
}
_CHECKS: Final = {kind: {**_COMMON, **fields} for kind, fields in _KINDS.items()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _parent(path: str) -> str:
    """Return the account above another; nothing above a root."""
    return path.rpartition("/")[0]


def parse_entry(line: object) -> tuple[Fields, str]:
    """Return the fields of a line, and why it is not an entry, if so.

    >>> parse_entry("[]")
    ({}, 'it is not an object in canonical JSON.')
    """
    fields = safely(_READ, line)
    if not isinstance(fields, dict) or canonical(fields) != line:
        return {}, "it is not an object in canonical JSON."
    kind = fields.get("kind")
    own = _CHECKS.get(kind) if isinstance(kind, str) else None
    checks = own or _COMMON
    wrong = [name for name, value in fields.items() if not checks.get(name, _is_any)(value)]
    message = ""
    if fields.get("format") != _FORMAT:
        message = f"its format is not {_FORMAT}, the only one that is known."
    elif own is None:
        message = "its kind is not known."
    elif fields.keys() != checks.keys():
        message = f"its fields are not those of a {kind}."
    elif wrong:
        message = f"what it says under {wrong[0]!r} cannot be."
    return fields, message


def _is_any(_: object) -> bool:
    return True


# --- the report -------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one entry, or, at number 0, with the record as a whole.

    >>> print(Problem(7, "chain", "its head does not follow from the entry before."))
    entry 7, chain: its head does not follow from the entry before.
    """

    seq: int
    kind: str
    message: str

    def __str__(self) -> str:
        """Say where, and what."""
        where = f"entry {self.seq}" if self.seq else "the record"
        return f"{where}, {self.kind}: {self.message}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountBalance:
    """What was spent of the budget of an account, in quanta of 10**-24; no components, no budget.

    >>> print(AccountBalance(account="data", components=("rho",), spent=(10**23,), limit=(10**24,)))
    data: rho 0.1 of 1
    """

    account: str
    components: tuple[str, ...]
    spent: tuple[int, ...]
    limit: tuple[int, ...]

    def __str__(self) -> str:
        """Show what is spent, rounded up, and the limit, rounded down; what is full comes last.

        A budget may have several routes, of which one has to fit; a problem says if none does.
        """
        within: list[str] = []
        beyond: list[str] = []
        for name, spent, limit in zip(self.components, self.spent, self.limit, strict=True):
            if spent or limit or name != "delta":
                shown = f"{name} {format_up(spent)} of {format_down(limit)}"
                (beyond if spent > limit else within).append(shown)
        closed = f"; routes of the budget that no longer fit: {', '.join(beyond)}" if beyond else ""
        shown = ", ".join(within) + closed
        return f"{self.account}: {shown or 'no budget of its own'}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcome of a verification.

    ``unreleased`` counts charges without a stored answer: they are paid for, and a retry with the
    same key completes them.

    >>> report = Report(
    ...     ledger="0" * 32, entries=1, charges=0, releases=0, unreleased=0,
    ...     accounts=(), head="f" * 64, problems=(),
    ... )
    >>> report.ok, report.receipt == "0" * 32 + ":1:" + "f" * 64
    (True, True)
    """

    ledger: str
    entries: int
    charges: int
    releases: int
    unreleased: int
    accounts: tuple[AccountBalance, ...]
    head: str
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def receipt(self) -> str:
        """The last entry and its head, as a receipt says it."""
        return f"{self.ledger}:{self.entries}:{self.head}"

    def raise_if_bad(self) -> None:
        """Raise Tampered unless nothing is wrong."""
        if self.ok:
            return
        more = len(self.problems) - 1
        least = "at least " if len(self.problems) == MOST else ""
        others = f"  And {least}{more} more." if more else ""
        raise Tampered(
            what=f"the ledger does not pass a check: {self.problems[0]}{others}",
            why="a record that was changed no longer says what people have lost.",
            do="keep the file as it is, and compare it with receipts and with a copy of your own.",
        )

    def __str__(self) -> str:
        """Show a short report, the first problems last."""
        lines = [
            f"ledger {self.ledger or 'without a name'}",
            f"entries {self.entries}, charges {self.charges}, releases {self.releases}",
            f"paid for, and not released: {self.unreleased}",
            *(f"  {standing}" for standing in self.accounts),
            f"receipt {self.receipt}",
        ]
        if self.ok:
            return "\n".join([*lines, "ok: everything follows from the entries"])
        least = "at least " if len(self.problems) == MOST else ""
        lines.append(f"NOT OK: {least}{len(self.problems)} problems")
        lines += [f"  {problem}" for problem in self.problems[:_SHOWN]]
        more = len(self.problems) - _SHOWN
        return "\n".join([*lines, f"  and {more} more"] if more > 0 else lines)


# --- prices -----------------------------------------------------------------------------------


def covers(recorded: Sequence[ChargedBox], needed: Sequence[ChargedBox]) -> bool:
    """Return whether what is recorded is enough for what is needed."""
    return len(recorded) == len(needed) and all(map(_covers, recorded, needed))


def _covers(recorded: ChargedBox, needed: ChargedBox) -> bool:
    same = recorded.box == needed.box
    if not same and not recorded.box.covers(needed.box):
        return False
    places = zip(recorded.added, recorded.replaced, needed.added, needed.replaced, strict=True)
    return all(
        paid >= added and paid_by_two >= (replaced if same else max(added, replaced))
        for paid, paid_by_two, added, replaced in places
    )


def _read_pricer(entry: Fields) -> RequestPricer:
    given = entry["contribution"]
    return RequestPricer(
        unit=same_unit(codec.decode_unit(entry["unit"])),
        constant=tuple(entry["constant"]),
        contribution=None if given is None else Contribution.read(given),
    )


@functools.lru_cache(_KEPT)
def _needed(
    pricer: RequestPricer, tree: str, scope: str, delta: str | None, currency: Currency
) -> Pieces:
    """Return the boxes that a request is about and what it costs there."""
    box = Box.read(json.loads(scope))
    chance = None if delta is None else rational(delta, name="delta")
    return pricer.pieces(codec.decode(json.loads(tree)), currency, scope=box, delta=chance)


def _recorded(boxes: Sequence[Box], pairs: Sequence[Any], width: int) -> Pieces:
    return tuple(
        ChargedBox(box, decode_amounts(one, width=width), decode_amounts(two, width=width))
        for box, (one, two) in zip(boxes, pairs, strict=True)
    )


def _read_boxes(written: Sequence[object]) -> tuple[Box, ...]:
    boxes = tuple(map(Box.read, written))
    if not all(box.exact for box in boxes):
        raise ValueError
    return boxes


# --- the audit --------------------------------------------------------------------------------

_RECEIPT: Final = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)
_BUDGET: Final = ("budget", "its budget cannot be read, or allows more than it promises.")
_CLOSED: Final = "its question was closed by a failed attempt."
_ANSWERED: Final = "its key was answered before."


@final
@dataclass(slots=True)
class _Request:
    """The progress of one request."""

    attempts: int = 0
    released: bool = False
    closed: bool = False


@final
@dataclass(slots=True)
class _Account:
    """An account: what was charged to it, if it has a budget, and the first charge that exceeds."""

    owed: Balances | None = None
    refused: int = 0


_Charge = tuple[list[tuple[_Account, Pieces]], list[tuple[str, str]]]
"""What equal charges cost each account, and what is wrong with them."""


@final
class Audit:
    """What the entries so far add up to, and what is wrong with them.

    >>> audit = Audit()
    >>> audit.add_entry("{}", "f" * 64, None)
    >>> for problem in audit.report().problems:
    ...     print(problem)
    entry 1, chain: its head does not follow from its line and the head before.
    entry 1, number: it does not say that it is entry 1.
    entry 1, line: its format is not 1, the only one that is known.
    """

    def __init__(self, receipts: Iterable[object] = ()) -> None:
        """Take receipts that the record must match, as text or as values that print so."""
        self.entries = 0
        self._problems: list[Problem] = []
        self._requests: dict[str, _Request] = {}
        self._accounts: dict[str, _Account] = {}
        self._pricer: RequestPricer | None = None
        self._known: dict[str, _Charge] = {}
        self._seq = 0
        self._head, self._ledger = FIRST_HEAD, ""
        self._receipts: dict[int, list[str]] = {}
        self._named: set[str] = set()
        for receipt in receipts:
            said = _RECEIPT.fullmatch(safely(str, receipt) or "")
            if said is None:
                self.add_problem("receipt", "a receipt cannot be read.")
            else:
                self._receipts.setdefault(int(said[2]), []).append(said[3])
                self._named.add(said[1])

    def add_entry(
        self, line: object, head: object, answer: object, columns: tuple[object, ...] | None = None
    ) -> None:
        """Read one entry as it is stored; compare number, kind, key and question if given."""
        self.entries += 1
        self._seq += 1
        before, computed = self._head, ""
        if isinstance(line, str):
            computed = _digest(f"{before}\n{line}".encode("utf-8", "surrogatepass"))
        self._head = computed or before
        if computed != head:
            self._wrong("chain", "its head does not follow from its line and the head before.")
            self._head = str(head) if _is_head(head) else self._head
        entry, message = parse_entry(line)
        self._count(entry.get("seq"))
        if message:
            self._wrong("line", message)
            return
        for kind, wrong in self._follow(entry, before, answer):
            self._wrong(kind, wrong)
        said = tuple(entry.get(name) for name in ("seq", "kind", "key", "question"))
        if columns is not None and columns != said:
            self._wrong("columns", "what is stored beside the line is not what the line says.")

    def add_problem(self, kind: str, message: str, seq: int = 0) -> None:
        """Note a problem; the list stops growing, since one mistake may show in every entry."""
        if len(self._problems) < MOST:
            self._problems.append(Problem(seq, kind, message))

    def check_id(self, ledger: object) -> None:
        """Compare the id of the ledger with the one given beside the entries."""
        if ledger != self._ledger:
            self.add_problem("file", "it bears the name of another ledger.")

    def report(self) -> Report:
        """Sum up."""
        if not self.entries:
            self.add_problem("file", "it has no entries.")
        accounts = tuple(self._balance(path) for path in sorted(self._accounts))
        for seq in sorted(self._receipts):
            self.add_problem("receipt", "a receipt was given for it, and it is missing.", seq)
        if self._named - {self._ledger}:
            self.add_problem("receipt", "a receipt was given by another ledger.")
        releases = sum(request.released for request in self._requests.values())
        return Report(
            ledger=self._ledger,
            entries=self.entries,
            charges=len(self._requests),
            releases=releases,
            unreleased=len(self._requests) - releases,
            accounts=accounts,
            head=self._head,
            problems=tuple(self._problems),
        )

    def _balance(self, path: str) -> AccountBalance:
        account = self._accounts[path]
        if account.owed is None:
            return AccountBalance(account=path, components=(), spent=(), limit=())
        if account.refused:
            message = f"it does not fit into what was left of {path}."
            self.add_problem("sum", message, account.refused)
        budget, spent = account.owed.budget, account.owed.worst(_EVERYTHING)
        return AccountBalance(
            account=path, components=budget.components, spent=tuple(spent), limit=budget.limit
        )

    def _wrong(self, kind: str, message: str) -> None:
        self.add_problem(kind, message, self._seq)

    def _count(self, seq: object) -> None:
        """Check the number of an entry, and continue from there."""
        if type(seq) is not int or seq != self._seq:
            self._wrong("number", f"it does not say that it is entry {self._seq}.")
        if type(seq) is int and seq > self._seq:
            self._seq = seq
        if any(head != self._head for head in self._receipts.pop(self._seq, ())):
            self._wrong("receipt", "a receipt was given for another entry in this place.")

    def _follow(self, entry: Fields, before: str, answer: object) -> Wrong:  # noqa: C901  kinds
        """Check an entry against those before it, and yield what is wrong."""
        kind = entry["kind"]
        if (kind == "open") != (self.entries == 1):
            yield "open", "the first entry, and no other, opens a ledger."
        if kind != "release" and answer is not None:
            yield "answer", "there is an answer beside an entry that is not a release."
        match kind:
            case "charge":
                yield from self._charge(entry)
            case "start" | "fail" | "reopen":
                yield from self._step(kind, entry)
            case "release":
                data = answer if isinstance(answer, bytes) else b""
                if answer is None or (len(data), _digest(data)) != (entry["size"], entry["answer"]):
                    yield "answer", "its answer is missing, or not the one that was recorded."
                yield from self._step(kind, entry)
            case "describe":
                yield from self._describe(entry)
            case "account" | "open":
                yield from self._add(entry)
            case "raise" | "restore":
                people = [entry[name].strip().casefold() for name in ("by", "approved_by")]
                if people[0] == people[1]:
                    yield kind, "one person both asked for it and approved it."
                yield from self._raise(entry) if kind == "raise" else self._restore(entry, before)

    def _step(self, kind: str, entry: Fields) -> Wrong:
        """Take what follows a charge."""
        request = self._requests.get(entry["key"])
        if request is None:
            yield kind, "its key was not charged."
            return
        if kind == "reopen":
            if not request.closed:
                yield kind, "its question was not closed."
            request.closed = False
            return
        if request.released:
            yield kind, _ANSWERED
        if request.closed:
            yield kind, _CLOSED
        if kind == "start":
            request.attempts += 1
            if entry["attempt"] != request.attempts:
                yield kind, "its attempt is not the next one."
        elif not request.attempts:
            yield kind, "its key was not started."
        request.released |= kind == "release"
        request.closed |= kind == "fail"

    def _describe(self, entry: Fields) -> Wrong:
        """Take a description; that of a table says what all rows of a unit share in it."""
        if _digest(canonical(entry["content"]).encode()) != entry["digest"]:
            yield "describe", "its digest is not that of its content."
        elif entry["what"] == "schema" and self._pricer is not None:
            self._pricer = self._pricer.sharing(shared_columns(entry["content"]))
            self._known.clear()

    def _add(self, entry: Fields) -> Wrong:
        """Take an account, with the terms of the ledger if it is the first."""
        path, above = entry["account"], _parent(entry["account"])
        if entry["kind"] == "open" and not self._ledger:
            self._ledger = entry["ledger"]
            self._pricer = safely(_read_pricer, entry)
            if self._pricer is None:
                yield "open", "its unit, columns or contribution cannot be read."
            if above:
                yield "account", "the first account is below another."
        elif path in self._accounts:
            yield "account", "it exists already."
            return
        elif above not in self._accounts:
            yield "account", "the account above it does not exist."
        budget = safely(Budget.read, entry["budget"])
        if budget is None and entry["budget"] is not None:
            yield _BUDGET
        self._accounts[path] = _Account()
        if budget is not None and self._pricer is not None:
            replaces = self._pricer.unit.relation.replaces
            self._accounts[path].owed = Balances(budget, replaces=replaces)

    def _raise(self, entry: Fields) -> Wrong:
        """Take higher limits."""
        account = self._accounts.get(entry["account"])
        owed = None if account is None else account.owed
        budget = safely(Budget.read, entry["budget"])
        if owed is None:
            yield "raise", "its account does not exist, or has no budget."
        elif budget is None:
            yield _BUDGET
        elif not _raises(owed.budget, budget):
            yield "raise", "it changes the currency, lowers something, or raises nothing."
        else:
            owed.budget = budget

    def _restore(self, entry: Fields, before: str) -> Wrong:
        """Count what was left of every account as spent, unless two people vouch."""
        if entry["after"] != before:
            yield "restore", "it does not name the head of the entry before."
        for account in self._accounts.values() if entry["spent"] else ():
            if account.owed is not None:
                account.owed.exhaust()

    def _charge(self, entry: Fields) -> Wrong:
        """Take a charge; equal charges share what was found for the first."""
        if entry["key"] in self._requests:
            yield "charge", "its key was charged before."
        self._requests.setdefault(entry["key"], _Request())
        asked = canonical([entry[name] for name in ("account", "tree", "scope", "delta")])[:-1]
        if _digest(f"{asked},{canonical(entry['question'])}]".encode()) != entry["body"]:
            yield "charge", "its body is not the digest of what it asks for."
        name = asked + canonical([entry["boxes"], entry["amounts"]])
        if name not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[name] = self._priced(entry)
        costs, wrong = self._known[name]
        yield from wrong
        for account, pieces in costs:
            if account.owed is not None:
                if not account.refused and not safely(account.owed.fits, pieces):
                    account.refused = self._seq
                safely(account.owed.add, pieces)

    def _priced(self, entry: Fields) -> _Charge:
        """Compare what a charge debits with what its tree costs."""
        path = entry["account"]
        if path not in self._accounts:
            return [], [("charge", "its account does not exist.")]
        limited: dict[str, Currency] = {}
        while path:
            owed = self._accounts[path].owed if path in self._accounts else None
            limited |= {} if owed is None else {path: owed.budget.currency}
            path = _parent(path)
        if entry["amounts"].keys() != limited.keys():
            return [], [("charge", "it does not debit exactly the accounts with a budget above.")]
        tree, scope = canonical(entry["tree"]), canonical(entry["scope"])
        boxes = safely(_read_boxes, entry["boxes"])
        costs, wrong = [], []
        for each, currency in limited.items():
            width = len(currency.components)
            recorded = safely(_recorded, boxes, entry["amounts"][each], width)
            needed = safely(_needed, self._pricer, tree, scope, entry["delta"], currency)
            if recorded is None:
                wrong.append(("charge", f"its boxes or amounts cannot be read ({each})."))
                continue
            costs.append((self._accounts[each], recorded))
            if needed is None:
                wrong.append(("price", f"what it costs cannot be worked out ({each})."))
            elif not covers(recorded, needed):
                wrong.append(("price", f"it debits less than its tree costs ({each})."))
        return costs, wrong


def _raises(old: Budget, new: Budget) -> bool:
    pairs = list(zip(old.limit, new.limit, strict=False))
    higher = all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)
    return old.currency == new.currency and higher


# --- files ------------------------------------------------------------------------------------

_MARK: Final = 0x44504C31
_VERSION: Final = 1
_EXPORT: Final = 1
_COLUMNS: Final = ("seq", "kind", "key", "question", "line", "head", "answer")
_PAGE: Final = 500
_ROWS: Final = (
    f"SELECT rowid, {', '.join(_COLUMNS)} FROM entry"  # noqa: S608
    f" WHERE rowid > ? ORDER BY rowid LIMIT {_PAGE}"
)
_named = operator.attrgetter(*_COLUMNS)
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""Why a file that may be right cannot be read at the moment (T3, T4)."""


def verify(rows: Iterable[object], *, receipts: Iterable[object] = ()) -> Report:
    """Check a record from its entries alone.

    Args:
        rows: the number, kind, key, question, line, head and answer of each entry, in order, as
            tuples or as values with fields called seq, kind, key, question, line, head, answer.
        receipts: texts ``ledger:seq:head`` that the ledger once gave, or values that print so.

    >>> print(verify([]).problems[0])
    the record, file: it has no entries.
    """
    audit = Audit(receipts)
    for row in rows:
        cells = row if isinstance(row, tuple) else safely(_named, row)
        _take(audit, cells)
    return audit.report()


def _take(audit: Audit, cells: object) -> None:
    match cells:
        case (seq, kind, key, question, line, head, answer):
            audit.add_entry(line, head, answer, (seq, kind, key, question))
        case _:
            audit.add_entry(None, None, None)


def verify_file(path: str | Path, *, receipts: Iterable[object] = ()) -> Report:
    """Check a SQLite ledger, or a backup, without the rest of this package's ledger.

    >>> verify_file("nowhere.ledger")
    Traceback (most recent call last):
    discreet.errors.NotALedger
    """
    place = Path(path)
    if not place.is_file():
        raise NotALedger(
            what="there is no file to read at the given path.",
            why="what is not read is not verified.",
            do="give the path of a ledger, or of a backup of one.",
        )
    audit = Audit(receipts)
    try:
        if is_database(place):
            for row in database_rows(place):
                _take(audit, row)
            for kind, message in _file_problems(place):
                audit.add_problem(kind, message)
        else:
            _take_backup(audit, place)
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as failure:
        code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code & 0xFF in _PASSING and code != sqlite3.SQLITE_IOERR_SHORT_READ:
            raise LedgerUnavailable(
                what=f"the ledger cannot be read now ({getattr(failure, 'sqlite_errorname', '')}).",
                why="what cannot be read is neither right nor wrong.",
                do="make sure that no other program keeps the file locked, and that this one may "
                "read it and open more files; then verify it again.",
            ) from None
        audit.add_problem("file", "it is a damaged database, or not one of a ledger.")
    except OSError:
        audit.add_problem("file", "it cannot be read to its end.")
    return audit.report()


def is_database(place: Path) -> bool:
    """Return whether a file is for SQLite to read, damaged or not.

    >>> is_database(Path(__file__))
    False
    """
    try:
        _connect(place).close()
    except sqlite3.Error as failure:
        return failure.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    except UnicodeDecodeError:  # SQLite quotes a damaged schema
        return True
    return True


def database_rows(place: Path) -> Iterator[tuple[Any, ...]]:
    """Read the entries of a database in their own order, without an index, a page at a time."""
    with closing(_connect(place)) as database:
        last = -(2**63)
        while page := database.execute(_ROWS, (last,)).fetchall():
            if page[-1][0] <= last:  # torn pages could go round for ever
                raise sqlite3.DatabaseError
            last = page[-1][0]
            yield from (cells[1:] for cells in page)


def _file_problems(place: Path) -> Wrong:
    """Yield what is wrong around the entries."""
    with closing(_connect(place)) as database:
        ((mark,),) = database.execute("PRAGMA application_id")
        ((version,),) = database.execute("PRAGMA user_version")
        if mark != _MARK or version != _VERSION:
            yield "file", "it is marked as another kind of file, or as one of another version."
        if database.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
            yield "index", "its pages are damaged, or an index does not agree with its table."


def _connect(place: Path) -> sqlite3.Connection:
    """Open for reading; write only to take back what a crash has left half-written."""
    address = f"file:{quote(bytes(place.absolute()))}"
    for mode in ("ro", "rw"):
        database = sqlite3.connect(f"{address}?mode={mode}", uri=True)
        database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        try:
            database.execute("PRAGMA schema_version").fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as failure:
            database.close()
            if mode == "rw" or not isinstance(failure, sqlite3.OperationalError):
                raise
        else:
            break
    return database


def _take_backup(audit: Audit, place: Path) -> None:
    with place.open("rb") as file:
        head = _object(next(file, b""), {"export", "ledger"})
        if head.get("export") != _EXPORT:
            audit.add_problem("file", "it is neither a ledger in a file nor a backup of one.")
            return
        for text in file:
            audit.add_entry(*(backup_row(text) or (None, None, None)))
        audit.check_id(head["ledger"])


def backup_row(text: bytes) -> tuple[Any, Any, bytes | None] | None:
    """Return the line, the head and the answer of a line of a backup, or None."""
    stored = _object(text, {"line", "head", "answer"})
    coded = stored.get("answer")
    answer = None if coded is None else safely(base64.b64decode, coded, None, True)
    if not stored or (answer is None and coded is not None):
        return None
    return stored["line"], stored["head"], answer


def _object(text: bytes, names: set[str]) -> dict[str, Any]:
    """Read an object with certain names, up to the end of the line; nothing if it is none."""
    value = safely(json.loads, text) if text.endswith(b"\n") else None
    return value if isinstance(value, dict) and value.keys() == names else {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a report, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m discreet.ledger.verify",
        description="Work out again, from its entries alone, what a ledger claims.",
    )
    parser.add_argument("file", help="a ledger in a SQLite file, or a backup of one")
    parser.add_argument(
        "--receipt",
        action="append",
        default=[],
        help="a receipt that the ledger once gave, ledger:seq:head; may be given several times",
    )
    given = parser.parse_args(arguments)
    try:
        report = verify_file(given.file, receipts=given.receipt)
    except DiscreetError as error:
        sys.stderr.write(f"{error}\n")
        return 5
    status = 0 if report.ok else 5
    try:
        sys.stdout.write(f"{report}\n")
        sys.stdout.flush()
    except (AttributeError, OSError):  # closed, full, or nobody reads it any more
        sys.stdout = None  # or the interpreter would write once more
        return status or 1
    return status


if __name__ == "__main__":
    sys.exit(main())
