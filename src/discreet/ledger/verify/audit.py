"""The audit: one entry after another, each checked against all before it.

Trust: kernel.

An unreadable entry is named and skipped; everything else goes on, so that one report says what is
wrong and where.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, final

from discreet.ledger.verify.accounts import Accounts
from discreet.ledger.verify.charges import safely
from discreet.ledger.verify.entry_format import FIRST_HEAD, canonical, digest, is_head, next_head
from discreet.ledger.verify.parsing import ParsedEntry, UnreadableEntry, parse_entry
from discreet.ledger.verify.report import Problems, Report
from discreet.ledger.verify.requests import Requests

_RECEIPT: Final = re.compile(r"([0-9a-f]{32}):([1-9][0-9]{0,17}):([0-9a-f]{64})", re.ASCII)

Fields = Mapping[str, Any]
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
        self._problems = Problems()
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
        self._count(entry.fields["seq"])
        for kind, message in self._follow(entry, before, answer):
            self._wrong(kind, message)
        if columns is not None:
            self._compare(entry, columns)

    @property
    def entries(self) -> int:
        """How many entries there were so far."""
        return self._entries

    def add_file_problem(self, message: str, kind: str = "file") -> None:
        """Note what is wrong with the record as a whole, or with what lies around it."""
        self._problems.add(0, kind, message)

    def check_name(self, ledger: object) -> None:
        """Compare the name of the ledger with the one given beside the entries."""
        if ledger != self._ledger:
            self.add_file_problem("it bears the name of another ledger.")

    def report(self) -> Report:
        """Add everything up."""
        if not self._entries:
            self.add_file_problem("it has no entries.")
        accounts = self._accounts.balances(self._problems.add)
        for seq in sorted(self._receipts):
            self._problems.add(seq, "receipt", "a receipt was given for it, and it is missing.")
        if self._named - {self._ledger}:
            self._problems.add(0, "receipt", "a receipt was given by another ledger.")
        return Report(
            ledger=self._ledger,
            entries=self._entries,
            charges=self._requests.charges,
            releases=self._requests.releases,
            unreleased=self._requests.charges - self._requests.releases,
            accounts=accounts,
            head=self._head,
            problems=self._problems.listed,
        )

    def _wrong(self, kind: str, message: str) -> None:
        self._problems.add(self._seq, kind, message)

    def _count(self, seq: object) -> None:
        """Check the number of an entry, and continue from there."""
        if type(seq) is not int or seq != self._seq:
            self._wrong("number", f"it does not say that it is entry {self._seq}.")
        if type(seq) is int and seq > self._seq:
            self._seq = seq
        if any(head != self._head for head in self._receipts.pop(self._seq, ())):
            self._wrong("receipt", "a receipt was given for another entry in this place.")

    def _compare(self, entry: ParsedEntry, columns: Columns) -> None:
        fields = entry.fields
        said = (fields["seq"], entry.kind, fields.get("key"), fields.get("question"))
        if columns != said:
            self._wrong("columns", "what is stored beside the line is not what the line says.")

    def _expect(self, receipt: object) -> None:
        said = _RECEIPT.fullmatch(safely(str, receipt) or "")
        if said is None:
            self._problems.add(0, "receipt", "a receipt cannot be read.")
            return
        ledger, seq, head = said.groups()
        self._receipts.setdefault(int(seq), []).append(head)
        self._named.add(ledger)

    def _follow(self, entry: ParsedEntry, before: str, answer: object) -> Iterator[tuple[str, str]]:
        """Check an entry against those before it, and yield what is wrong."""
        kind, fields = entry.kind, entry.fields
        if (kind == "open") != (self._entries == 1):
            yield "open", "the first entry, and no other, opens a ledger."
        if kind != "release" and answer is not None:
            yield "answer", "there is an answer beside an entry that is no release."
        match kind:
            case "charge":
                yield from self._charge(entry)
            case "start" | "release" | "fail" | "reopen":
                yield from self._requests.step(kind, fields, answer)
            case "describe" if digest(canonical(fields["content"]).encode()) != fields["digest"]:
                yield "describe", "its digest is not that of its content."
            case "describe":
                self._accounts.describe(fields)
            case "account":
                yield from self._accounts.add(fields)
            case "open" if not self._ledger:
                self._ledger = fields["ledger"]
                yield from self._accounts.open(fields)
            case "raise" | "restore":
                yield from self._approved(entry, before)

    def _charge(self, entry: ParsedEntry) -> Iterator[tuple[str, str]]:
        fields = entry.fields
        account, tree, scope, delta, *_ = entry.said
        asked = (account, tree, scope, delta, canonical(fields["question"]))
        yield from self._requests.charge(fields, f"[{','.join(asked)}]")
        yield from self._accounts.charge(self._seq, fields["account"], entry.said)

    def _approved(self, entry: ParsedEntry, before: str) -> Iterator[tuple[str, str]]:
        """Check an entry that needs two people."""
        people = [entry.fields[name].strip().casefold() for name in ("by", "approved_by")]
        if people[0] == people[1]:
            yield entry.kind, "one person both asked for it and approved it."
        if entry.kind == "raise":
            yield from self._accounts.raise_to(entry.fields)
            return
        if entry.fields["from"] != before:
            yield "restore", "it does not name the head of the entry before."
        if entry.fields["spent"]:
            self._accounts.spend_rest()
