"""What the ledger rests on.

Trust: public.
"""

from __future__ import annotations

from typing import Final

from discreet.theorems.theorem import Theorem

__all__ = ["ENTRIES"]

ENTRIES: Final = (
    Theorem(
        key="sqlite-durable",
        statement="What is read from a ledger file is on disk: a commit is shown to others only "
        "after its log was synced, the log is synced whenever the file is opened, and after a "
        "commit that failed everything that can be seen is copied to the file and synced before "
        "it is read.",
        source="SQLite documentation, Write-Ahead Logging and PRAGMA synchronous; proof in "
        "discreet.ledger.sqlite",
    ),
    Theorem(
        key="one-answer",
        statement="Whatever is told under one key, by however many workers and after however many "
        "crashes, is one answer, and it was paid once.",
        source="proof in discreet.ledger.acts",
    ),
    Theorem(
        key="one-failure",
        statement="Between two decisions of the owner to reopen a question, at most one failed "
        "attempt is observed under its key.",
        source="proof in discreet.ledger.closing_acts",
    ),
    Theorem(
        key="one-place",
        statement="At any time, all who use a ledger file use the same side files, by whatever "
        "names they opened it.",
        source="Linux manual, fcntl_locking(2), open file description locks; proof in "
        "discreet.ledger.holding",
    ),
    Theorem(
        key="witness-card",
        statement="If a ledger file holds the entry that its card names, it holds every entry "
        "that was told.",
        source="proof in discreet.ledger.card",
    ),
    Theorem(
        key="one-ledger",
        statement="All that one ledger object reads and writes, in a process and in its forks, is "
        "one chain of entries, whatever its address leads to by then.",
        source="proof in discreet.ledger.seen",
    ),
    Theorem(
        key="checkpoint-replay",
        statement="The state read from a checkpoint, followed by the entries after it, equals the "
        "state that all entries lead to, byte for byte.",
        source="proof in discreet.ledger.replay",
    ),
    Theorem(
        key="postgres-durable",
        statement="On a server that syncs its log and writes full pages, with commits that wait "
        "for the log, a transaction is seen by others in full or not at all, and only once it is "
        "on disk; of sessions that lock one table in a mode that excludes itself, each sees all "
        "that those before it committed.",
        source="PostgreSQL documentation, Write-Ahead Logging and Explicit Locking; proof in "
        "discreet.ledger.postgres",
    ),
    Theorem(
        key="hash-chain",
        statement="Two records with the same head at the same number are the same up to there, or "
        "show two texts with the same SHA-256.",
        source="Haber and Stornetta 1991, How to Time-Stamp a Digital Document, for linking by "
        "hashes; proof in discreet.ledger.verify.lines",
    ),
    Theorem(
        key="canonical-members",
        statement="If t_1, ..., t_k are canonical for v_1, ..., v_k and n_1 < ... < n_k are plain "
        'names, {"n_1":t_1,...,"n_k":t_k} is canonical for the object in which each n_i is v_i.',
        source="elementary; discreet.ledger.verify.entries",
    ),
    Theorem(
        key="covering-charges",
        statement="If each recorded box holds the box found in its place, no amount is lower, and "
        "two records in a larger box pay no less than one was found to pay, nobody owes more than "
        "is recorded.",
        source="proof in discreet.ledger.verify.covering",
    ),
    Theorem(
        key="limits-by-segment",
        statement="If the sums of an account at each of its raises and at the end fit into the "
        "limits that held until then, they fitted at every moment.",
        source="elementary: sums only grow, and limits are fixed in between; "
        "discreet.ledger.verify.sums",
    ),
)
