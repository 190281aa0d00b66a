"""The witness of a ledger: a file in another place, by which a ledger that was put back is known.

Trust: kernel (T5).

A ledger that was put back to last week gives a week of spending back.

Definition.  A witness is a file of anchors (:mod:`discreet.ledger.anchors`) of one ledger.  It lies
where nobody writes who could put an old ledger back: on another disk, another host, or in a file
that the system lets nobody but append to.  A ledger *continues* an anchor if it holds an entry with
the number and the head that the anchor names.
    Anchors are written of entries that are durable in the ledger, and of no others; one that does
    not continue the last is written by ``part`` alone, which restoring calls.
Theorem (key ``anchored``).  A ledger that continues the last anchor of its witness holds every
entry that it held when that was written.  And a ledger from which nothing was taken continues it,
wherever a crash has stopped whoever wrote either of the two.
    Proof.  Heads are chained: an entry with this head has the same entries before it, and whatever
    the ledger held then was before it or it.  Conversely an anchor names an entry that was durable
    before its line was begun, a line that is not whole does not count, and entries stay; so a crash
    leaves the witness behind the ledger, and never ahead of it.
What was charged after the last anchor is not covered: whoever writes anchors says how far they may
lag.  The witness says nothing of itself: if it is put back too, nobody knows.

A ledger without any anchor is accepted where nothing was charged yet, or by somebody who says so
(``discreet ledger anchor``).  A restored ledger parts from the chain of the old one: whatever was
left in it counts as spent, or two people vouch for its last entry, which must then be no earlier
than the last anchor.
Assumes: nobody finds two texts with the same SHA-256.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.errors import DiscreetError, LedgerUnavailable, NotALedger, OtherLedger, Tampered
from discreet.ledger.anchors import Anchor, AnchorFile
from discreet.ledger.stores.own_files import is_own_file

if TYPE_CHECKING:  # handed in
    from discreet.ledger.ledger_view import LedgerView
    from discreet.ledger.values import Receipt


@final
class WitnessFile:
    """The anchors of one ledger.

    >>> WitnessFile("elsewhere/clinic.witness").last() is None
    True
    """

    __slots__ = ("_file",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Take the path of the file, which need not be there yet."""
        self._file = AnchorFile(Path(path))

    def last(self) -> Anchor | None:
        """Return the last anchor; None if there is none yet."""
        try:
            return self._file.last()
        except OSError as failure:
            raise _unusable("read", failure) from None

    def check_writable(self) -> None:
        """Refuse a witness to which nothing can be appended; nothing is."""
        try:
            self._file.check_writable()
        except OSError as failure:
            raise _unusable("written", failure) from None

    def check_restoring(self, address: str, ledger: str) -> None:
        """Refuse a witness that a ledger cannot go on with which is still to be restored.

        Args:
            address: where it will be.
            ledger: its id.
        """
        if is_own_file(address, self._file.path):
            raise _own_file()
        last = self.last()
        if last is not None and last.receipt.ledger != ledger:
            raise _of_another()
        self.check_writable()

    def check(self, ledger: LedgerView) -> None:
        """Refuse a ledger that does not continue the last anchor, or has charges and no anchor."""
        if ledger.owns(self._file.path):
            raise _own_file()
        last = self.last()
        if last is not None:
            check_continues(ledger, last)
        elif ledger.receipt.seq > 1:
            raise Tampered(
                what="the witness of the ledger has no anchor, and the ledger has entries.",
                why="whether any were taken from its end cannot be told; perhaps the disk of the "
                "witness is not there.",
                do="bring the witness back; or, if the ledger is known to be whole, begin one: "
                "discreet ledger anchor LEDGER --witness FILE.",
            )

    def extend(self, ledger: LedgerView, receipt: Receipt) -> Anchor:
        """Append an anchor of a durable entry, unless there is one of it or of a later one.

        Args:
            ledger: an open ledger, which must continue the last anchor.
            receipt: that of the entry.
        """
        if ledger.owns(self._file.path):
            raise _own_file()
        try:
            with self._file.locked():
                last = self._file.last()
                if last is not None:
                    check_continues(ledger, last)
                    if last.receipt.seq >= receipt.seq:
                        return last
                anchor = Anchor.of(receipt)
                self._file.append(anchor)
        except OSError as failure:
            raise _unusable("written", failure) from None
        return anchor

    def part(self, ledger: LedgerView) -> Anchor:
        """Append an anchor of a ledger that two people have just restored, whatever came before."""
        if ledger.owns(self._file.path):
            raise _own_file()
        anchor = Anchor.of(ledger.receipt)
        try:
            with self._file.locked():
                last = self._file.last()
                if last is not None and last.receipt.ledger != ledger.id:
                    raise _of_another()
                self._file.append(anchor)
        except OSError as failure:
            raise _unusable("written", failure) from None
        return anchor


def check_continues(ledger: LedgerView, anchor: Anchor) -> None:
    """Refuse a ledger that does not hold the entry of an anchor."""
    if anchor.receipt.ledger != ledger.id:
        raise _of_another()
    if ledger.holds(anchor.receipt):
        return
    end = ledger.receipt.seq
    raise Tampered(
        what=f"the ledger ends with entry {end}, or has another past: its witness knows entry "
        f"{anchor.receipt.seq}, of {anchor.at[:16].replace('T', ' ')}.",
        why="an older copy was put back, or two copies are in use, and what was charged since "
        "would be forgotten.",
        do="bring the right ledger back; if it is lost, restore this one on record, to another "
        "place: discreet ledger restore THIS NEW --witness FILE, by two people.",
    )


def _of_another() -> DiscreetError:
    return OtherLedger(
        what="the witness is that of another ledger.",
        why="one file tells of one ledger, or a new ledger could take the place of a spent one.",
        do="name the witness of this ledger, or a file that is not there yet.",
    )


def _own_file() -> NotALedger:
    return NotALedger(
        what="the witness is one of the files of the ledger.",
        why="it would be put back with the ledger, and an anchor could damage it.",
        do="name a file in another place.",
    )


def _unusable(verb: str, failure: OSError) -> LedgerUnavailable:
    reason = os.strerror(failure.errno) if failure.errno else str(failure)
    return LedgerUnavailable(
        what=f"the witness of the ledger cannot be {verb}: {reason}.",
        why="without it nobody can tell whether entries were taken from the end of the ledger.",
        do="check that it is a regular file, that it and its folder can be written and have room, "
        "and that no other program keeps it locked.",
    )


__all__ = ["WitnessFile", "check_continues"]
