"""The auditor: everything that a ledger claims, worked out again from its entries alone.

Trust: kernel.

It shares no code with what it checks: it builds on the standard library, on
:mod:`discreet.accounting` and the rooms below, and on no other file of the ledger.  An unreadable
entry is named and skipped, so that one report says what is wrong and where.  Checked are, for every
entry:

    lines      canonical JSON in a known format, with exactly the fields of their kind, in order
    chain      each head follows from the line and the head before it
    columns    what is stored with a line is what the line says
    accounts   exist before they are charged, and lie below others; the first entry is the only root
    requests   one charge and one release a key, release after start after charge; attempts count up
    closed     questions are neither started nor answered until they are reopened
    answers    are those whose digest and size were recorded
    prices     worked out again from tree, scope and delta; what was recorded is not below
    limits     follow from what they promise, and are raised by two people, never lowered
    sums       of every account within its limits at every moment
    receipts   name existing entries, with the same head, in the same ledger

and for a ledger in a SQLite file:

    tables     with their indexes and triggers are those that a ledger is made with
    index      every index agrees with its table, and no page is damaged
    card       is whole; neither card nor checkpoint names an entry that is missing

Entries alone cannot show that the last ones are missing (hold a receipt against them), that data
were read without a charge, or whether the names of people are true.

Definition.  A line is canonical if it is the only way to write its value: keys in order, each once,
no spaces, ASCII alone, no floats.  The head of an entry is the SHA-256 of the head before it, a
line feed and its line; before the first entry it is 64 zeros.
Theorem (key ``hash-chain``; Haber and Stornetta 1991, How to Time-Stamp a Digital Document, for
linking by hashes).  Two records with the same head at the same number are the same up to there, or
exhibit two texts with the same SHA-256.
    Proof.  Equal heads of different texts are such a pair.  Otherwise the texts are equal, so the
    lines are, and the heads before them, since a head has 64 characters; continue with those.

Definition.  Recorded pieces cover the needed ones if there are as many, each recorded box contains
the one in its place, and no amount is below the one in its place; where the recorded box is larger,
what two records pay is also not below what one needs to pay.
Theorem (key ``covering-charges``).  If recorded pieces cover the needed ones, no record owes more
than is recorded.
    Proof.  A record in a needed box is in the recorded one in its place, and pays there.  Two
    records in one needed box are in the recorded one, and pay what is ``replaced``.  Otherwise
    they owe what is ``added`` for each of them that is in a box.  That is paid in the recorded
    box: as ``added`` if it does not hold the other record, and if it does it is the larger box, so
    that what is ``replaced`` is enough.

Theorem (key ``limits-by-segment``).  Cut the charges of an account at its raises.  If the sums at
the end of each segment fit into the limits that held there, they fitted at every moment.
    Proof.  Amounts are not negative, so that sums only grow, cell by cell; within a segment the
    limits stay the same; and what fits into limits still fits when it is smaller.
So charges may be added up in any order between two raises: those of the same box and the same shape
(in which components two records pay more than twice what one does) are added first, which changes
no sum.  A cell is in some box that was charged, or has paid only what was charged everywhere.  So
it is enough that the highest payments within each charged box fit.  They may come from different
cells, or from cells that a full map has merged in another order; where they do not fit, the charges
are replayed one by one as they were accepted.

A database is opened read-only and may be in use meanwhile; a journal that a crash has left is taken
back, as the next opening would.  Entries are read in their own order, without an index, and SQLite
compares every index with its table: a row that its index does not name would be paid for again.

``python -m discreet.ledger.verify FILE`` exits with 0 if everything follows from the entries, and 5
otherwise; with 2 if the command was not understood; and with 1 if the report could not be written.
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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeVar, final
from urllib.parse import quote

from discreet.accounting import codec
from discreet.accounting.amounts import added, decode_amounts, format_down, format_up
from discreet.accounting.balances import Balances, ChargedBox
from discreet.accounting.box import Box, Contribution, shared_columns
from discreet.accounting.budget import Budget
from discreet.accounting.currencies import Amounts, Currency, price_in_currency
from discreet.accounting.nodes import Node
from discreet.accounting.requests import RequestPart, RequestPricer
from discreet.errors import DiscreetError, NotALedger, Tampered
from discreet.exact import rational
from discreet.loss.parameters import checked_delta
from discreet.units import PrivacyUnit, Relation, same_unit

FIRST_HEAD: Final = "0" * 64
Found = TypeVar("Found")
Wrong = Iterator[tuple[str, str]]
"""What is wrong: a kind and a message each."""


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
_WRITE: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode


def canonical(value: object) -> str:
    r"""Write a value of JSON in its canonical form.

    >>> canonical({"b": [1, None], "a": "ä"})
    '{"a":"\\u00e4","b":[1,null]}'
    """
    return _WRITE(value)


def read_canonical(text: str) -> Any:
    """Read canonical JSON; None if it is anything else, or null."""
    try:
        value = _READ(text)
        return value if canonical(value) == text else None
    except (ValueError, RecursionError):
        return None


def digest(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def next_head(head: str, line: str) -> str:
    """Return the head of an entry, from the one before it and its line."""
    return digest(f"{head}\n{line}".encode("utf-8", "surrogatepass"))


_FORMAT: Final = 1
Check = Callable[[Any], bool]


def _matches(pattern: str) -> Check:
    known = re.compile(pattern, re.ASCII)
    return lambda value: isinstance(value, str) and known.fullmatch(value) is not None


def _is_a(kind: type) -> Check:
    return lambda value: isinstance(value, kind)


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _is_said(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_columns(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(column, str) for column in value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


is_head: Final = _matches(r"[0-9a-f]{64}")
is_path: Final = _matches(r"[A-Za-z0-9_.-]{1,64}(/[A-Za-z0-9_.-]{1,64}){0,7}")
_is_name: Final = _matches(r"[0-9a-f]{32}")
_is_time: Final = _matches(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_is_text, _is_flag, _is_object, _is_list = map(_is_a, (str, bool, dict, list))
_COMMON: Final[Mapping[str, Check]] = {
    "format": _is_count,
    "seq": _is_count,
    "kind": _is_text,
    "at": _is_time,
}
_PEOPLE: Final[Mapping[str, Check]] = {"reason": _is_said, "by": _is_said, "approved_by": _is_said}
_KINDS: Final[Mapping[str, Mapping[str, Check]]] = {
    "open": {
        "ledger": _is_name,
        "unit": _is_object,
        "constant": _is_columns,
        "contribution": _or_null(_is_object),
        "account": is_path,
        "budget": _is_object,
    },
    "account": {"account": is_path, "budget": _or_null(_is_object), "by": _is_said},
    "raise": {"account": is_path, "budget": _is_object, **_PEOPLE},
    "charge": {
        "account": is_path,
        "key": _is_said,
        "question": _is_text,
        "body": is_head,
        "tree": _is_object,
        "scope": _is_object,
        "delta": _or_null(_is_text),
        "boxes": _is_list,
        "amounts": _is_object,
    },
    "start": {"key": _is_said, "attempt": _is_count},
    "release": {"key": _is_said, "answer": is_head, "size": _is_count},
    "restore": {"from": is_head, "spent": _is_flag, **_PEOPLE},
    "fail": {"key": _is_said},
    "reopen": {"key": _is_said, "reason": _is_said, "by": _is_said},
    "describe": {"what": _is_said, "content": _is_object, "digest": is_head},
}
_CHECKS: Final = {kind: {**_COMMON, **fields} for kind, fields in _KINDS.items()}


def parent(path: str) -> str:
    """Return the account above another; nothing above a root."""
    return path.rpartition("/")[0]


class ChargeTexts(NamedTuple):
    """What decides the price of a charge, as canonical JSON."""

    account: str
    tree: str
    scope: str
    delta: str
    boxes: str
    amounts: str


Fields = Mapping[str, Any]


class UnreadableEntry(NamedTuple):
    """A line that is not an entry: the number that it claims, and why."""

    seq: object
    message: str


def parse_entry(line: str) -> Fields | UnreadableEntry:
    """Return the fields of a line that is an entry.

    >>> parse_entry("[]").message
    'it is not an object in canonical JSON.'
    """
    fields = read_canonical(line)
    if not isinstance(fields, dict):
        return UnreadableEntry(None, "it is not an object in canonical JSON.")
    form, kind = fields.get("format"), fields.get("kind")
    checks = _CHECKS.get(kind) if isinstance(kind, str) else None
    wrong = [
        name
        for name, value in fields.items()
        if checks and name in checks and not checks[name](value)
    ]
    if type(form) is not int or form != _FORMAT:
        message = f"its format is not {_FORMAT}, the only one that is known."
    elif checks is None:
        message = "its kind is not known."
    elif fields.keys() != checks.keys():
        message = f"its fields are not those of a {kind}."
    elif wrong:
        message = f"what it says under {wrong[0]!r} cannot be."
    else:
        return fields
    return UnreadableEntry(fields.get("seq"), message)


# --- the report -------------------------------------------------------------------------------

MOST: Final = 100
"""How many problems are listed."""

_SHOWN: Final = 10


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
        """Show what is spent, rounded up, and the limit, rounded down."""
        parts = zip(self.components, self.spent, self.limit, strict=True)
        shown = ", ".join(
            f"{name} {format_up(spent)} of {format_down(limit)}"
            for name, spent, limit in parts
            if spent or limit or name != "delta"
        )
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
        raise Tampered(
            what=f"the ledger does not stand a check: {self.problems[0]}{self._others()}",
            why="a record that was changed no longer says what people have lost.",
            do="keep the file as it is, and compare it with receipts and with a copy of your own.",
        )

    def _others(self) -> str:
        more = len(self.problems) - 1
        least = "at least " if len(self.problems) == MOST else ""
        return f"  And {least}{more} more." if more else ""

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


# --- requests ---------------------------------------------------------------------------------


@final
@dataclass(slots=True)
class _Request:
    """The progress of one request."""

    attempts: int = 0
    released: bool = False
    closed: bool = False


@final
class Requests:
    """The progress of each request.

    >>> requests = Requests()
    >>> list(requests.step("start", {"key": "visits", "attempt": 1}, None))
    [('start', 'its key was not charged.')]
    """

    __slots__ = ("requests",)

    def __init__(self) -> None:
        """Start without any."""
        self.requests: dict[str, _Request] = {}

    def charge(self, entry: Fields, texts: ChargeTexts) -> Wrong:
        """Take a charge."""
        if entry["key"] in self.requests:
            yield "charge", "its key was charged before."
        self.requests.setdefault(entry["key"], _Request())
        asked = ",".join((*texts[:4], canonical(entry["question"])))
        if digest(f"[{asked}]".encode()) != entry["body"]:
            yield "charge", "its body is not the digest of what it asks for."

    def step(self, kind: str, entry: Fields, answer: object) -> Wrong:
        """Take what follows a charge, with the answer that is stored beside a release."""
        request = self.requests.get(entry["key"])
        if kind == "release":
            if not isinstance(answer, bytes):
                yield "answer", "its answer is missing."
            elif len(answer) != entry["size"] or digest(answer) != entry["answer"]:
                yield "answer", "its answer is not the one that was recorded."
        if kind == "reopen":
            if request is None or not request.closed:
                yield "reopen", "its question was not closed."
            else:
                request.closed = False
        elif kind == "start":
            yield from self._start(request, entry)
        else:
            yield from self._end(request, kind)

    def _start(self, request: _Request | None, entry: Fields) -> Wrong:
        if request is None:
            yield "start", "its key was not charged."
            return
        request.attempts += 1
        if entry["attempt"] != request.attempts:
            yield "start", "its attempt is not the next one."
        if request.released:
            yield "start", "its key was answered before."
        if request.closed:
            yield "start", "its question was closed by a failed attempt."

    def _end(self, request: _Request | None, kind: str) -> Wrong:
        """Take a release or a failure, which end an attempt that was started."""
        if request is None or not request.attempts:
            yield kind, "its key was not charged and started."
        elif request.released:
            yield kind, "its key was answered before."
        elif request.closed:
            yield kind, "its question was closed by a failed attempt."
        if request is not None:
            request.released |= kind == "release"
            request.closed |= kind == "fail"


# --- prices -----------------------------------------------------------------------------------

Pieces = tuple[ChargedBox, ...]
"""What one charge costs an account: boxes, and the price in each."""


def covers(recorded: Sequence[ChargedBox], needed: Sequence[ChargedBox]) -> bool:
    """Whether what is recorded is enough for what is needed."""
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


_KEPT: Final = 1 << 14


@final
@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree, and the prices of its parts by part, currency, delta and how neighbors differ."""

    node: Node
    known: dict[tuple[Node, Currency, Fraction | None, bool], Amounts] = field(default_factory=dict)


