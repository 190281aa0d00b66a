"""What a process has seen of a ledger: the last entry, which every later opening has to find again.

Trust: kernel.

Definition.  Stores are opened more than once in the life of a ledger object: by the writer and by
the reader, after a fork, and after a write that failed.  Each time the address is looked up anew,
and something else may lie there by then.  So the number and head of the last entry that the writer
knew to be durable are kept, and a store counts only if it holds that entry.
Theorem (key ``one-ledger``).  All that one ledger object reads and writes, in a process and in its
forks, is one chain of entries.
    Proof.  Heads are chained from the first entry on, which names the ledger: a store that holds
    an entry with this head holds everything before it, and is the same ledger.  The writer looks
    while nobody else can append, before it serves anybody; the reader after it has read, before
    anything is told.  A child process inherits what its parent has seen.
"""

from __future__ import annotations

from typing import final

from discreet.ledger.entry import NO_HEAD
from discreet.ledger.failures import exchanged
from discreet.ledger.state import State
from discreet.ledger.store import Store

__all__ = ["Seen"]


@final
class Seen:
    """The last entry that is known to be durable; none before a ledger was opened."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        """Begin with no entry."""
        self._last: tuple[int, str] = (0, NO_HEAD)  # one value, so that threads see all of it

    def note(self, state: State) -> None:
        """Keep where a state stands, whose entries are all durable."""
        self._last = (state.seq, state.head)

    def check(self, store: Store) -> None:
        """Refuse a store that does not hold the entry."""
        seq, head = self._last
        if seq:
            found = next(store.rows(after=seq - 1), None)
            if found is None or (found.seq, found.head) != (seq, head):
                raise exchanged(seq)
