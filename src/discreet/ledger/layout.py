"""The tables of a ledger file, step by step.

Trust: kernel.

A file says by its application id that it is a ledger, and by its version how many of these steps it
has taken.  Opening takes the missing ones; no step touches an entry.
"""

from __future__ import annotations

from typing import Final

__all__ = ["APPLICATION", "STEPS"]

APPLICATION: Final = 0x44504C31
"""The application id of a ledger file: the letters DPL1."""

STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """
        CREATE TABLE entry (
            seq INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            key TEXT,
            question TEXT,
            line TEXT NOT NULL,
            head TEXT NOT NULL UNIQUE CHECK (length(head) = 64),
            answer BLOB,
            CHECK ((answer IS NOT NULL) = (kind = 'release'))
        ) STRICT
        """,
        "CREATE UNIQUE INDEX one_charge ON entry (key) WHERE kind = 'charge'",
        "CREATE INDEX starts ON entry (key) WHERE kind = 'start'",
        "CREATE UNIQUE INDEX one_release ON entry (key) WHERE kind = 'release'",
        "CREATE INDEX asked ON entry (question) WHERE kind = 'charge' AND question <> ''",
        """
        CREATE TRIGGER at_the_end BEFORE INSERT ON entry
        WHEN NEW.seq <> (SELECT ifnull(max(seq), 0) + 1 FROM entry)
        BEGIN SELECT RAISE(ABORT, 'entries are appended'); END
        """,
        """
        CREATE TRIGGER never_changed BEFORE UPDATE ON entry
        BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END
        """,
        """
        CREATE TRIGGER never_deleted BEFORE DELETE ON entry
        BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END
        """,
    ),
    (
        """
        CREATE TABLE checkpoint (
            only INTEGER PRIMARY KEY CHECK (only = 1),
            seq INTEGER NOT NULL,
            state TEXT NOT NULL
        ) STRICT
        """,
    ),
    (),  # no new table: from here on a card lies beside the file (discreet.ledger.card)
)
"""What each version of the file adds to the one before."""
