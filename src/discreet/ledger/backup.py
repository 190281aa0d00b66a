"""Backups: a whole ledger in one text file, and a new ledger made from one.

Trust: kernel (T5).  A ledger that forgets entries gives spent privacy back.

Definition.  A backup is JSON lines: first ``{"export":1,"ledger":...}``, then for each entry its
line, its head and, for a release, the answer in base 64.  Since it holds the answers, only its
owner may read it.  It exists as a whole or not at all, and replaces nothing: it is written under
another name beside its place, synced, verified, and renamed.

Restoring promises that the new ledger begins with the entries of its source, byte for byte and all
verified; nothing is restored that contradicts a receipt; and an entry says that it was restored,
after which head, why, and by whom.  A ledger file whose indexes are damaged can be a source.
It cannot know whether the old ledger went on after that.  So all that was left in the accounts
counts as spent, on every route of a currency, and every question that was charged and not answered
is closed: the old ledger may have answered it, and another draw would be a second release for one
charge.  Or two people vouch for the receipt of the last entry that the old ledger ever had: if the
source ends there, nothing is unknown.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from discreet.errors import DamagedLedger, LedgerUnavailable, NotALedger, OtherLedger
from discreet.ledger.entries import (
    NO_HEAD,
    PARSE_ERRORS,
    Entry,
    EntryRow,
    canonical,
    now,
)
from discreet.ledger.sqlite import sync
from discreet.ledger.table import EntryTable
from discreet.ledger.values import Receipt
from discreet.ledger.verify import backup_row, database_rows, is_database, verify, verify_file

__all__ = ["restore", "verify", "write_backup"]

_FORMAT: Final = 1
_AROUND: Final = ("index",)  # what may be wrong while all entries are right


def write_backup(rows: Iterable[EntryRow], ledger: str, path: Path, *, taken: bool) -> Receipt:
    """Write all rows of a ledger, with their answers, to a file, and return where they end.

    A path that is ``taken``, by one of the files of the ledger, is refused.
    """
    if taken or os.path.lexists(path):
        raise _taken()
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(canonical({"export": _FORMAT, "ledger": ledger}).encode() + b"\n")
                end = Receipt(ledger, 0, NO_HEAD)
                for row in rows:
                    file.write(_written(row))
                    end = Receipt(ledger, row.seq, row.head)
                file.flush()
                os.fsync(number)
            report = verify_file(name, receipts=[end])
            report.raise_if_bad()
            if os.path.lexists(path):
                raise _taken()
            Path(name).rename(path)
        finally:
            with suppress(OSError):
                Path(name).unlink()
        sync(str(path.parent))
    except OSError:
        raise LedgerUnavailable(
            what="the backup cannot be written there.",
            why="only a backup that is wholly on disk can be restored.",
            do="give a path in a folder that exists, can be written, and has room.",
        ) from None
    return end


def _written(row: EntryRow) -> bytes:
    answer = None if row.answer is None else base64.b64encode(row.answer).decode("ascii")
    text = canonical({"line": row.line, "head": row.head, "answer": answer})
    return text.encode("ascii") + b"\n"


def _taken() -> OtherLedger:
    return OtherLedger(
        what="there is already something at the path of the backup, or it belongs to the ledger.",
        why="what is overwritten is lost, and it could be a ledger.",
        do="give a path at which there is nothing, better in another place.",
    )


def restore(
    store: EntryTable,
    source: Path,
    said: Mapping[str, str],
    *,
    receipts: Iterable[object] = (),
    last: object = None,
) -> None:
    """Verify a backup and fill an unopened, empty store with it, as ``Ledger.restore`` promises.

    The store ends up with all entries and a ``restore`` entry, or with none, and is closed.
    """
    report = verify_file(source, receipts=receipts)
    if not report.entries:
        raise NotALedger(
            what="the source is neither a backup of a ledger nor a ledger in a file.",
            why="only what can be verified is restored.",
            do="give a file that `discreet ledger backup` wrote.",
        )
    wrong = tuple(problem for problem in report.problems if problem.kind not in _AROUND)
    replace(report, problems=wrong).raise_if_bad()
    if last is not None and str(last) != report.receipt:
        raise OtherLedger(
            what="the last receipt is not that of the last entry of the source.",
            why="what was charged between the two would be forgotten.",
            do="use a later backup; or leave the last receipt out, and what was left counts as "
            "spent.",
        )
    entry = {"kind": "restore", "after": report.head, "spent": last is None, **said}
    with closing(store):
        if not store.create(_followed(source, (report.entries, report.head), entry)):
            raise OtherLedger(
                what="there is already something at this address.",
                why="entries of two ledgers do not form one chain.",
                do="restore to an address where nothing is, and keep the other ledger.",
            )


def _followed(source: Path, end: tuple[int, str], entry: Entry) -> Iterator[EntryRow]:
    """Yield the rows of a source, if it ends where it was verified, and those of restoring it.

    If it is unknown whether the old ledger went on, it may have answered what the source has as
    charged and not answered: a second draw would be free, so these questions are closed.  What is
    reopened was closed by an attempt that failed, so its first attempt is on record.
    """
    tip = (0, NO_HEAD)
    tried: dict[str | None, bool] = {}  # the open questions, and whether they were started
    for row in _read(source):
        if not row.follows(*tip):
            break
        tip = (row.seq, row.head)
        match row.kind:
            case "charge":
                tried.setdefault(row.key, False)
            case "start" | "reopen":
                tried[row.key] = True
            case "release" | "fail":
                tried.pop(row.key, None)
        yield row
    if tip != end:
        raise _broken()
    entries = [entry]
    for key, started in tried.items() if entry["spent"] else ():
        if not started:
            entries.append({"kind": "start", "key": key, "attempt": 1})
        entries.append({"kind": "fail", "key": key})
    at = now()
    for each in entries:
        row = EntryRow.of(each, tip, at)
        tip = (row.seq, row.head)
        yield row


def _read(source: Path) -> Iterator[EntryRow]:
    """Read again what was verified."""
    try:
        if is_database(source):
            for cells in database_rows(source):
                yield EntryRow(*cells)
            return
        with source.open("rb") as file:
            file.readline()
            for text in file:
                line, head, answer = backup_row(text) or ("", "", None)
                said = json.loads(line)
                copies = (said["seq"], said["kind"], said.get("key"), said.get("question"))
                yield EntryRow(*copies, line, head, answer)
    except (*PARSE_ERRORS, OSError, sqlite3.Error):
        raise _broken() from None


def _broken() -> DamagedLedger:
    return DamagedLedger(
        what="the source changed while it was read.",
        why="a copy is worth something only if it is the whole chain.",
        do="verify the ledger, or the backup, and keep both.",
    )
