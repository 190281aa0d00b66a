"""The witness of a ledger: a file in another place that exposes a ledger that was put back.

Trust: kernel (T5).  Putting a ledger back to last week gives a week of spending back.

Definition.  An anchor is a time and a receipt: ``2026-11-17T15:40:00.000000Z ledger:seq:head``.  A
witness is a file of anchors of one ledger, one on each line, that only grows; each is synced before
its call returns.  Keep it out of reach of anyone who could put an old ledger back: on another disk,
another host, or in a file with the append-only attribute.
    A line cut short by a crash, or filled with zeros, does not count, and the next
    anchor begins on a new line.  A last line that is anything else was changed, and is refused: the
    anchor before it could be older than what was known.  A file of something else is refused too.
The same form says which backups were made: each appends an anchor to ``<ledger>-backups``.

Definition.  A ledger *continues* an anchor if it holds an entry with the number and the head that
it names.  Anchors are written of entries that are durable in a ledger that continues the last one,
and of no others.
Theorem (key ``anchored``).  A ledger that continues the last anchor of its witness holds every
entry that it held when that was written.  A ledger from which nothing was taken continues it,
wherever a crash has stopped anyone who wrote either of the two.
    Proof.  Heads are chained: an entry with this head has the same entries before it, and whatever
    the ledger held then was before it or it.  Conversely an anchor names an entry that was durable
    before its line was begun, a line that is not complete does not count, and entries stay; so a
    crash leaves the witness behind the ledger, and never ahead of it.
Charges after the last anchor are not covered, and none are if the witness is rolled back, too.
A ledger without any anchor is accepted if nothing was charged yet, or by somebody who says so
(``discreet ledger anchor``).  A restored ledger begins a witness of its own.
Assumes: nobody finds two texts with the same SHA-256.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, final

from discreet.errors import LedgerUnavailable, NotALedger, OtherLedger, Tampered
from discreet.ledger.entries import now
from discreet.ledger.sqlite import lock_within, sync
from discreet.ledger.values import Receipt

if TYPE_CHECKING:  # it notes backups in the same form
    from discreet.ledger.ledger_view import LedgerView

_TAIL: Final = 1 << 20
"""How many bytes at the end are read: thousands of lines."""
_LOCK_WAIT: Final = 2.0
_LINE: Final = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([0-9a-f]{32}:[1-9][0-9]{0,17}:[0-9a-f]{64})"
)
_BEGUN: Final = re.compile(rb"(\d{0,4}|\d{4}-[0-9T:.-]*Z?( [0-9a-f:]*)?)\0*")
"""What a crash can have left of a line."""
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""A file that the system lets nobody but append to opens with these alone, and no call waits."""


