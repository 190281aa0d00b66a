"""Exports: a whole ledger in one text file, and a new ledger made from one.

Trust: kernel.  A ledger that forgets entries gives spent privacy back.

Definition.  An export is JSON lines: first ``{"export":1,"ledger":...}``, then for each entry its
line, its head and, for a release, the answer in base 64.  Since it holds the answers, only its
owner may read it.

An export exists as a whole or not at all, and replaces nothing, since that could be a ledger.
It is written under another name beside its place, synced, and then linked to its place.  A link is
refused if anything is there: between a look and a rename somebody could make a ledger there.
Some file systems have no links (those of USB sticks, some network shares).  There it is renamed,
right after a look.

What restoring promises: the new ledger begins with the entries of its source, byte for byte and all
verified; nothing is restored that contradicts a receipt; and an entry says that it was restored,
from which head, why, and by whom.  Entries are read without an index, so a ledger file whose index
or card is damaged can be a source.
It cannot know whether the old ledger went on after that.  So all that was left in the accounts
counts as spent, the most that can have been charged within the limits of the source; where one of
two routes had to fit, both have to from then on, since it is unknown which did.  And every question
that was charged and not answered is closed: the old ledger may have answered it, and another draw
would be a second release for one charge.  The owner may reopen it.  Two people may raise the
limits.  They have to know whether the old ledger was raised, or got further accounts,
after its backup: that is unknown too.  Or they vouch for the receipt of the last entry that the old
ledger ever had: if the source ends there, nothing is unknown.  In any case they vouch that the old
ledger is no longer used.
A restored ledger is a clone whose chain parts from the old one with the entry that says so.  Each
gives receipts that the other does not match: whoever holds one of each can show that there are two.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from discreet.errors import DamagedLedger, LedgerUnavailable, NewerFormat, NotALedger, OtherLedger
from discreet.ledger.entries import (
    NO_HEAD,
    EntryRow,
    FailEntry,
    RestoreEntry,
    StartEntry,
    canonical,
    digest,
    now,
    row_of,
)
from discreet.ledger.sqlite import sync
from discreet.ledger.store import LedgerStore
from discreet.ledger.values import Receipt
from discreet.ledger.verify import connect_read_only, is_database, verify, verify_file

__all__ = ["check_backup", "exclusive_file", "export", "restore", "verify"]

_NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
)


@contextmanager
def exclusive_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file, for its owner alone, that is at its path once it is on disk as a whole.

    Raises:
        FileExistsError: if something is at the path by then; it stays as it is.
    """
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    place = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(number)
        _publish(place, path)
    finally:
        with suppress(OSError):
            place.unlink()
    sync(str(path.parent))


def _publish(place: Path, path: Path) -> None:
    """Give a finished file its name, unless something else bears it."""
    try:
        path.hardlink_to(place)
    except OSError as failure:
        if failure.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError from None
        place.rename(path)


_FORMAT: Final = 1
_ROWS: Final = "SELECT seq, kind, key, question, line, head, answer FROM entry ORDER BY seq"
_LONGEST: Final = 1000
_SMALLEST: Final = 512  # bytes of any database
_AROUND: Final = ("tables", "index", "card")  # what may be wrong while all entries are right


def export(rows: Iterable[EntryRow], ledger: str, path: Path) -> Receipt:
    """Write all rows of a ledger, with their answers, to a file, and return where they end."""
    first = canonical({"export": _FORMAT, "ledger": ledger})
    try:
        if os.path.lexists(path):  # not opened: it could be the ledger itself
            raise _taken()
        with exclusive_file(path) as file:
            file.write(f"{first}\n".encode("ascii"))
            seq, head = 0, NO_HEAD
            for row in rows:
                if not row.follows(seq, head):
                    raise _broken(row.seq)
                file.write(f"{_written(row)}\n".encode("ascii"))
                seq, head = row.seq, row.head
    except FileExistsError:
        raise _taken() from None
    except OSError:
        raise LedgerUnavailable(
            what="the export cannot be written there.",
            why="an export that is not on disk as a whole is none.",
            do="give a path in a folder that exists, can be written, and has room.",
        ) from None
    return Receipt(ledger, seq, head)


def check_backup(path: Path, receipt: Receipt) -> None:
    """Read a backup from disk again, and verify that it ends with a receipt."""
    report = verify_file(path, receipts=[receipt])
    report.raise_if_bad()
    if report.receipt != str(receipt):
        raise _broken(receipt.seq)


def restore(  # noqa: PLR0913  two people, and what they say
    store: LedgerStore,
    source: Path,
    *,
    reason: str,
    by: str,
    approved_by: str,
    receipts: Iterable[object] = (),
    last: object = None,
) -> Receipt:
    """Verify an export and fill an unopened, empty store with it, as ``Ledger.restore`` promises.

    The store ends up with all entries and a ``restore`` entry, or with none, and is closed.
    """
    _refuse_unknown(source)
    report = verify_file(source, receipts=receipts)
    wrong = tuple(problem for problem in report.problems if problem.kind not in _AROUND)
    replace(report, problems=wrong).raise_if_bad()
    if last is not None and str(last) != report.receipt:
        raise OtherLedger(
            what="the last receipt is not that of the last entry of the source.",
            why="what was charged between the two would be forgotten.",
            do="use a later backup; or leave the last receipt out, and what was left counts as "
            "spent.",
        )
    said = {"reason": reason, "by": by, "approved_by": approved_by}
    with closing(store):
        end = (report.entries, report.head)
        tail: list[EntryRow] = []
        entry = RestoreEntry(**said, head=report.head, spent=last is None)
        if not store.create(_followed(source, end, entry, tail)):
            raise OtherLedger(
                what="there is already something at this address.",
                why="entries of two ledgers do not form one chain.",
                do="restore to an address where nothing is, and keep the other ledger.",
            )
    return Receipt(report.ledger, tail[-1].seq, tail[-1].head)