@final
class RecomputedPrices:
    """What requests cost, for the unit of a ledger, and whether charges debit as much."""

    __slots__ = ("_boxes", "_debit", "_found", "_pricer", "_tree")

    def __init__(
        self,
        *,
        unit: PrivacyUnit,
        constant: Iterable[str] = (),
        contribution: Contribution | None = None,
    ) -> None:
        """Take who is protected, and what is known of the rows of one unit."""
        self._pricer = RequestPricer(
            unit=same_unit(unit), constant=tuple(constant), contribution=contribution
        )
        cached = functools.lru_cache(_KEPT)
        self._tree = cached(lambda text: _Tree(codec.decode(json.loads(text))))
        self._boxes = cached(_read_boxes)
        self._found = cached(self._work_out)
        self._debit = functools.lru_cache(_KEPT)(self._look_at)

    def learn(self, constant: Iterable[str]) -> None:
        """Take columns that all rows of a unit share, as a description has them."""
        new = tuple(column for column in constant if column not in self._pricer.constant)
        if new:
            self._pricer = self._pricer.sharing(new)
            self._found.cache_clear()
            self._debit.cache_clear()

    @property
    def relation(self) -> Relation:
        """How neighbors differ."""
        return self._pricer.unit.relation

    def debits(
        self, texts: ChargeTexts, amounts: Fields, budgets: Mapping[str, Budget]
    ) -> tuple[dict[str, Pieces], list[tuple[str, str]]]:
        """Return what a charge costs each account, and what is wrong with it.

        The budgets are those on the path of its account.
        """
        if amounts.keys() != budgets.keys():
            wrong = "it does not debit exactly the accounts with a budget on its path."
            return {}, [("charge", wrong)]
        pieces: dict[str, Pieces] = {}
        problems = []
        for path, budget in budgets.items():
            debited, wrong = self._debit(*texts[1:5], budget.currency, canonical(amounts[path]))
            if debited is not None:
                pieces[path] = debited
            if wrong:
                problems.append(("charge" if debited is None else "price", f"{wrong} ({path})."))
        return pieces, problems

    def _look_at(  # noqa: PLR0913, PLR0917  all that decides what one account pays
        self, tree: str, scope: str, delta: str, boxes: str, currency: Currency, amounts: str
    ) -> tuple[Pieces | None, str]:
        """Return what one account is debited, and what is wrong with it."""
        places = safely(self._boxes, boxes)
        recorded = safely(_recorded, places, json.loads(amounts), len(currency.components))
        if recorded is None:
            return None, "its boxes or amounts cannot be read"
        needed = safely(self.of, tree, scope, delta, currency)
        if needed is None:
            return recorded, "what it costs cannot be worked out"
        return recorded, "" if covers(recorded, needed) else "it debits less than its tree costs"

    def of(self, tree: str, scope: str, delta: str, currency: Currency) -> Pieces:
        """Return the boxes that a request is about and what it costs there, from JSON texts."""
        return self._found(tree, scope, delta, currency)

    def _work_out(self, tree: str, scope: str, delta: str, currency: Currency) -> Pieces:
        said = json.loads(delta)
        chance = None if said is None else checked_delta(rational(said, name="delta"))
        known = self._tree(tree)
        portions = self._pricer.parts(known.node, Box.read(json.loads(scope)))
        return tuple(self._piece(known, part, currency, chance) for part in portions)

    def _piece(
        self, tree: _Tree, part: RequestPart, currency: Currency, delta: Fraction | None
    ) -> ChargedBox:
        """Price a part where one unit is added or removed, and where one is replaced."""
        price = functools.partial(self._price, tree, part.node, currency, delta)
        if not self.relation.replaces:
            single = price(two=False)
            return ChargedBox(part.box, single, single)
        both = price(two=True)
        if part.sees_every_unit and self.relation is not Relation.EITHER:
            everywhere = part.box == _EVERYTHING  # no neighbors differ in one unit that it sees
            return ChargedBox(part.box, both if everywhere else price(two=False), both)
        single = price(two=False)
        return ChargedBox(part.box, single, tuple(map(max, single, both)))

    def _price(
        self, tree: _Tree, node: Node, currency: Currency, delta: Fraction | None, *, two: bool
    ) -> Amounts:
        key = (node, currency, delta, two)
        if key not in tree.known:
            loss = self._pricer.two_sided(node) if two else self._pricer.one_sided(node)
            tree.known[key] = price_in_currency(currency, loss, delta)
        return tree.known[key]