@final
@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a ledger stood at a time.

    >>> anchor = Anchor("2026-11-17T15:40:00.000000Z", Receipt("1" * 32, 7, "a" * 64))
    >>> str(anchor)[:33]
    '2026-11-17T15:40:00.000000Z 11111'
    """

    at: str
    receipt: Receipt

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        """Anchor a receipt now."""
        return cls(now(), receipt)

    def __str__(self) -> str:
        """Show it as it is written on its line."""
        return f"{self.at} {self.receipt}"


@final
class WitnessFile:
    """A file of anchors, which need not exist yet.

    >>> WitnessFile("elsewhere/clinic.witness").last() is None
    True
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Take the path of the file."""
        self._path = Path(path)

    # --- the file -----------------------------------------------------------------------------

    def last(self) -> Anchor | None:
        """Return the last anchor that counts; None without any, or without a file."""
        with _explained("read"):
            try:
                number = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except FileNotFoundError:
                return None
            with os.fdopen(number, "rb") as file:
                size = _checked_size(number)
                file.seek(max(0, size - _TAIL))
                data = file.read()
        *lines, _ = data.split(b"\n")
        for line in reversed(lines if size <= _TAIL else lines[1:]):
            match = _LINE.fullmatch(line)
            if match is not None:
                return Anchor(match[1].decode("ascii"), Receipt.read(match[2].decode("ascii")))
            if not _BEGUN.fullmatch(line):
                raise _changed() if _LINE.search(data) else _something_else()
        if not all(map(_BEGUN.fullmatch, data.split(b"\n"))):
            raise _something_else()
        return None

    def append(self, anchor: Anchor) -> None:
        """Add an anchor, durably; nothing is appended to some other file."""
        with self._locked() as file:
            self._append(file, anchor)

    def _append(self, file: int, anchor: Anchor) -> None:
        self.last()  # or it is some other file
        size = _checked_size(file)
        torn = bool(size) and os.pread(file, 1, size - 1) != b"\n"
        data = (b"\n" if torn else b"") + f"{anchor}\n".encode("ascii")
        if os.write(file, data) < len(data):
            raise OSError("the disk is full")
        os.fsync(file)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Keep others from appending meanwhile; the file is made, durably, if there is none."""
        with _explained("written"):
            try:
                file = os.open(self._path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                file = os.open(self._path, _FLAGS)
            else:
                sync(str(self._path.parent))
            try:
                if not lock_within(file, _LOCK_WAIT):
                    raise TimeoutError("another program keeps it locked")
                yield file
            finally:
                os.close(file)

    def check_writable(self) -> None:
        """Refuse a witness to which nothing can be appended; nothing is."""
        with _explained("written"):
            if os.path.lexists(self._path):
                file = os.open(self._path, _FLAGS)
                try:
                    _checked_size(file)
                finally:
                    os.close(file)
            elif not os.access(self._path.parent, os.W_OK | os.X_OK):
                raise OSError("nothing can be made in its folder")

    # --- a ledger and its witness -------------------------------------------------------------

    def check(self, ledger: LedgerView) -> None:
        """Refuse a ledger that does not continue the last anchor, or has charges and no anchor."""
        self._refuse_own(ledger)
        last = self.last()
        if last is not None:
            _check_continues(ledger, last)
        elif ledger.receipt.seq > 1:
            raise Tampered(
                what="the witness of the ledger has no anchor, and the ledger has entries.",
                why="whether any were taken from its end cannot be told; perhaps the disk of the "
                "witness is not there.",
                do="bring the witness back; or, if the ledger is known to be complete, begin one: "
                "discreet ledger anchor LEDGER --witness FILE.",
            )

    def extend(self, ledger: LedgerView, receipt: Receipt) -> Anchor:
        """Append an anchor of a durable entry, unless there is one of it or of a later one.

        The ledger must continue the last anchor.
        """
        self._refuse_own(ledger)
        with self._locked() as file:
            last = self.last()
            if last is not None:
                _check_continues(ledger, last)
                if last.receipt.seq >= receipt.seq:
                    return last
            anchor = Anchor.of(receipt)
            self._append(file, anchor)
        return anchor

    def _refuse_own(self, ledger: LedgerView) -> None:
        if ledger.owns(self._path):
            raise NotALedger(
                what="the witness is one of the files of the ledger.",
                why="it would be put back with the ledger, and an anchor could damage it.",
                do="name a file in another place.",
            )


def _check_continues(ledger: LedgerView, anchor: Anchor) -> None:
    """Refuse a ledger that does not hold the entry of an anchor."""
    if anchor.receipt.ledger != ledger.id:
        raise OtherLedger(
            what="the witness is that of another ledger.",
            why="one file is for one ledger, or a new one could take the place of a spent one.",
            do="name the witness of this ledger, or a file that is not there yet.",
        )
    if ledger.holds(anchor.receipt):
        return
    end = ledger.receipt.seq
    raise Tampered(
        what=f"the ledger ends with entry {end}, or has another past: its witness knows entry "
        f"{anchor.receipt.seq}, of {anchor.at[:16].replace('T', ' ')}.",
        why="an older copy was put back, or two copies are in use, and what was charged since "
        "would be forgotten.",
        do="bring the right ledger back; if it is lost, two people restore this one to another "
        "place (discreet ledger restore), with a new witness.",
    )


def _checked_size(file: int) -> int:
    """Return the size of an open file; refuse pipes, folders and devices."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is not a regular file")
    return status.st_size


@contextmanager
def _explained(verb: str) -> Iterator[None]:
    """Translate errors of the system."""
    try:
        yield
    except OSError as failure:
        reason = os.strerror(failure.errno) if failure.errno else str(failure)
        raise LedgerUnavailable(
            what=f"the witness of the ledger cannot be {verb}: {reason}.",
            why="without it nobody can say whether entries were taken from the end of the ledger.",
            do="check that it is a regular file, that it and its folder can be written and have "
            "room, and that no other program keeps it locked.",
        ) from None


def _changed() -> Tampered:
    return Tampered(
        what="the last line of the anchors is damaged.",
        why="it was complete once, and the line before it may be older than what the ledger held.",
        do="bring the right file back; or, if the ledger is known to be complete, begin another "
        "file: discreet ledger anchor LEDGER --witness NEW.",
    )


def _something_else() -> NotALedger:
    return NotALedger(
        what="the file named for anchors is some other file: it holds none.",
        why="a line that is appended to it would damage it.",
        do="name a file of anchors, or one that is not there yet.",
    )
