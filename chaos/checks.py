"""What must hold of a ledger, given what analysts wrote down.

    free        an answer was told, or data read, without the charge and the release that come first
    changed     two answers to one question, or another than the stored one
    double      two charges for one question
    overspent   a cell of an account was charged more often than it has room
    refused     a question was refused though there was room
    stuck       a charge without an answer that a retry does not complete, or pays for again
    chain       the record does not stand its own check, or contradicts a receipt
    left        what the ledger says is left is not what the charges leave

Counts are made here, from keys, and not by the accounting of the ledger.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos.analyst import PRICE, ROOM, ROOT, Question, draw
from chaos.diary import Event
from discreet.accounting import Box, equals
from discreet.accounting.amounts import amount_up
from discreet.ledger import Ledger, Receipt, StoredAnswer

KINDS = ("free", "changed", "double", "overspent", "refused", "stuck", "chain", "left")


@dataclass(slots=True)
class Findings:
    """How much was looked at, and what is wrong."""

    told: int = 0
    answers: int = 0
    charges: int = 0
    completed: int = 0
    refusals: int = 0
    entries: int = 0
    wrong: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    @property
    def violations(self) -> int:
        """How many things are wrong."""
        return sum(map(len, self.wrong.values()))

    @property
    def kinds(self) -> set[str]:
        """The kinds of things that are wrong."""
        return {kind for kind, found in self.wrong.items() if found}


@dataclass(slots=True)
class Record:
    """The entries of a ledger by key: where each step was recorded."""

    charges: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    starts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    releases: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    count: int = 0

    @classmethod
    def of(cls, ledger: Ledger) -> Record:
        """Read all entries."""
        found = cls()
        kinds = {"charge": found.charges, "start": found.starts, "release": found.releases}
        entries: Iterator[dict[str, Any]] = ledger.entries()
        for entry in entries:
            found.count += 1
            if entry["kind"] in kinds:
                kinds[entry["kind"]][entry["key"]].append(entry["seq"])
        return found

    def complete(self, key: str) -> bool:
        """Whether a key was charged, then begun, then answered."""
        steps = [kind.get(key, []) for kind in (self.charges, self.starts, self.releases)]
        return all(steps) and steps[0][0] < steps[1][0] < steps[2][0]


def check(ledger: Ledger, seen: Sequence[Event]) -> Findings:
    """Look for everything that may be wrong; complete what can be completed."""
    findings, record = Findings(), Record.of(ledger)
    findings.charges = sum(map(len, record.charges.values()))
    _tell_free_from_paid(findings, record, seen)
    _compare_answers(findings, ledger, record, seen)
    _count(findings, ledger, record, seen)
    _complete(findings, ledger, record)
    receipts = [Receipt.read(event.receipt) for event in seen if event.receipt]
    _verify(findings, ledger, receipts)
    return findings


def _tell_free_from_paid(findings: Findings, record: Record, seen: Iterable[Event]) -> None:
    for event in seen:
        match event.what:
            case "told" if not record.complete(event.key):
                findings.wrong["free"].append(f"told without a release: {event.key}")
            case "read" if not record.charges.get(event.key):
                findings.wrong["free"].append(f"read without a charge: {event.key}")


def _compare_answers(
    findings: Findings, ledger: Ledger, record: Record, seen: Iterable[Event]
) -> None:
    answers: dict[str, set[str]] = defaultdict(set)
    for event in seen:
        if event.what == "told":
            findings.told += 1
            answers[event.key].add(event.answer)
    findings.answers = len(answers)
    for key, told in answers.items():
        if record.releases.get(key):
            begun = ledger.start(key)
            told.add(begun.answer.hex() if isinstance(begun, StoredAnswer) else "nothing")
        if len(told) > 1:
            findings.wrong["changed"].append(f"{len(told)} answers: {key}")


def _count(findings: Findings, ledger: Ledger, record: Record, seen: Iterable[Event]) -> None:
    questions = Counter(key.partition("#")[0] for key, seqs in record.charges.items() for _ in seqs)
    twice = [f"{count} charges: {key}" for key, count in questions.items() if count > 1]
    findings.wrong["double"] += twice
    paid: Counter[tuple[str, int]] = Counter()
    for key, seqs in record.charges.items():
        question = Question.read(key)
        for account in {ROOT, question.account}:
            paid[account, question.cell] += len(seqs)
    for (account, cell), count in paid.items():
        if count > ROOM[account]:
            findings.wrong["overspent"].append(f"{count} charges to {account}, cell {cell}")
        left = ledger.left(Box({"cell": equals(cell)}), account=account).amounts[0]
        if left != amount_up((ROOM[account] - count) * PRICE):
            findings.wrong["left"].append(f"{account}, cell {cell}: {left} after {count} charges")
    for event in seen:
        if event.what == "refused":
            findings.refusals += 1
            asked = Question.read(event.key)
            full = [paid[a, asked.cell] >= ROOM[a] for a in (ROOT, asked.account)]
            if not any(full) or record.charges.get(event.key):
                findings.wrong["refused"].append(event.key)


def _complete(findings: Findings, ledger: Ledger, record: Record) -> None:
    """Retry what was paid for and not answered: it must work, and cost nothing."""
    for key in [key for key in record.charges if not record.releases.get(key)]:
        Question.read(key).charge(ledger)
        if not isinstance(ledger.start(key), StoredAnswer):
            ledger.release(key, draw())
        findings.completed += 1
    after = Record.of(ledger)
    if {key: len(seqs) for key, seqs in after.charges.items()} != {
        key: len(seqs) for key, seqs in record.charges.items()
    }:
        findings.wrong["stuck"].append("a retry was charged")
    open_ = [key for key in after.charges if not after.complete(key)]
    findings.wrong["stuck"] += [f"not answered: {key}" for key in open_]
    findings.entries = after.count


def _verify(findings: Findings, ledger: Ledger, receipts: Sequence[Receipt]) -> None:
    report = ledger.verify(receipts)
    findings.wrong["chain"] += [str(problem) for problem in report.problems]