def _read_boxes(text: str) -> tuple[Box, ...]:
    boxes = tuple(Box.read(data) for data in json.loads(text))
    if not all(box.exact for box in boxes):
        raise ValueError
    return boxes


def _recorded(boxes: tuple[Box, ...], data: object, width: int) -> Pieces:
    if not isinstance(data, list):
        raise TypeError
    pieces = []
    for box, (single, both) in zip(boxes, data, strict=True):
        added, replaced = (decode_amounts(texts, width=width) for texts in (single, both))
        pieces.append(ChargedBox(box, added, replaced))
    return tuple(pieces)


_EVERYTHING: Final = Box.everything()


@final
@dataclass(slots=True)
class _Segment:
    """The charges under one budget, by number, and what they cost."""

    budget: Budget
    charges: list[tuple[int, Pieces]] = field(default_factory=list)
    rest_spent: bool = False
    """Whether everything that was left before counts as spent."""

    def sums_by_box(self) -> Iterator[ChargedBox]:
        """Yield what was charged to each box, added up."""
        times = Counter(id(pieces) for _, pieces in self.charges)
        once = {id(pieces): pieces for _, pieces in self.charges}
        sums: dict[tuple[Box, tuple[bool, ...]], tuple[Amounts, Amounts]] = {}
        for name, count in times.items():
            for piece in once[name]:
                place = (piece.box, _shape(piece))
                nothing = tuple(0 for _ in piece.added)
                alone, pair = sums.get(place, (nothing, nothing))
                sums[place] = (added(alone, piece.added, count), added(pair, piece.replaced, count))
        for (box, _), (alone, pair) in sums.items():
            yield ChargedBox(box, alone, pair)


