"""Replay: the state of a ledger from what is stored.

Trust: kernel.

Theorem (key ``checkpoint-replay``).  The state that is read from a checkpoint, followed by the
entries after it, equals the state that all entries lead to, byte for byte.
    Proof.  A checkpoint is written state, and what is written is read as it was; applying an entry
    depends on nothing but the state and the entry.
A checkpoint counts only if its digest is right and its head is that of the stored entry with its
number; any other is passed over, and everything is replayed.  A checkpoint that is ahead of the
entries is proof that entries were lost.
Every row that is replayed has to follow from the one before, by its number and its hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from discreet.errors import DiscreetError
from discreet.ledger.entry import Row
from discreet.ledger.failures import exchanged, lost
from discreet.ledger.state import State
from discreet.ledger.store import Store

__all__ = ["catch_up", "restored"]


def restored(store: Store) -> State:
    """Return the state of the last checkpoint that counts, or that of no entries at all."""
    kept = store.checkpoint()
    if kept is None:
        return State()
    if next(store.rows(after=kept[0] - 1), None) is None:
        raise lost()
    try:
        state = State.read(kept[1])
    except DiscreetError:
        return State()
    last = _at(store, state.seq)
    known = last is not None and (state.seq, state.head) == (kept[0], last.head)
    return state if known else State()


def catch_up(state: State, store: Store) -> Iterator[int]:
    """Apply all entries that a state does not know yet, and yield their numbers."""
    rows = store.rows(after=max(state.seq - 1, 0))
    if state.seq:
        last = next(rows, None)
        if last is None or (last.seq, last.head) != (state.seq, state.head):
            raise exchanged(state.seq)
    for row in rows:
        state.follow(row)
        yield row.seq


def _at(store: Store, seq: int) -> Row | None:
    found = list(islice(store.rows(after=seq - 1), 1))
    return found[0] if found and found[0].seq == seq else None