def _followed(
    source: Path, end: tuple[int, str], entry: RestoreEntry, tail: list[EntryRow]
) -> Iterator[EntryRow]:
    """Yield the rows of an export, if it ends where it was verified, and those of restoring it.

    Where it is unknown whether the old ledger went on, it may have answered what the source has as
    charged and not answered: a second draw would be free, so these questions are closed.
    """
    seq, head = 0, NO_HEAD
    waiting: dict[str, bool] = {}
    for row in _read(source):
        if not row.follows(seq, head):
            raise _broken(seq + 1)
        seq, head = row.seq, row.head
        _follow_key(waiting, row)
        yield row
    if (seq, head) != end:
        raise _broken(seq)
    at = now()
    entries: list[RestoreEntry | StartEntry | FailEntry] = [entry]
    for key, tried in waiting.items() if entry.spent else ():
        if not tried:
            entries.append(StartEntry(key=key, attempt=1))
        entries.append(FailEntry(key=key))
    for each in entries:
        tail.append(row_of(each, (seq, head), at))
        seq, head = tail[-1].seq, tail[-1].head
        yield tail[-1]


def _follow_key(waiting: dict[str, bool], row: EntryRow) -> None:
    """Keep the questions that are charged, neither answered nor closed, and whether one was tried.

    What is reopened was closed by an attempt that failed, so it was tried: its first attempt is on
    record, and another first one would be refused by whoever verifies the chain.
    """
    match row.kind, row.key:
        case "charge", str(key):
            waiting.setdefault(key, False)
        case "start" | "reopen", str(key):
            waiting[key] = True
        case "release" | "fail", str(key):
            waiting.pop(key, None)


def _written(row: EntryRow) -> str:
    answer = None if row.answer is None else base64.b64encode(row.answer).decode("ascii")
    return canonical({"line": row.line, "head": row.head, "answer": answer})


def _read(source: Path) -> Iterator[EntryRow]:
    """Read again what was verified; if it has changed since, it is refused."""
    if is_database(source):
        yield from _stored(source)
        return
    with source.open("rb") as file:
        file.readline()
        for seq, text in enumerate(file, start=1):
            try:
                row = _row(json.loads(text))
            except (LookupError, TypeError, ValueError):
                raise _broken(seq) from None
            yield row


def _stored(source: Path) -> Iterator[EntryRow]:
    """Read the rows of a ledger file, perhaps a copy, without changing it."""
    try:
        with closing(connect_read_only(source)) as database:
            for cells in database.execute(_ROWS):
                yield EntryRow(*cells)
    except (sqlite3.Error, TypeError, UnicodeDecodeError):
        raise _broken(0) from None


def _row(stored: dict[str, str]) -> EntryRow:
    fields = json.loads(stored["line"])
    answer = None if stored["answer"] is None else base64.b64decode(stored["answer"], validate=True)
    if fields["kind"] == "release" and (answer is None or digest(answer) != fields["answer"]):
        raise ValueError
    copies = (fields["seq"], fields["kind"], fields.get("key"), fields.get("question"))
    return EntryRow(*copies, stored["line"], stored["head"], answer)


def _refuse_unknown(source: Path) -> None:
    """Refuse what is no export, or one of another format."""
    if source.is_file() and source.stat().st_size >= _SMALLEST and is_database(source):
        return
    number = _number(source) if source.is_file() else None
    if number is None:
        raise NotALedger(
            what="the source is neither a backup of a ledger nor a ledger in a file.",
            why="only what can be verified is restored.",
            do="give a file that `discreet ledger backup` or Ledger.export wrote.",
        )
    if number != _FORMAT:
        raise NewerFormat(
            what=f"the export has format {number}, and this package knows {_FORMAT}.",
            why="what is not known in full could leave out what was charged.",
            do="use the version of discreet that wrote it, or a later one.",
        )


def _number(source: Path) -> int | None:
    try:
        with source.open("rb") as file:
            number = json.loads(file.readline(_LONGEST))["export"]
    except (LookupError, TypeError, ValueError):
        return None
    return number if type(number) is int else None


def _taken() -> OtherLedger:
    return OtherLedger(
        what="there is already something at the path of the export.",
        why="what is overwritten is lost, and it could be a ledger.",
        do="give a path at which there is nothing.",
    )


def _broken(seq: int) -> DamagedLedger:
    return DamagedLedger(
        what=f"entry {seq} does not follow from the one before it, or changed while it was read.",
        why="a copy is worth something only if it is the whole chain.",
        do="verify the ledger, or the export, and keep both.",
    )