@final
class AccountHistory:
    """What was charged to an account, and what its limits were."""

    __slots__ = ("_relation", "_segments")

    def __init__(self, budget: Budget, relation: Relation) -> None:
        """Take the first budget, and how neighbors differ."""
        self._relation = relation
        self._segments = [_Segment(budget)]

    @property
    def budget(self) -> Budget:
        """The budget at the end."""
        return self._segments[-1].budget

    def charge(self, seq: int, pieces: Pieces) -> None:
        """Note a charge; equal charges are added up fastest if they are the same object."""
        self._segments[-1].charges.append((seq, pieces))

    def raise_to(self, budget: Budget) -> None:
        """Note that the limits were raised."""
        self._segments.append(_Segment(budget))

    def spend_rest(self) -> None:
        """Note that what was left counts as spent."""
        self._segments.append(_Segment(self.budget, rest_spent=True))

    def totals(self) -> tuple[tuple[int, ...], int]:
        """Return what was spent in the end, and the first charge that did not fit, or 0."""
        owed = self._nothing()
        within, boxes = True, set[Box]()
        for segment in self._segments:
            if segment.rest_spent:
                owed, boxes = self._everything(segment.budget), set()
            for piece in segment.sums_by_box():
                owed.add((piece,))
                boxes.add(piece.box)
            owed.budget = segment.budget
            within = within and _fits(owed, boxes)
        return owed.worst(_EVERYTHING), 0 if within else self._first_refused()

    def _first_refused(self) -> int:
        owed = self._nothing()
        for segment in self._segments:
            if segment.rest_spent:
                owed = self._everything(segment.budget)
            owed.budget = segment.budget
            for seq, pieces in segment.charges:
                if not owed.fits(pieces):
                    return seq
                owed.add(pieces)
        return 0

    def _everything(self, budget: Budget) -> Balances:
        """Owe what charges that are not known can have cost under a budget."""
        owed = self._nothing()
        owed.budget = budget
        owed.exhaust()
        return owed

    def _nothing(self) -> Balances:
        return Balances(self._segments[0].budget, replaces=self._relation.replaces)


def _fits(owed: Balances, boxes: set[Box]) -> bool:
    if owed.within(owed.worst(_EVERYTHING)):
        return True
    return owed.within(owed.everywhere) and all(
        owed.within(owed.worst(box)) for box in boxes - {_EVERYTHING}
    )


def _shape(piece: ChargedBox) -> tuple[bool, ...]:
    """Say in which components two records pay more than twice what one does."""
    return tuple(pair > 2 * alone for alone, pair in zip(piece.added, piece.replaced, strict=True))


# --- the audit --------------------------------------------------------------------------------

_BUDGET: Final = ("budget", "its budget cannot be read, or allows more than it promises.")


@final
class Accounts:
    """Which accounts there are, and what was charged to them.

    >>> accounts = Accounts()
    >>> list(accounts.add({"account": "data/flu", "budget": None}))
    [('account', 'the account above it does not exist.')]
    """

    __slots__ = ("_histories", "_known", "_paths", "_prices")

    def __init__(self) -> None:
        """Start without any."""
        self._prices: RecomputedPrices | None = None
        self._histories: dict[str, AccountHistory | None] = {}
        self._paths: dict[str, dict[str, Budget]] = {}  # the first budgets on the way to each
        self._known: dict[ChargeTexts, tuple[dict[str, Pieces], list[tuple[str, str]]]] = {}

    def open(self, entry: Fields) -> Wrong:
        """Take the first entry."""
        self._prices = safely(_read_prices, entry)
        if self._prices is None:
            yield "open", "its unit, columns or contribution cannot be read."
        if parent(entry["account"]):
            yield "account", "the first account lies below another."
        yield from self._put(entry)

    def describe(self, entry: Fields) -> None:
        """Take a description; that of a table says what all rows of a unit share in it."""
        if entry["what"] == "schema" and self._prices is not None:
            self._prices.learn(shared_columns(entry["content"]))
            self._known.clear()

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
        if budget is not None and self._prices is not None:
            self._histories[path] = AccountHistory(budget, self._prices.relation)
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

    def spend_rest(self) -> None:
        """Count what is left of every account as spent."""
        for history in self._histories.values():
            if history is not None:
                history.spend_rest()

    def charge(self, seq: int, entry: Fields, texts: ChargeTexts) -> Wrong:
        """Take a charge to an account; equal charges share what was found for the first."""
        path = entry["account"]
        if path not in self._histories:
            yield "charge", "its account does not exist."
            return
        if self._prices is None:
            return
        if texts not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[texts] = self._prices.debits(texts, entry["amounts"], self._paths[path])
        pieces, problems = self._known[texts]
        yield from problems
        for account, paid in pieces.items():
            history = self._histories[account]
            if history is not None:
                history.charge(seq, paid)

    def balances(self, wrong: Callable[[int, str, str], None]) -> tuple[AccountBalance, ...]:
        """Add up what was charged to each account, and say where it did not fit."""
        return tuple(self._balance(path, wrong) for path in sorted(self._histories))

    def _balance(self, path: str, wrong: Callable[[int, str, str], None]) -> AccountBalance:
        history = self._histories[path]
        if history is None:
            return AccountBalance(account=path, components=(), spent=(), limit=())
        budget = history.budget
        settled = safely(history.totals)
        if settled is None:
            wrong(0, "sum", f"what was charged to {path} cannot be added up.")
        spent, refused = settled or (tuple(0 for _ in budget.limit), 0)
        if refused:
            wrong(refused, "sum", f"it does not fit into what was left of {path}.")
        return AccountBalance(
            account=path, components=budget.components, spent=spent, limit=budget.limit
        )


def _raises(old: Budget, new: Budget) -> bool:
    if old.currency != new.currency:
        return False
    pairs = list(zip(old.limit, new.limit, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _read_prices(entry: Fields) -> RecomputedPrices:
    given = entry["contribution"]
    return RecomputedPrices(
        unit=codec.decode_unit(entry["unit"]),
        constant=entry["constant"],
        contribution=None if given is None else Contribution.read(given),
    )


_RECEIPT: Final = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)

Columns = tuple[object, object, object, object]
"""What is stored beside a line: its number, kind, key and question."""


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

    __slots__ = (
        "_accounts",
        "_entries",
        "_head",
        "_ledger",
        "_named",
        "_problems",
        "_receipts",
        "_requests",
        "_seq",
    )

    def __init__(self, receipts: Iterable[object] = ()) -> None:
        """Take receipts that the record must match, as text or as values that print so."""
        self._problems: list[Problem] = []
        self._accounts, self._requests = Accounts(), Requests()
        self._entries = self._seq = 0
        self._head, self._ledger = FIRST_HEAD, ""
        self._receipts: dict[int, list[str]] = {}
        self._named: set[str] = set()
        for receipt in receipts:
            self._expect(receipt)

    def add_entry(
        self, line: object, head: object, answer: object, columns: Columns | None = None
    ) -> None:
        """Read one entry as it is stored; compare columns where there are some."""
        self._entries += 1
        self._seq += 1
        before = self._head
        computed = next_head(before, line) if isinstance(line, str) else ""
        self._head = computed or before
        if computed != head:
            self._wrong("chain", "its head does not follow from its line and the head before.")
            self._head = head if isinstance(head, str) and is_head(head) else self._head
        entry = (
            parse_entry(line) if isinstance(line, str) else UnreadableEntry(None, "it is not text.")
        )
        if isinstance(entry, UnreadableEntry):
            self._count(entry.seq)
            self._wrong("line", entry.message)
            return
        self._count(entry["seq"])
        for kind, message in self._follow(entry, before, answer):
            self._wrong(kind, message)
        said = tuple(entry.get(name) for name in ("seq", "kind", "key", "question"))
        if columns is not None and columns != said:
            self._wrong("columns", "what is stored beside the line is not what the line says.")

    @property
    def entries(self) -> int:
        """How many entries there were so far."""
        return self._entries

    def add_file_problem(self, message: str, kind: str = "file") -> None:
        """Note what is wrong with the record as a whole, or with what lies around it."""
        self._add(0, kind, message)

    def check_name(self, ledger: object) -> None:
        """Compare the name of the ledger with the one given beside the entries."""
        if ledger != self._ledger:
            self.add_file_problem("it bears the name of another ledger.")

    def report(self) -> Report:
        """Add everything up."""
        if not self._entries:
            self.add_file_problem("it has no entries.")
        accounts = self._accounts.balances(self._add)
        for seq in sorted(self._receipts):
            self._add(seq, "receipt", "a receipt was given for it, and it is missing.")
        if self._named - {self._ledger}:
            self._add(0, "receipt", "a receipt was given by another ledger.")
        asked = self._requests.requests
        releases = sum(request.released for request in asked.values())
        return Report(
            ledger=self._ledger,
            entries=self._entries,
            charges=len(asked),
            releases=releases,
            unreleased=len(asked) - releases,
            accounts=accounts,
            head=self._head,
            problems=tuple(self._problems),
        )

    def _wrong(self, kind: str, message: str) -> None:
        self._add(self._seq, kind, message)

    def _add(self, seq: int, kind: str, message: str) -> None:
        """Note a problem; the list stops growing, since one mistake may show in every entry."""
        if len(self._problems) < MOST:
            self._problems.append(Problem(seq, kind, message))

    def _count(self, seq: object) -> None:
        """Check the number of an entry, and continue from there."""
        if type(seq) is not int or seq != self._seq:
            self._wrong("number", f"it does not say that it is entry {self._seq}.")
        if type(seq) is int and seq > self._seq:
            self._seq = seq
        if any(head != self._head for head in self._receipts.pop(self._seq, ())):
            self._wrong("receipt", "a receipt was given for another entry in this place.")

    def _expect(self, receipt: object) -> None:
        said = _RECEIPT.fullmatch(safely(str, receipt) or "")
        if said is None:
            self._add(0, "receipt", "a receipt cannot be read.")
            return
        ledger, seq, head = said.groups()
        self._receipts.setdefault(int(seq), []).append(head)
        self._named.add(ledger)

    def _follow(self, entry: Fields, before: str, answer: object) -> Wrong:
        """Check an entry against those before it, and yield what is wrong."""
        kind = entry["kind"]
        if (kind == "open") != (self._entries == 1):
            yield "open", "the first entry, and no other, opens a ledger."
        if kind != "release" and answer is not None:
            yield "answer", "there is an answer beside an entry that is no release."
        match kind:
            case "charge":
                texts = ChargeTexts(*(canonical(entry[name]) for name in ChargeTexts._fields))
                yield from self._requests.charge(entry, texts)
                yield from self._accounts.charge(self._seq, entry, texts)
            case "start" | "release" | "fail" | "reopen":
                yield from self._requests.step(kind, entry, answer)
            case "describe" if digest(canonical(entry["content"]).encode()) != entry["digest"]:
                yield "describe", "its digest is not that of its content."
            case "describe":
                self._accounts.describe(entry)
            case "account":
                yield from self._accounts.add(entry)
            case "open" if not self._ledger:
                self._ledger = entry["ledger"]
                yield from self._accounts.open(entry)
            case "raise" | "restore":
                yield from self._approved(entry, before)

    def _approved(self, entry: Fields, before: str) -> Wrong:
        """Check an entry that needs two people."""
        people = [entry[name].strip().casefold() for name in ("by", "approved_by")]
        if people[0] == people[1]:
            yield entry["kind"], "one person both asked for it and approved it."
        if entry["kind"] == "raise":
            yield from self._accounts.raise_to(entry)
            return
        if entry["from"] != before:
            yield "restore", "it does not name the head of the entry before."
        if entry["spent"]:
            self._accounts.spend_rest()


# --- files ------------------------------------------------------------------------------------

_LEDGER: Final = 0x44504C31
_UNMARKED: Final = 0  # entries in a database that somebody made by hand
_VERSION: Final = 1
_SCHEMA: Final = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
_MADE: Final = frozenset(
    {
        "c074f2c4a15aec5e02b6592d92271365",  # the table of entries
        "7d5ed7770c43620180e93f0c5b0f8598",  # one charge a key
        "5283619ef39cbf7e90ce3b0164565153",  # starts by key
        "47cc73dcbfbc42a5060d18ff2b9d781e",  # one release a key
        "4a99bed19b6fde99fa2c283935a68d5f",  # charges by question
        "80f5e81cf2045e639147edaf10cfaed3",  # entries are appended
        "abb9cf05b298068f0dbbddbe0ce06ca7",  # entries are never changed
        "13d68791abeb409181b8dc6d226426ee",  # entries are never deleted
        "dd2fc5063f5fe57fa212980975396432",  # the checkpoint
        "c4c3f2491fe96d7b12a32183c01f30dc",  # the card
    }
)


def file_problems(database: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield kind and message of what is wrong around the entries."""
    ((mark,),) = database.execute("PRAGMA application_id")
    ((version,),) = database.execute("PRAGMA user_version")
    if mark not in (_LEDGER, _UNMARKED) or version > _VERSION:
        yield "file", "it is marked as another kind of file, or as one of a later version."
    if mark == _LEDGER and not {_digest(text) for (text,) in database.execute(_SCHEMA)} >= _MADE:
        yield "tables", "its tables, indexes or triggers are not those that a ledger is made with."
    if database.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        yield "index", "its pages are damaged, or an index does not agree with its table."


def _digest(statement: str) -> str:
    """Identify a statement, however it is spaced."""
    text = " ".join(statement.split())
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


_COLUMNS: Final = ("seq", "kind", "key", "question", "line", "head", "answer")
_PAGE: Final = 500
_ROWS: Final = (
    f"SELECT rowid, {', '.join(_COLUMNS)} FROM entry"  # noqa: S608
    f" WHERE rowid > ? ORDER BY rowid LIMIT {_PAGE}"
)
_EXPORT: Final = 1

_named = operator.attrgetter(*_COLUMNS)


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
    _take(audit, rows)
    return audit.report()


def verify_file(path: str | Path, *, receipts: Iterable[object] = ()) -> Report:
    """Check a SQLite ledger, or an export, without the rest of this package's ledger.

    >>> verify_file("nowhere.ledger")
    Traceback (most recent call last):
    discreet.errors.NotALedger
    """
    place = Path(path)
    if not place.is_file():
        raise NotALedger(
            what="there is no file to read at the given path.",
            why="what is not read is not verified.",
            do="give the path of a ledger, or of an export of one.",
        )
    audit = Audit(receipts)
    try:
        if is_database(place):
            _take_database(audit, place)
        else:
            _take_export(audit, place)
    except OSError:
        audit.add_file_problem("it cannot be read to its end.")
    return audit.report()


def is_database(place: Path) -> bool:
    """Whether a file is for SQLite to read, damaged or not.

    >>> is_database(Path(__file__))
    False
    """
    try:
        connect_read_only(place).close()
    except sqlite3.Error as failure:
        return failure.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    except UnicodeDecodeError:  # SQLite quotes a damaged schema
        return True
    return True


def _take_database(audit: Audit, place: Path) -> None:
    try:
        with closing(connect_read_only(place)) as database:
            _take(audit, _paged(database))
            for kind, message in file_problems(database):
                audit.add_file_problem(message, kind)
        if place.stat().st_nlink > 1:
            audit.add_file_problem("it has more than one name, by each of which it could be spent.")
    except (sqlite3.Error, OverflowError, UnicodeDecodeError):
        audit.add_file_problem("it is a damaged database, or not one of a ledger.")


def _paged(database: sqlite3.Connection) -> Iterator[tuple[object, ...]]:
    """Read the entries a page at a time: whoever writes meanwhile waits for a page alone."""
    last = -(2**63)
    while page := database.execute(_ROWS, (last,)).fetchall():
        if page[-1][0] <= last:  # torn pages could go round for ever
            raise sqlite3.DatabaseError
        last = page[-1][0]
        yield from (cells[1:] for cells in page)


def _take(audit: Audit, rows: Iterable[object]) -> None:
    for row in rows:
        cells = safely(_cells, row)
        if cells is None or len(cells) != len(_COLUMNS):
            audit.add_entry(None, None, None)
        else:
            seq, kind, key, question, line, head, answer = cells
            audit.add_entry(line, head, answer, (seq, kind, key, question))


def _cells(row: Any) -> tuple[object, ...]:
    return tuple(row) if isinstance(row, tuple | list) else _named(row)


def connect_read_only(place: Path) -> sqlite3.Connection:
    """Open for reading; write only to take back what a crash has left half-written."""
    address = f"file:{quote(bytes(place.absolute()))}"
    for mode in ("ro", "rw"):
        database = sqlite3.connect(f"{address}?mode={mode}", uri=True)
        database.text_factory = _text
        try:
            database.execute("PRAGMA schema_version").fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as failure:
            database.close()
            if mode == "rw" or not isinstance(failure, sqlite3.OperationalError):
                raise
        else:
            break
    return database


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _take_export(audit: Audit, place: Path) -> None:
    with place.open("rb") as file:
        head = _object(next(file, b""), {"export", "ledger"})
        if head is None or head["export"] != _EXPORT:
            audit.add_file_problem(
                "it is neither a database nor an export in a form that is known."
            )
            return
        for text in file:
            entry = _object(text, {"line", "head", "answer"})
            answer = None if entry is None else safely(_answer, entry["answer"])
            if entry is None or (answer is None and entry["answer"] is not None):
                audit.add_entry(None, None, None)
            else:
                audit.add_entry(entry["line"], entry["head"], answer)
        audit.check_name(head["ledger"])


def _object(text: bytes, names: set[str]) -> dict[str, Any] | None:
    """Read a line of an export: an object with certain names, up to the end of the line."""
    value = safely(json.loads, text) if text.endswith(b"\n") else None
    return value if isinstance(value, dict) and value.keys() == names else None


def _answer(data: str | None) -> bytes | None:
    return None if data is None else base64.b64decode(data, validate=True)


_BAD: Final = 5
_LOST: Final = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a report, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m discreet.ledger.verify",
        description="Work out again, from its entries alone, what a ledger claims.",
    )
    parser.add_argument("file", help="a ledger in a SQLite file, or an export of one")
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
        return _BAD
    status = 0 if report.ok else _BAD
    try:
        sys.stdout.write(f"{report}\n")
        sys.stdout.flush()
    except (AttributeError, OSError):  # closed, full, or nobody reads it any more
        sys.stdout = None  # or the interpreter would write once more
        return status or _LOST
    return status


if __name__ == "__main__":
    sys.exit(main())
